package swagger

import (
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"
)

// gin-swagger has no option for the title of the host and these additions, which replace parts of its page. The package browser in the folder
// test shows that the page has no script that its policy forbids, but loads no icon and follows no link.
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
