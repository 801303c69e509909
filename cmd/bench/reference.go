package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// serveReference is the command "bench reference gorm|gin ADDRESS STORE CONNECTIONS". bench runs this
// command to start a reference. serveReference serves until ctx ends.
func serveReference(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("bench reference needs four arguments")
	}
	connections, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	db, err := openStore(args[2], connections)
	if err != nil {
		return err
	}
	handler := ginAndGORM(db)
	if args[0] == "gin" {
		handler = bareGin(ctx, db)
	}
	server := &http.Server{Addr: args[1], Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	return server.ListenAndServe()
}

// openStore opens a store of petstore, with writes as durable as petstore's.
func openStore(store string, connections int) (*gorm.DB, error) {
	dialector := postgres.Open(store)
	if !strings.HasPrefix(store, "postgres://") {
		dialector = sqlite.Open("file:" + (&url.URL{Path: store}).EscapedPath() +
			"?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000&_txlock=immediate&_stmt_cache_size=64")
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return db, nil
}

type gormPet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name" binding:"required"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status,omitempty"`
}

func (gormPet) TableName() string { return "pets" }

// ginAndGORM lists, finds and creates pets as the guides of Gin and GORM show it: bind, Find, Take
// or Create, JSON. There is no authentication and no cache, and an Idempotency-Key has no effect.
// Each POST is a transaction.
func ginAndGORM(db *gorm.DB) *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.GET(listPath, func(c *gin.Context) {
		var query struct {
			Limit int   `form:"limit,default=20" binding:"min=1,max=100"`
			After int64 `form:"after"`
		}
		if c.BindQuery(&query) != nil { // it has sent 400
			return
		}
		pets := []gormPet{}
		err := db.WithContext(c.Request.Context()).Where("id > ?", query.After).Order("id").Limit(query.Limit).Find(&pets).Error
		send(c, http.StatusOK, pets, err)
	})
	engine.GET(listPath+"/:petId", func(c *gin.Context) {
		var uri struct {
			ID int64 `uri:"petId" binding:"min=1"`
		}
		if c.BindUri(&uri) != nil {
			return
		}
		var pet gormPet
		err := db.WithContext(c.Request.Context()).Take(&pet, uri.ID).Error
		send(c, http.StatusOK, pet, err)
	})
	engine.POST(listPath, func(c *gin.Context) {
		var pet gormPet
		if c.BindJSON(&pet) != nil {
			return
		}
		err := db.WithContext(c.Request.Context()).Create(&pet).Error
		send(c, http.StatusCreated, pet, err)
	})
	return engine
}

func send(c *gin.Context, status int, value any, err error) {
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		c.AbortWithStatus(http.StatusNotFound)
	case err != nil:
		c.AbortWithStatus(http.StatusInternalServerError)
	default:
		c.JSON(status, value)
	}
}

// bareGin serves one page and one record. It reads them from ginAndGORM at the start, and sends them from memory with
// nothing but Gin. No program built on Gin can be faster.
func bareGin(ctx context.Context, db *gorm.DB) *gin.Engine {
	engine := gin.New()
	for route, path := range map[string]string{listPath: listPath, listPath + "/:petId": listPath + "/1"} {
		stored := httptest.NewRecorder()
		ginAndGORM(db).ServeHTTP(stored, httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody))
		engine.GET(route, func(c *gin.Context) {
			c.Header("Content-Length", strconv.Itoa(stored.Body.Len()))
			c.Data(http.StatusOK, "application/json", stored.Body.Bytes())
		})
	}
	return engine
}
