package contract

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

// nextPage reads a page and returns the path of the next one, or "" after the last.
func nextPage(t *testing.T, s *harness.Server, path string, page any) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, http.NoBody)
	harness.Check(t, err)
	request.Header.Set("Authorization", "Bearer "+s.Key)
	response, err := harness.Client.Do(request)
	harness.Check(t, err)
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(page); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("got %d, %v, want 200", response.StatusCode, err)
	}
	link, _, linked := strings.Cut(strings.TrimPrefix(response.Header.Get("Link"), "<"), ">")
	if !linked {
		return ""
	}
	collection, _, _ := strings.Cut(path, "?")
	return collection + link
}

// A record is a pet or an order.
type record struct{ ID int64 }

// records reads all pages.
func records(s *harness.Server, t *testing.T, path string) (all []record) {
	t.Helper()
	for path != "" {
		var page []record
		path = nextPage(t, s, path, &page)
		all = append(all, page...)
	}
	return all
}
