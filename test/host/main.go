// Command host is an example of a program that embeds petstore. It serves the catalogues of two shops to users with JSON
// Web Tokens, and keeps a copy of all names in a table of its own.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gin-contrib/gzip"
	"github.com/gin-gonic/gin"
	"github.com/golang-jwt/jwt/v5"
	"github.com/pressly/goose/v3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/trace"
	gormsqlite "gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"example.com/petstore"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/swagger"
	"example.com/petstore/domain"
	"example.com/petstore/repository/sqlite"
)

//go:embed *.sql
var migrations embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		slog.Error("the host ended", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and then closes what it has opened, in the opposite order.
func run(ctx context.Context) (err error) {
	if os.Getenv("HOST_SECRET") == "" {
		return errors.New("set HOST_SECRET, which signs the tokens")
	}
	exporter, err := otlptracehttp.New(ctx) // its address is in OTEL_EXPORTER_OTLP_ENDPOINT
	if err != nil {
		return err
	}
	traces := trace.NewTracerProvider(trace.WithBatcher(exporter))
	defer func() { err = errors.Join(err, traces.Shutdown(context.WithoutCancel(ctx))) }()
	db, pool, err := openTables(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()

	registry, engine := prometheus.NewRegistry(), gin.New()
	engine.GET("/metrics", gin.WrapH(promhttp.HandlerFor(registry, promhttp.HandlerOpts{})))
	engine.Use(gzip.Gzip(gzip.DefaultCompression, gzip.WithExcludedPathsRegexs([]string{"/changes$"}))) // a stream needs its writer

	following, stop := context.WithCancel(context.WithoutCancel(ctx)) // Follow ends after the last request
	defer stop()
	var working sync.WaitGroup
	for _, name := range []string{"north", "south"} {
		s := &shop{name: name, db: db}
		s.Service, err = petstore.New(ctx, sqlite.New(name+".db"), petstore.Options{API: rest.Options{
			Authenticate:   s.authenticate,
			Logger:         petstore.NewLogger(slog.Default().Handler()),
			Metrics:        prometheus.WrapRegistererWith(prometheus.Labels{"shop": name}, registry),
			TracerProvider: traces,
			AllowedOrigins: []string{"https://shops.example"},
		}})
		if err != nil {
			return err
		}
		defer func() { stop(); working.Wait(); err = errors.Join(err, s.Close()) }()
		group := engine.Group(name)
		if err := errors.Join(s.Mount(group.Group("v1"), s.signIn), swagger.Mount(group.Group("docs"), s)); err != nil {
			return err
		}
		group.GET("ready", s.API().HealthHandler(func(c *gin.Context) error { return s.Store().Ping(c.Request.Context()) }))
		group.GET("names", s.signIn, s.searchNames)
		working.Go(func() { s.follow(following) })
	}
	return serve(ctx, engine)
}

// openTables opens and migrates the tables of the host.
func openTables(ctx context.Context) (db *gorm.DB, pool *sql.DB, err error) {
	if db, err = gorm.Open(gormsqlite.Open("host.db?_txlock=immediate&_busy_timeout=5000")); err != nil {
		return nil, nil, err
	}
	if pool, err = db.DB(); err != nil {
		return nil, nil, err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, pool, migrations)
	if err == nil {
		_, err = provider.Up(ctx)
	}
	return db, pool, err
}

// claims are the claims of a user: a shop and scopes of API keys, separated by spaces.
type claims struct {
	Shop, Scope string
	jwt.RegisteredClaims
}

// A shop has a catalogue, and a copy of its names in the tables of the host.
type shop struct {
	*petstore.Service
	name string
	db   *gorm.DB
}

// signIn rejects requests without a valid token for the shop.
func (s *shop) signIn(c *gin.Context) {
	user, token := claims{}, strings.TrimPrefix(c.GetHeader("Authorization"), "Bearer ")
	secret := func(*jwt.Token) (any, error) { return []byte(os.Getenv("HOST_SECRET")), nil }
	_, err := jwt.ParseWithClaims(token, &user, secret, jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	if err != nil || user.Shop != s.name {
		s.API().Fail(c, domain.Unauthenticated("sign in to this shop first"))
		return
	}
	c.Set("user", user)
}

// authenticate allows users what their scopes allow.
func (s *shop) authenticate(c *gin.Context) (caller string, err error) {
	user := c.MustGet("user").(claims)
	if jwt.NewValidator().Validate(user) != nil { // a stream outlives its token
		return "", domain.Unauthenticated("the token has expired")
	}
	if scope := string(rest.RequiredScope(c)); !slices.Contains(strings.Fields(user.Scope), scope) {
		return user.Subject, domain.Forbidden("your token lacks the scope " + scope)
	}
	return user.Subject, nil
}

// searchNames sends the ids of the animals with a name.
func (s *shop) searchNames(c *gin.Context) {
	ids := []int64{}
	err := s.db.WithContext(c.Request.Context()).Table("names").Where("shop = ? AND name = ?", s.name, c.Query("name")).Pluck("pet_id", &ids).Error
	if err != nil {
		s.API().Fail(c, err)
		return
	}
	c.JSON(http.StatusOK, ids)
}

// follow keeps the copy of the names up to date until ctx ends.
func (s *shop) follow(ctx context.Context) {
	for ctx.Err() == nil {
		var position int64
		err := s.db.WithContext(ctx).Raw("SELECT coalesce(max(position), 0) FROM positions WHERE shop = ?", s.name).Scan(&position).Error
		if err == nil && position > 0 {
			err = s.Follow(ctx, position, s.copyChange)
		}
		if err == nil && position == 0 || errors.Is(err, domain.ErrExpired) { // Follow begins with the oldest change that is kept
			err = s.copyAll(ctx)
		}
		if err != nil && ctx.Err() == nil {
			slog.Error("cannot copy the names", "shop", s.name, "error", err)
			time.Sleep(time.Second)
		}
	}
}

// copyChange copies a change.
func (s *shop) copyChange(ctx context.Context, change domain.Change) error {
	return s.write(ctx, change.Seq, func(tx *gorm.DB) error {
		switch {
		case change.Type == domain.ChangePetRemoved:
			return tx.Exec("DELETE FROM names WHERE shop = ? AND pet_id = ?", s.name, change.Pet.ID).Error
		case change.Pet != nil:
			return tx.Exec("INSERT OR REPLACE INTO names VALUES (?, ?, ?)", s.name, change.Pet.ID, change.Pet.Name).Error
		}
		return nil
	})
}

// copyAll copies all names, at first and when changes are missing.
func (s *shop) copyAll(ctx context.Context) error {
	position, err := s.Changes().Latest(ctx) // before the animals are read
	if err != nil {
		return err
	}
	return s.write(ctx, position, func(tx *gorm.DB) error {
		err := tx.Exec("DELETE FROM names WHERE shop = ?", s.name).Error
		for pet, failed := range s.Pets().All(ctx, domain.PetQuery{}) {
			if err = cmp.Or(err, failed); err != nil {
				break
			}
			err = tx.Exec("INSERT INTO names VALUES (?, ?, ?)", s.name, pet.ID, pet.Name).Error
		}
		return err
	})
}

// write runs fn and stores the position in one transaction.
func (s *shop) write(ctx context.Context, position int64, fn func(tx *gorm.DB) error) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := fn(tx); err != nil {
			return err
		}
		return tx.Exec("INSERT OR REPLACE INTO positions VALUES (?, ?)", s.name, position).Error
	})
}

// serve serves the engine until ctx ends and all requests are finished.
func serve(ctx context.Context, engine http.Handler) error {
	server := &http.Server{
		Addr: cmp.Or(os.Getenv("HOST_ADDRESS"), "127.0.0.1:8080"), Handler: engine,
		ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 15 * time.Second,
	}
	rest.EndStreams(server)
	stopped := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		limit, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		stopped <- server.Shutdown(limit)
	})
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
