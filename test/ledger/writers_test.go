package ledger

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// write sends a write to a server that returns these statuses one after the other.
func write(t *testing.T, key string, statuses ...int) (Write, *Ledger) {
	t.Helper()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := statuses[requests.Add(1)-1]
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(status)
		fmt.Fprintln(w, `{"id":5}`)
	}))
	t.Cleanup(server.Close)
	writers := &Writers{URL: func() string { return server.URL }, Ledger: New(), client: server.Client(), stop: make(chan struct{})}
	got := writers.write(t.Context(), Write{Kind: Pet, Name: "rex"}, "/v1/pets", "{}", key)
	if n := int(requests.Load()); n != len(statuses) {
		t.Errorf("got %d requests, want %d", n, len(statuses))
	}
	return got, writers.Ledger
}

func TestWriteWithAKeyIsRepeatedUntilItsOutcomeIsKnown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key      string
		statuses []int
		want     Write
	}{
		"acknowledged":                {"", []int{201}, Write{PetID: 5}},
		"refused":                     {"", []int{400}, Write{Outcome: Refused, Status: 400}},
		"unknown":                     {"", []int{503}, Write{Outcome: Unknown, Unknowns: 1}},
		"unknown, acknowledged later": {"k", []int{503, 503, 201}, Write{PetID: 5, Unknowns: 2}},
		"unknown, then refused":       {"k", []int{503, 409}, Write{Outcome: Refused, Status: 409, Unknowns: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ledger := write(t, test.key, test.statuses...)
			test.want.Name = "rex"
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(Write{}, "At")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := ledger.Violations(); len(got) > 0 {
				t.Errorf("got the violations %q", got)
			}
		})
	}
}

func TestWriteWithoutKnownOutcomeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() }))
	t.Cleanup(server.Close)
	writers := &Writers{URL: func() string { return server.URL }, Ledger: New(), client: server.Client(), stop: make(chan struct{})}
	if got := writers.write(ctx, Write{Kind: Pet, Name: "rex"}, "/v1/pets", "{}", "k"); got.Outcome != Unknown {
		t.Errorf("got %+v, want an unknown outcome", got)
	}
}

func TestServerErrorOtherThanUnavailableIsAViolation(t *testing.T) {
	t.Parallel()
	_, ledger := write(t, "", http.StatusBadGateway)
	if got := ledger.Violations(); len(got) != 1 || !strings.Contains(got[0], "502") {
		t.Errorf("got the violations %q, want one with 502", got)
	}
}
