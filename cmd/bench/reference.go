package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// serveReference is the command "bench reference". It serves what petstore is compared
// with until ctx ends.
func serveReference(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench reference", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("address", "127.0.0.1:0", "the `host:port` to listen on")
	file := flags.String("body", "", "the `file` with the body of every response of gin and nethttp")
	store := flags.String("store", "", "the `file` of the store that gorm serves")
	connections := flags.Int("connections", 1, "how many connections gorm opens to the store")
	if err := flags.Parse(args); err != nil {
		return err
	}
	body, err := os.ReadFile(filepath.Clean(*file))
	if err != nil {
		return err
	}
	gin.SetMode(gin.ReleaseMode)
	var handler http.Handler
	switch name := flags.Arg(0); name {
	case "gin":
		handler = bareGin(body)
	case "nethttp":
		handler = netHTTP(body)
	case "gorm":
		handler, err = ginAndGORM(*store, *connections)
	default:
		err = fmt.Errorf("unknown reference %q; use gin, nethttp or gorm", name)
	}
	if err != nil {
		return err
	}
	return listen(ctx, *address, handler)
}

func listen(ctx context.Context, address string, handler http.Handler) error {
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// bareGin sends the same body for both reads, with nothing but Gin.
func bareGin(body []byte) http.Handler {
	engine := gin.New()
	length := strconv.Itoa(len(body))
	send := func(c *gin.Context) {
		c.Header("Content-Length", length)
		c.Data(http.StatusOK, "application/json", body)
	}
	engine.GET("/v1/pets", send)
	engine.GET("/v1/pets/:petId", send)
	return engine
}

// netHTTP sends the same body for every request, with nothing but the standard library.
func netHTTP(body []byte) http.Handler {
	length := strconv.Itoa(len(body))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", length)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // fails only if the client has disconnected
	})
}

type gormPet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name" binding:"required"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status,omitempty"`
}

func (gormPet) TableName() string { return "pets" }

// ginAndGORM lists and creates the pets of a store as the guides of Gin and GORM show
// it: bind, Find or Create, JSON. There is no authentication and no cache. Each Create is
// a transaction, GORM's default, and as durable as petstore's (WAL, synchronous FULL).
// One connection is the fastest for inserts alone; lists would wait for its commits.
func ginAndGORM(store string, connections int) (http.Handler, error) {
	dsn := "file:" + (&url.URL{Path: store}).EscapedPath() +
		"?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000&_txlock=immediate&_stmt_cache_size=64"
	db, err := gorm.Open(sqlite.Open(dsn), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(connections)
	engine := gin.New()
	engine.GET("/v1/pets", func(c *gin.Context) {
		query := struct {
			Limit int   `form:"limit,default=20" binding:"min=1,max=100"`
			After int64 `form:"after"`
		}{}
		if err := c.ShouldBindQuery(&query); err != nil {
			c.AbortWithStatus(http.StatusBadRequest)
			return
		}
		pets := []gormPet{}
		if err := db.WithContext(c.Request.Context()).Where("id > ?", query.After).Order("id").Limit(query.Limit).Find(&pets).Error; err != nil {
			c.AbortWithStatus(http.StatusInternalServerError)
			return
		}
		c.JSON(http.StatusOK, pets)
	})
	engine.POST("/v1/pets", func(c *gin.Context) {
		var pet gormPet
		if err := c.ShouldBindJSON(&pet); err != nil {
			c.AbortWithStatus(http.StatusBadRequest)
			return
		}
		if err := db.WithContext(c.Request.Context()).Create(&pet).Error; err != nil {
			c.AbortWithStatus(http.StatusInternalServerError)
			return
		}
		c.JSON(http.StatusCreated, pet)
	})
	return engine, nil
}
