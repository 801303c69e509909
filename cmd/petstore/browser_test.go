//go:build browser

package main

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/swagger"
	"example.com/petstore/docs"
	"example.com/petstore/repository"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/usecase"
)

// TestNewcomerTriesTheStoreInABrowser does what the README tells a newcomer to do,
// wherever the page may be: on the program's own address, behind a proxy that takes
// a prefix away, and in a team's own engine.
func TestNewcomerTriesTheStoreInABrowser(t *testing.T) {
	for where, serve := range map[string]func(*testing.T) (url, key string){
		"served": served, "proxied": proxied, "mounted": mounted,
	} {
		t.Run(where, func(t *testing.T) {
			url, key := serve(t)
			p := openPage(t, where, url)
			p.wantLocation(url + "/swagger/index.html")
			p.wantTitle("Petstore")
			p.shoot("overview")

			p.try("Pets-listPets", nil, "401")
			p.authorize(key)
			p.try("Pets-createPet", fields{"": `{"name":"Rex","categoryId":7,"status":"available"}`}, "201")
			p.shoot("added")
			p.try("Pets-listPets", nil, "200")
			p.wantDeprecated("Pets-getPet")
			p.try("Pets-getPet", fields{"petId": "1"}, "200")
			p.try("Store-placeOrder", fields{"": `{"petId":1}`}, "201")
			p.shoot("ordered")
			p.again("Store-placeOrder", "409")
			p.shoot("refused")
			p.wantNoComplaint()
		})
	}
}

// TestPageFitsTheScreenInABrowser tries the examples on a phone, a tablet and a desktop.
func TestPageFitsTheScreenInABrowser(t *testing.T) {
	folder := t.TempDir()
	if _, stderr, code := output(t, folder, "seed"); code != 0 {
		t.Fatal(stderr)
	}
	s := start(t, folder)
	p := openPage(t, "screen", s.url)
	p.authorize(s.key)
	for _, width := range []int64{390, 768, 1440} {
		p.resize(width)
		p.wantFit(width)
		p.shoot(fmt.Sprint(width))
		p.try("Pets-listPets", nil, "200")
		p.try("Pets-createPet", nil, "201")
		p.try("Store-getOrder", nil, "200")
		p.wantFit(width)
		p.shoot(fmt.Sprint(width, "-tried"))
	}
	p.wantNoComplaint()
}

func served(t *testing.T) (url, key string) {
	s := start(t, t.TempDir())
	return s.url, s.key
}

// proxied puts nginx before the server, under a prefix that only nginx knows, and a
// production_url at which the page may not send requests.
func proxied(t *testing.T) (url, key string) {
	s := start(t, t.TempDir(), "--set", "server.production_url=https://pets.example")
	folder := t.TempDir()
	address := freeAddress(t)
	conf := filepath.Join(folder, "nginx.conf")
	text := fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log stderr; worker_processes 1;
events {}
http {
  access_log off;
  client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
  server { listen %[2]s; location /pet/shop/ { proxy_pass %[3]s/; } }
}`, folder, address, s.url)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	nginx := exec.CommandContext(t.Context(), "nginx", "-e", "stderr", "-c", conf)
	nginx.Cancel = func() error { return nginx.Process.Signal(os.Interrupt) }
	nginx.Stderr = t.Output()
	if err := nginx.Start(); err != nil {
		t.Fatalf("%v (make test-browser installs nginx)", err)
	}
	t.Cleanup(func() { _ = nginx.Process.Signal(os.Interrupt); _ = nginx.Wait() })
	waitUntilAccepted(t, address)
	return "http://" + address + "/pet/shop", s.key
}

// mounted serves from an engine of a team's own.
func mounted(t *testing.T) (url, key string) {
	ctx := t.Context()
	store, err := repository.Open(ctx, sqlite.New(database(t.TempDir())), repository.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	keys := usecase.NewKeys(store, store.Keys(), clock)
	if key, err = keys.Create(ctx, "browser", 0); err != nil {
		t.Fatal(err)
	}
	api, err := rest.New(rest.Services{
		Pets:   usecase.NewPets(store, store.Pets(), clock),
		Orders: usecase.NewOrders(store, store.Orders(), clock),
		Keys:   keys,
	})
	if err != nil {
		t.Fatal(err)
	}
	document, err := docs.Document(docs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine := gin.New()
	group := engine.Group("/teams/shop")
	if err := api.Register(group.Group("/v1")); err != nil {
		t.Fatal(err)
	}
	swagger.RedirectRoot(group)
	if err := swagger.Register(group, swagger.Options{Document: document, NotFound: rest.NotFound}); err != nil {
		t.Fatal(err)
	}
	host := httptest.NewServer(engine)
	t.Cleanup(host.Close)
	return host.URL + "/teams/shop", key
}

func waitUntilAccepted(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = connection.Close()
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}
