package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/test/harness"

	"github.com/chromedp/chromedp"
	"github.com/gin-gonic/gin"

	"example.com/petstore"
	"example.com/petstore/delivery/http/swagger"
	"example.com/petstore/repository/sqlite"
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
			p := openPage(t, strings.ReplaceAll(name, " ", "-"), url)
			p.wantText(`location.href`, url+"/swagger/index.html")
			p.wantText(`document.title`, "Petstore")
			p.wantText(`[...document.querySelectorAll(".servers option")].map(option => option.textContent).join()`, strings.TrimSuffix(url, "/docs")+"/v1 - This server")
			p.screenshot("overview")

			p.try("Store-listOrders", nil, "401")
			p.authorize("\u200bBearer "+key+" ", "Store-listOrders")
			p.try("Pets-createPet", fields{"": `{"name":"Rex","categoryId":7,"status":"available"}`}, "201")
			p.screenshot("added")
			p.wantDocumented("Pets-createPet", "this API key may only read")       // in a shared response
			p.wantDocumented("Pets-createPet", "the body must be one JSON object") // in one of the operation
			p.wantDocumented("Pets-createPet", "The seconds to wait before a retry.")
			p.wantBodyRequired("Pets-createPet")
			p.openAndClickExecute("Pets-listPets")
			p.execute("Pets-listPets", "200")
			p.wantInvalid("Pets-listPets", "limit", "101", "Value must be at most 100")
			p.wantText(`getComputedStyle(document.querySelector("#operations-Pets-getPet .opblock-summary-path__deprecated")).textDecorationLine`, "line-through")
			p.try("Pets-getPet", fields{"petId": "1"}, "200")
			p.try("Store-placeOrder", fields{"": `{"petId":1}`}, "201")
			p.screenshot("ordered")
			p.execute("Store-placeOrder", "409")
			p.screenshot("rejected")
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
	p := openPage(t, "screen", s.URL)
	p.authorize(s.Key, "Pets-listPets")
	for _, width := range []int64{390, 768, 1440} {
		p.resize(width)
		p.wantFit(width)
		p.wantOnScreen("#operations-Pets-listPets")
		p.screenshot(fmt.Sprint(width))
		p.try("Pets-listPets", nil, "200")
		p.try("Pets-createPet", nil, "201")
		p.wantNoTextBelowCopyButton("Pets-createPet")
		p.try("Store-getOrder", nil, "200")
		p.wantFit(width)
		p.screenshot(fmt.Sprint(width, "-tried"))
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
	dir := t.TempDir()
	address := harness.FreeAddress(t)
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log stderr; worker_processes 1;
events {}
http {
  access_log off;
  client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
  server { listen %[2]s; location /pet/shop/ { proxy_pass %[3]s/; } }
}`, dir, address, s.URL)
	harness.Check(t, os.WriteFile(conf, []byte(text), 0o600))
	nginx := exec.CommandContext(t.Context(), "nginx", "-e", "stderr", "-c", conf)
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

// mountAt mounts Swagger UI in a group of another Gin engine, and the API in the group /teams/shop/v1.
func mountAt(docsPath string) func(t *testing.T) (url, key string) {
	return func(t *testing.T) (url, key string) {
		engine := gin.New()
		engine.Use(func(c *gin.Context) { c.Header("Content-Security-Policy", "default-src 'none'") }) // of the host's own pages
		service := mountForUsers(t, engine.Group("/teams/shop/v1"), petstore.Options{})
		group := engine.Group(docsPath)
		swagger.RedirectRoot(group)
		harness.Check(t, swagger.Mount(group, service))
		host := httptest.NewServer(engine)
		t.Cleanup(host.Close)
		return host.URL + docsPath, tokenOfAnn
	}
}

const tokenOfAnn = "token-of-ann"

// mountForUsers mounts the API with a middleware that signs a user of the host in.
func mountForUsers(t *testing.T, group *gin.RouterGroup, o petstore.Options) *petstore.Service {
	t.Helper()
	o.Store = sqlite.New(harness.StorePath(t.TempDir()))
	o.Authenticate = func(c *gin.Context) (string, error) { return c.GetString("user"), nil }
	service, err := petstore.New(t.Context(), o)
	harness.Check(t, err)
	t.Cleanup(func() { _ = service.Close() })
	signIn := func(c *gin.Context) {
		if c.GetHeader("Authorization") != "Bearer "+tokenOfAnn {
			c.AbortWithStatusJSON(http.StatusUnauthorized, gin.H{"error": "sign in first"})
		}
		c.Set("user", "ann")
	}
	harness.Check(t, service.Mount(group, signIn))
	return service
}

// TestPageOfAnotherOriginUsesTheAPIOfAHost sends requests for which a browser sends a preflight,
// without the credentials that the host's middleware requires.
func TestPageOfAnotherOriginUsesTheAPIOfAHost(t *testing.T) {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<!doctype html><link rel="icon" href="data:,"><p id="operations-Pets-listPets">Shop`)
	}))
	t.Cleanup(shop.Close)
	engine := gin.New()
	mountForUsers(t, engine.Group("/v1"), petstore.Options{AllowedOrigins: []string{shop.URL}})
	host := httptest.NewServer(engine)
	t.Cleanup(host.Close)

	p := openPage(t, "another-origin", shop.URL)
	for token, want := range map[string]string{
		"token-of-nobody": `401 {"error":"sign in first"}`,
		tokenOfAnn:        `201 {"id":1,"name":"Rex","categoryId":7}`,
	} {
		script := fmt.Sprintf(`fetch(%q, {method: "POST", headers: {Authorization: %q, "Content-Type": "application/json", "Idempotency-Key": "1"},
			body: '{"name":"Rex","categoryId":7}'}).then(async r => r.status + " " + await r.text(), String)`, host.URL+"/v1/pets", "Bearer "+token)
		if got := evaluate(p, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise)); got != want {
			t.Errorf("as %s: got %s, want %s", token, got, want)
		}
	}
}
