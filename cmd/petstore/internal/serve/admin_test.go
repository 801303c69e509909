package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"
)

func TestLogLevelMayBeJSON(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"level":"debug"}`: "200 debug", `{"level":"dpanic"}`: "400 info", `{"level":1}`: "400 info", `{}`: "400 info", "": "400 info",
	} {
		level, response := zap.NewAtomicLevel(), httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/log/level", strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		setLogLevel(level)(response, request)
		if got := fmt.Sprint(response.Code, " ", level); got != want || !json.Valid(response.Body.Bytes()) {
			t.Errorf("%s: got %s, %s, want %s", body, got, response.Body, want)
		}
	}
}
