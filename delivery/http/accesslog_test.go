package http_test

import (
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap/buffer"
	"go.uber.org/zap/zapcore"

	rest "example.com/petstore/delivery/http"
)

// The line of a request has two ways to become JSON, which must come to the same.
func TestLineOfARequestAppendsWhatItIsMarshalledTo(t *testing.T) {
	t.Parallel()
	encoder := zapcore.NewJSONEncoder(zapcore.EncoderConfig{EncodeDuration: zapcore.SecondsDurationEncoder, SkipLineEnding: true})
	for _, caller := range []string{"7", `"quoted"`, `back\slash`, "Lückenbüßer \u2028", "\x1f\n", "no UTF-8 \xf0", ""} {
		s := newTestServer(t, rest.WithAuthenticator(func(*gin.Context) (string, error) { return caller, nil }))
		for _, r := range []request{get("/v1/pets"), get("/v1/nothing/%22%0A%FF"), send("TRACE'`|~", "/v1/pets")} {
			s.expect(t, r, want{})
		}
		for _, entry := range s.log.FilterMessage("request").All() {
			marshalled, err := encoder.EncodeEntry(zapcore.Entry{}, entry.Context)
			if err != nil {
				t.Fatal(err)
			}
			appended := buffer.NewPool().Get()
			entry.Context[0].Interface.(interface{ AppendJSON(to *buffer.Buffer) }).AppendJSON(appended)
			if diff := cmp.Diff(decode(t, marshalled.Bytes()), decode(t, fmt.Appendf(nil, "{%s}", appended))); diff != "" || !utf8.Valid(appended.Bytes()) {
				t.Errorf("caller %q (-marshalled +appended)\n%s", caller, diff)
			}
		}
		if got := s.log.FilterMessage("request").Len(); got != 3 {
			t.Errorf("got %d lines for three requests", got)
		}
	}
}
