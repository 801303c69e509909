package http_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/binding"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/viper"
	"go.uber.org/zap"

	"example.com/petstore/domain"
)

func TestTwoAPIsOnOneEngineAreIndependent(t *testing.T) {
	t.Parallel()
	a, b := newUnstartedServer(t), newUnstartedServer(t)
	engine := gin.New()
	for prefix, s := range map[string]*testServer{"/a/v1": a, "/b/v1": b} {
		registry := prometheus.WrapRegistererWith(prometheus.Labels{"shop": prefix}, prometheus.NewRegistry())
		if err := s.api(t, withMetrics(registry)).Mount(engine.Group(prefix)); err != nil {
			t.Fatal(err)
		}
		s.prefix = prefix
		s.start(t, engine)
	}
	if pet := a.createPets(t, domain.NewPet{Name: "Rex"})[0]; pet.ID != 1 {
		t.Errorf("got id %d, want 1", pet.ID)
	}
	a.expect(t, get("/a/v1/pets"), ok(`[{"id":1,"name":"Rex","categoryId":0}]`))
	b.expect(t, get("/b/v1/pets"), ok(`[]`))
	b.expect(t, get("/a/v1/pets"), rejected(401, "invalid_api_key"))
}

// Not parallel: other tests may change global state.
func TestAPIChangesNoGlobalState(t *testing.T) {
	type globals struct {
		mode      string
		validator binding.StructValidator
		logger    *zap.Logger
		registry  prometheus.Registerer
		settings  int
		metrics   int
	}
	readGlobals := func() globals {
		families, err := prometheus.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		return globals{gin.Mode(), binding.Validator, zap.L(), prometheus.DefaultRegisterer, len(viper.AllKeys()), len(families)}
	}
	before := readGlobals()
	s := newTestServer(t, withMetrics(prometheus.NewRegistry()))
	s.expect(t, get("/v1/pets"), ok(`[]`))
	if after := readGlobals(); after != before {
		t.Errorf("got %+v, want %+v", after, before)
	}
}

func TestAPILinksNoUnneededPackages(t *testing.T) {
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
				t.Errorf("the API links %s", path)
			}
		}
	}
}
