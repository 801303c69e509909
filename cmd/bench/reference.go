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
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
)

// serveReference is the command "bench reference". It serves what petstore is compared
// with until ctx ends.
func serveReference(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench reference", flag.ContinueOnError)
	flags.SetOutput(stderr)
	address := flags.String("address", "127.0.0.1:0", "the `host:port` to listen on")
	file := flags.String("body", "", "the `file` with the body of every response of gin and nethttp")
	store := flags.String("store", "", "the `file` of the store that gorm serves, or the URL of a PostgreSQL database")
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

func dialector(store string) gorm.Dialector {
	if strings.HasPrefix(store, postgresScheme) {
		return postgres.Open(store)
	}
	return sqlite.Open("file:" + (&url.URL{Path: store}).EscapedPath() +
		"?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000&_txlock=immediate&_stmt_cache_size=64")
}
