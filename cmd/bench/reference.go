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

// serveReference is bench reference: it serves what petstore is compared with, until ctx ends.
func serveReference(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench reference", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("address", "127.0.0.1:0", "the `host:port` to listen on")
	file := flags.String("body", "", "the `file` with the bytes of every answer")
	store := flags.String("store", "", "the `file` of the store that gorm adds animals to")
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
		handler, err = commitEach(*store)
	default:
		err = fmt.Errorf("there is no reference %q: name gin, nethttp or gorm", name)
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

// bareGin answers both reads with the same bytes, by Gin alone.
func bareGin(body []byte) http.Handler {
	engine := gin.New()
	length := strconv.Itoa(len(body))
	answer := func(c *gin.Context) {
		c.Header("Content-Length", length)
		c.Data(http.StatusOK, "application/json", body)
	}
	engine.GET("/v1/pets", answer)
	engine.GET("/v1/pets/:petId", answer)
	return engine
}

// netHTTP answers everything with the same bytes, by the standard library alone.
func netHTTP(body []byte) http.Handler {
	length := strconv.Itoa(len(body))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", length)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // a client that is gone is no failure
	})
}

type gormPet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name" binding:"required"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

func (gormPet) TableName() string { return "pets" }

// commitEach adds animals to a store as Gin and GORM are shown together everywhere:
// bind, Create, answer. As durable as petstore (WAL, synchronous FULL) and on one
// connection, which is the faster way; each insert is a transaction, GORM's default.
func commitEach(store string) (http.Handler, error) {
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
	pool.SetMaxOpenConns(1)
	engine := gin.New()
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
