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

// A fuzzServer calls the handler without a network.
type fuzzServer struct {
	*testServer
	handler *gin.Engine
}

func newFuzzServer(f *testing.F) fuzzServer {
	f.Helper()
	s := newUnstartedServer(f)
	return fuzzServer{s, s.engine(f, nil)}
}

// roundTrip serves a request to /v1/pets, also one that net/http would not send. It fails
// the test for a status of 500 or more.
func (f fuzzServer) roundTrip(t *testing.T, method, query, body string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	header.Set("Authorization", "Bearer "+f.key)
	header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, &http.Request{
		Method: method, URL: &url.URL{Path: "/v1/pets", RawQuery: query}, Header: header,
		Body: io.NopCloser(strings.NewReader(body)), RemoteAddr: "127.0.0.1:1",
	})
	if w.Code >= http.StatusInternalServerError {
		t.Fatalf("got status %d: %s\n%v", w.Code, w.Body, f.log.TakeAll())
	}
	f.log.TakeAll() // bound the memory
	return w
}
