package http_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	rest "example.com/petstore/delivery/http"
)

// FuzzAccessLog sends requests with any method, path, request id and address of the client. Each
// has one line of JSON in the access log, without the API key and the query.
func FuzzAccessLog(f *testing.F) {
	s := newFuzzServer(f)
	var log bytes.Buffer
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	logger := zap.New(zapcore.NewCore(encoder, zapcore.AddSync(&log), zapcore.InfoLevel))
	s.handler = s.engine(f, []string{"127.0.0.1"}, func(o *rest.Options) { o.Logger = logger })
	for _, seed := range [][4]string{
		{"GET", "/v1/pets", "id", "192.0.2.1"},
		{"GET", "/v1/nothing", "", ""},
		{"DELETE", "/a\n\x00\xff\" b", "a\"\n", "x, y"},
		{"PURGE", "/petstore_" + strings.Repeat("x", 49), "petstore_x", "::1"},
		{"GET", "/" + strings.Repeat("é", 300), strings.Repeat("i", 300), "\u2028"},
		{"G\nT", "//", "\x1b[0m", "127.0.0.1, 192.0.2.1"},
		{"", "", "\xff", "\x00"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, method, path, requestID, forwarded string) {
		log.Reset()
		s.handler.ServeHTTP(httptest.NewRecorder(), &http.Request{
			Method: method, URL: &url.URL{Path: path, RawQuery: "token=querysecret"}, Body: http.NoBody, RemoteAddr: "127.0.0.1:1",
			Header: http.Header{"Authorization": {"Bearer " + s.key}, "X-Request-Id": {requestID}, "X-Forwarded-For": {forwarded}},
		})
		var fields map[string]any
		if err := json.Unmarshal(log.Bytes(), &fields); err != nil || bytes.Count(log.Bytes(), []byte("\n")) != 1 {
			t.Fatalf("got the log %q, %v, want one line of JSON", log.Bytes(), err)
		}
		if text := log.String(); !utf8.ValidString(text) || strings.Contains(text, s.key) || strings.Contains(text, "querysecret") || log.Len() > 4096 {
			t.Fatalf("got the log %q, want less than 4 KiB of UTF-8 without secrets", text)
		}
	})
}
