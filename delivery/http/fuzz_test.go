package http_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
)

// A fuzzed shop answers in the process itself.
type fuzzed struct {
	*testServer
	handler *gin.Engine
}

func fuzz(f *testing.F) fuzzed {
	f.Helper()
	s := newUnstartedServer(f)
	return fuzzed{s, s.engine(f, nil, defaultServices)}
}

// answer answers a request that no client of net/http would send. It fails for
// what nobody may ever provoke.
func (f fuzzed) answer(t *testing.T, method, query, body string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	header.Set("Authorization", "Bearer "+f.key)
	header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, &http.Request{
		Method: method, URL: &url.URL{Path: "/v1/pets", RawQuery: query}, Header: header,
		Body: io.NopCloser(strings.NewReader(body)), RemoteAddr: "127.0.0.1:1",
	})
	if w.Code >= http.StatusInternalServerError {
		t.Fatalf("got %d: %s\n%v", w.Code, w.Body, f.log.TakeAll())
	}
	f.log.TakeAll() // so that the log does not grow
	return w
}
