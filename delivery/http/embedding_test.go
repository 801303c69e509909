package http_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/binding"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/viper"
	"go.uber.org/zap"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/usecase"
)

// TestEmbeddingPageShowsTestedCode expects every piece of Go on the page to stand,
// to the letter, in the examples.
func TestEmbeddingPageShowsTestedCode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	pieces := strings.Split(string(page), "```go\n")[1:]
	if len(pieces) < 3 {
		t.Errorf("the page shows %d pieces", len(pieces))
	}
	for _, piece := range pieces {
		code, _, _ := strings.Cut(piece, "```")
		if !strings.Contains(string(examples), code) {
			t.Errorf("the examples have not\n%s", code)
		}
	}
}

func TestTwoStoresLiveInOneProcess(t *testing.T) {
	t.Parallel()
	a, b := newUnstartedServer(t), newUnstartedServer(t)
	engine := gin.New()
	for prefix, s := range map[string]*testServer{"/a/v1": a, "/b/v1": b} {
		registry := prometheus.WrapRegistererWith(prometheus.Labels{"shop": prefix}, prometheus.NewRegistry())
		if err := s.api(t, defaultServices, rest.WithMetrics(registry)).Register(engine.Group(prefix)); err != nil {
			t.Fatal(err)
		}
		s.prefix = prefix
		s.listen(t, engine)
	}
	rex := a.stock(t, domain.NewPet{Name: "Rex"})[0]
	if rex.ID != 1 {
		t.Errorf("the pet has the id %d", rex.ID)
	}
	a.expect(t, get("/a/v1/pets"), ok(`[{"id":1,"name":"Rex","categoryId":0}]`))
	b.expect(t, get("/b/v1/pets"), ok(`[]`))
	b.expect(t, get("/a/v1/pets"), refused(401, "invalid_api_key"))
}

func TestMountingTwiceIsAnErrorAtStart(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	engine := gin.New()
	api := s.api(t, defaultServices)
	if err := api.Register(engine.Group("/v1")); err != nil {
		t.Fatal(err)
	}
	if err := api.Register(engine.Group("/v1")); err == nil || !strings.Contains(err.Error(), "mount the API") {
		t.Errorf("got %v", err)
	}
}

func TestMissingServiceIsAnErrorAtStart(t *testing.T) {
	t.Parallel()
	s := newUnstartedServer(t)
	full := rest.Services{
		Pets: usecase.NewPets(s.store, s.store.Pets(), s.clock.now), Orders: usecase.NewOrders(s.store, s.store.Orders(), s.clock.now), Keys: s.keys,
	}
	for name, take := range map[string]func(*rest.Services){
		"pets": func(x *rest.Services) { x.Pets = nil }, "orders": func(x *rest.Services) { x.Orders = nil }, "keys": func(x *rest.Services) { x.Keys = nil },
	} {
		services := full
		take(&services)
		if _, err := rest.New(services); err == nil || !strings.Contains(err.Error(), "rest.New: ") {
			t.Errorf("without %s: %v", name, err)
		}
	}
	for name, option := range map[string]rest.Option{
		"WithLogger": rest.WithLogger(nil), "WithClock": rest.WithClock(nil), "WithRequestTimeout": rest.WithRequestTimeout(0),
		"WithPageCache": rest.WithPageCache(nil, 1),
	} {
		if _, err := rest.New(full, option); err == nil || !strings.Contains(err.Error(), "rest.New: "+name+" was given no ") {
			t.Errorf("%s of nothing: %v", name, err)
		}
	}
}

// TestMountingTouchesNothingGlobal is not parallel: it compares what all share.
func TestMountingTouchesNothingGlobal(t *testing.T) {
	type globals struct {
		mode      string
		validator binding.StructValidator
		logger    *zap.Logger
		registry  prometheus.Registerer
		settings  int
		metrics   int
	}
	look := func() globals {
		families, err := prometheus.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		return globals{gin.Mode(), binding.Validator, zap.L(), prometheus.DefaultRegisterer, len(viper.AllKeys()), len(families)}
	}
	before := look()
	s := newTestServer(t, rest.WithMetrics(prometheus.NewRegistry()))
	s.expect(t, get("/v1/pets"), ok(`[]`))
	if after := look(); after != before {
		t.Errorf("globals were %+v and are %+v", before, after)
	}
}

// TestEmbedderLinksNoPageItDoesNotWant lists what the API's own package needs.
func TestEmbedderLinksNoPageItDoesNotWant(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./delivery/http", "./usecase", "./repository")
	list.Dir = filepath.Join("..", "..")
	linked, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, unwanted := range []string{"swaggo", "viper", "cobra", "otlptrace", "example.com/petstore/config", "example.com/petstore/docs", "testing"} {
		for path := range strings.Lines(string(linked)) {
			if path = strings.TrimSpace(path); strings.Contains(path, unwanted) && path != "testing/iotest" {
				t.Errorf("%s is linked", path)
			}
		}
	}
}
