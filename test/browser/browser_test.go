package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/gin-gonic/gin"

	"example.com/petstore"
	"example.com/petstore/delivery/http/swagger"
	"example.com/petstore/repository/sqlite"
	"example.com/petstore/test/harness"
)

// TestSwaggerUIInABrowser authorizes and tries operations in Swagger UI as the README
// describes it: served by petstore, behind a proxy that removes a prefix, and mounted in
// another Gin engine, beside the API or on the group that has it.
func TestSwaggerUIInABrowser(t *testing.T) {
	for name, serve := range map[string]func(*testing.T) (url, key string){
		"served": servedDirectly, "proxied": servedByNginx, "mounted": mountAt("/teams/shop"), "mounted beside": mountAt("/teams/shop/docs"),
	} {
		t.Run(name, func(t *testing.T) {
			url, key := serve(t)
			p := openPage(t, url)
			p.wantText(`location.href`, url+"/swagger/index.html")
			p.wantText(`document.title`, "Petstore")
			p.wantText(`[...document.querySelectorAll(".servers option")].map(option => option.textContent).join()`, strings.TrimSuffix(url, "/docs")+"/v1 - This server")

			p.try("Store-listOrders", "401")
			p.authorize("\u200bBearer "+key+" ", "Store-listOrders")
			p.try("Pets-createPet", "201", bodyField, `{"name":"Rex","categoryId":7,"status":"available"}`)
			p.wantDocumented("Pets-createPet", "this API key may only read")       // in a shared response
			p.wantDocumented("Pets-createPet", "the body must be one JSON object") // in one of the operation
			p.wantDocumented("Pets-createPet", "The seconds to wait before a retry.")
			p.wantBodyRequired("Pets-createPet")
			p.openAndClickExecute("Pets-listPets")
			p.execute("Pets-listPets", "200")
			p.wantInvalid("Pets-listPets", "limit", "101", "Value must be at most 100")
			p.wantText(`getComputedStyle(document.querySelector("#operations-Pets-getPet .opblock-summary-path__deprecated")).textDecorationLine`, "line-through")
			p.try("Pets-getPet", "200", `tr[data-param-name="petId"] input`, "1")
			p.try("Store-placeOrder", "201", bodyField, `{"petId":1}`)
			p.execute("Store-placeOrder", "409")
			p.wantNoProblems()
		})
	}
}

// TestPageFitsTheScreenInABrowser tries the examples on screens of a phone, a tablet and a
// desktop computer.
func TestPageFitsTheScreenInABrowser(t *testing.T) {
	dir := t.TempDir()
	harness.MustRun(t, dir, "seed")
	s := harness.Start(t, dir)
	p := openPage(t, s.URL)
	p.authorize(s.Key, "Pets-listPets")
	for _, width := range []int64{390, 768, 1440} {
		p.run(chromedp.EmulateViewport(width, 844, chromedp.EmulateMobile))
		p.load()
		p.wantFit(width)
		p.wantOnScreen(listOperation)
		p.try("Pets-listPets", "200")
		p.try("Pets-createPet", "201")
		p.wantNoTextBelowCopyButton(addOperation)
		p.try("Store-getOrder", "200")
		p.wantFit(width)
	}
	p.wantNoProblems()
}

// servedDirectly runs petstore serve.
func servedDirectly(t *testing.T) (url, key string) {
	s := harness.Start(t, t.TempDir())
	return s.URL, s.Key
}

// servedByNginx runs nginx in front of the server. nginx removes a prefix that the server does
// not know. The page must not send its requests to server.production_url.
func servedByNginx(t *testing.T) (url, key string) {
	s := harness.Start(t, t.TempDir(), "--set", "server.production_url=https://pets.example", "--set", "server.staging_url=https://staging.pets.example")
	dir, address := t.TempDir(), harness.FreeAddress(t)
	harness.WriteFile(t, dir, "nginx.conf", fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log stderr; worker_processes 1;
events {}
http {
  access_log off;
  client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
  server { listen %[2]s; location /pet/shop/ { proxy_pass %[3]s/; } }
}`, dir, address, s.URL))
	nginx := exec.CommandContext(t.Context(), "nginx", "-e", "stderr", "-c", filepath.Join(dir, "nginx.conf"))
	nginx.Cancel = func() error { return nginx.Process.Signal(os.Interrupt) } // SIGKILL would leave its workers
	nginx.Stderr = t.Output()
	if err := nginx.Start(); err != nil {
		t.Fatalf("%v (make deps installs it)", err)
	}
	t.Cleanup(func() { _ = nginx.Wait() })
	proxied := &harness.Server{URL: "http://" + address + "/pet/shop", Key: s.Key}
	harness.Eventually(t, "nginx serves", func() bool { return proxied.IsReady(t.Context()) })
	return proxied.URL, s.Key
}

// mountAt mounts Swagger UI in a group of another Gin engine, and the API in the group /teams/shop/v1, with a middleware
// that signs a user of the host in.
func mountAt(docsPath string) func(t *testing.T) (url, key string) {
	return func(t *testing.T) (url, key string) {
		const token = "token-of-ann"
		engine := gin.New()
		engine.Use(func(c *gin.Context) { c.Header("Content-Security-Policy", "default-src 'none'") }) // of the host's own pages
		service, err := petstore.New(t.Context(), petstore.Options{
			Store:        sqlite.New(harness.StorePath(t.TempDir())),
			Authenticate: func(c *gin.Context) (string, error) { return c.GetString("user"), nil },
		})
		harness.Check(t, err)
		t.Cleanup(func() { _ = service.Close() })
		harness.Check(t, service.Mount(engine.Group("/teams/shop/v1"), func(c *gin.Context) {
			if c.GetHeader("Authorization") != "Bearer "+token {
				c.AbortWithStatusJSON(http.StatusUnauthorized, gin.H{"error": "sign in first"})
			}
			c.Set("user", "ann")
		}))
		group := engine.Group(docsPath)
		swagger.RedirectRoot(group)
		harness.Check(t, swagger.Mount(group, service))
		host := httptest.NewServer(engine)
		t.Cleanup(host.Close)
		return host.URL + docsPath, token
	}
}
