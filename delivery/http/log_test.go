package http_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"example.com/petstore/delivery/http/server"
	"example.com/petstore/domain"
)

func TestAccessLogHasALineForEachRequest(t *testing.T) {
	t.Parallel()
	for rule, tt := range map[string]struct {
		request
		line map[string]any
	}{
		"a list": {
			get("/v1/pets?limit=5"),
			map[string]any{"method": "GET", "route": "/v1/pets", "status": int64(200), "key_id": "1"},
		},
		"a record is logged by its route": {
			get("/v1/pets/42"),
			map[string]any{"method": "GET", "route": "/v1/pets/:petId", "status": int64(404), "key_id": "1"},
		},
		"a new record": {
			post(newRex),
			map[string]any{"method": "POST", "route": "/v1/pets", "status": int64(201), "key_id": "1"},
		},
		"a client nobody knows": {
			get("/v1/pets", "-Authorization"),
			map[string]any{"method": "GET", "route": "/v1/pets", "status": int64(401), "key_id": ""},
		},
		"no such route": {
			get("/v1/nothing?token=secret"),
			map[string]any{"method": "GET", "route": "", "path": "/v1/nothing", "status": int64(404), "key_id": ""},
		},
		"an encoded slash": {
			get("/v1/pets%2f1?token=secret"),
			map[string]any{"method": "GET", "route": "", "path": "/v1/pets%2f1", "status": int64(404), "key_id": ""},
		},
		"control characters and invalid UTF-8": {
			get("/a%0Ab%00c%7F%FFd%20e%22"),
			map[string]any{"method": "GET", "route": "", "path": "/a%0Ab%00c%7F%FFd%20e%22", "status": int64(404), "key_id": ""},
		},
		"an API key in the path": {
			get("/v1/keys/petstore_" + strings.Repeat("x", 49) + "/name"),
			map[string]any{"method": "GET", "route": "", "path": "/v1/keys/(hidden)/name", "status": int64(404), "key_id": ""},
		},
		"a long path": {
			get("/" + strings.Repeat("x", 10_000)),
			map[string]any{"method": "GET", "route": "", "path": "/" + strings.Repeat("x", 199), "status": int64(404), "key_id": ""},
		},
		"no such method": {
			send("DELETE", "/v1/pets"),
			map[string]any{"method": "DELETE", "route": "", "path": "/v1/pets", "status": int64(405), "key_id": ""},
		},
		"an unknown method": {
			send(strings.Repeat("A", 30_000), "/v1/pets"),
			map[string]any{"method": "other", "route": "", "path": "/v1/pets", "status": int64(405), "key_id": ""},
		},
		"health": {
			get("/livez", "-Authorization"),
			map[string]any{"method": "GET", "route": "/livez", "status": int64(200), "key_id": ""},
		},
		"a client that names itself": {
			get("/v1/pets", "X-Forwarded-For: 203.0.113.9", "X-Real-Ip: 203.0.113.9", "Forwarded: for=203.0.113.9"),
			map[string]any{"method": "GET", "route": "/v1/pets", "status": int64(200), "key_id": "1"},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			a := s.expect(t, tt.request, want{})
			tt.line["request_id"], tt.line["client"] = a.Header.Get("X-Request-Id"), "127.0.0.1"
			if diff := cmp.Diff([]map[string]any{tt.line}, s.accessLog(t)); diff != "" {
				t.Errorf("access log (-want +got):\n%s", diff)
			}
		})
	}
}

// accessLog are the lines of the access log, each without its duration.
func (s *testServer) accessLog(t *testing.T) (lines []map[string]any) {
	t.Helper()
	for _, entry := range s.log.FilterMessage("request").All() {
		line := entry.ContextMap()
		if duration, is := line["duration"].(time.Duration); !is || duration <= 0 || entry.Level != zap.InfoLevel {
			t.Errorf("the line %v is at the level %s", line, entry.Level)
		}
		delete(line, "duration")
		lines = append(lines, line)
	}
	return lines
}

func TestForwardedAddressIsBelievedFromTrustedProxiesAlone(t *testing.T) {
	t.Parallel()
	for proxy, client := range map[string]string{"127.0.0.1": "203.0.113.9", "127.0.0.0/8": "203.0.113.9", "10.0.0.1": "127.0.0.1"} {
		s := newUnstartedServer(t)
		s.listen(t, s.engine(t, []string{proxy}, defaultServices))
		s.expect(t, get("/v1/pets", "X-Forwarded-For: 203.0.113.9"), ok(`[]`))
		if line := s.accessLog(t)[0]; line["client"] != client {
			t.Errorf("behind %s: got the client %v, want %s", proxy, line["client"], client)
		}
	}
	s := newUnstartedServer(t)
	if _, err := server.NewEngine(s.api(t, defaultServices), s.health, []string{"no address"}); err == nil {
		t.Error("an engine took a proxy that is no address")
	}
}

func TestLogTellsNoSecret(t *testing.T) {
	t.Parallel()
	s := openShopWhere(t, func(context.Context, int64) (domain.Pet, error) { panic("at the counter") })
	const hidden = "hush"
	secrets := []string{"X-Secret: " + hidden, "Cookie: " + hidden, "Idempotency-Key: " + hidden, "User-Agent: " + hidden, "Referer: " + hidden}
	requests := []request{
		get("/v1/pets?token=" + hidden + "&key=KEY"), get("/v1/pets?status=" + hidden), get("/v1/pets?%zz=" + hidden),
		get("/v1/pets/1?token=" + hidden), get("/v1/nothing?token=" + hidden), get("/v1/KEY"), get("/" + strings.Repeat("x", 150) + "/KEY"), send("DELETE", "/v1/pets?x="+hidden), get("/livez?x=" + hidden), get("/readyz?x=" + hidden),
		post(`{"name":"hush","categoryId":7}`), post(`{"name":"hush"`), post(`{"hush":"hush"}`),
		get("/v1/pets", "Authorization: Bearer "+hidden), get("/v1/pets", "Authorization: KEY"), get("/v1/pets", "Authorization: Basic "+hidden),
		get("/v1/pets?x="+hidden, "Authorization: Bearer KEY", "Authorization: Bearer KEY"),
	}
	all := func() {
		for _, r := range requests {
			r.header = append(r.header, secrets...)
			r.path = strings.ReplaceAll(r.path, "KEY", s.key)
			s.expect(t, r, want{})
		}
	}
	all()
	s.exec(t, `DROP TABLE pets`)
	all()
	s.exec(t, `DROP TABLE api_keys`)
	all()

	lines := s.log.All()
	if len(lines) < 3*len(requests) {
		t.Fatalf("got %d lines for %d requests", len(lines), 3*len(requests))
	}
	for _, line := range lines {
		told := fmt.Sprint(line.Message, line.ContextMap())
		for _, secret := range []string{hidden, s.key, s.key[9:40], "petstore_"} {
			if strings.Contains(told, secret) {
				t.Errorf("the log tells %q: %s", secret, told)
			}
		}
	}
}
