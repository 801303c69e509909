package swagger

import (
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"
)

// gin-swagger has no options for the title and for these additions. They replace parts of its page. The
// tests in the folder test/browser show that the page runs no script that its policy forbids, but they load
// no icon and follow no link.
func TestPageHasItsAdditions(t *testing.T) {
	t.Parallel()
	engine := newEngine(t, "")
	page := get(t, engine, "/swagger/index.html").Body.String()
	for _, reference := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if got := get(t, engine, path.Join("/swagger", reference[1])); got.Code != http.StatusOK {
			t.Errorf("%s: got %d, want 200", reference[1], got.Code)
		}
	}
	for _, want := range []string{"<title>Animals of /v1&lt;b&gt;</title>", `<meta name="viewport"`, "<noscript>", "Loading the documentation"} {
		if !strings.Contains(page, want) || strings.Contains(page, "standalone-preset") {
			t.Errorf("the page lacks %s, or has standalone-preset", want)
		}
	}
	script := get(t, engine, "/swagger/swagger-initializer.js").Body.String()
	for _, want := range []string{`"../openapi.json"`, "persistAuthorization: true"} {
		if !strings.Contains(script, want) {
			t.Errorf("swagger-initializer.js lacks %s", want)
		}
	}
}
