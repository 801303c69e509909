package main

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestParseWrk(t *testing.T) {
	t.Parallel()
	const good = "Running 1s test\n" + `{"requests":200,"duration":2000000,"failures":0,"mean":612.5,"p99":870}` + "\n"
	want := result{requests: 200, rate: 100, mean: 612500, p99: 870 * time.Microsecond}
	if got, err := parseWrk([]byte(good)); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for want, output := range map[string]string{
		"wrk: failed requests":               strings.Replace(good, `failures":0`, `failures":1`, 1),
		"wrk: failed requests\nRunning":      strings.Replace(good, `requests":200`, `requests":0`, 1),
		"unexpected output of wrk":           "unable to connect to 127.0.0.1:1 Connection refused\n",
		"unexpected output of wrk: unexpect": "",
	} {
		if got, err := parseWrk([]byte(output)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %+v, %v, want the error %q", output, got, err, want)
		}
	}
}

// The script of wrk and the targeter of vegeta send the same requests.
func TestClientsSendTheRequests(t *testing.T) {
	t.Parallel()
	b := &bench{options: options{duration: time.Second}, script: "requests.lua"}
	for _, r := range []row{
		{name: "GET", request: request{path: listPath + "/", count: 9}},
		{name: "mix", request: request{path: listPath + "/7", posts: 50}},
		{name: "keys", request: request{posts: 100, keys: true}},
		{name: "GET at a rate", rate: 200, request: request{path: listPath + "/", count: 9}},
		{name: "mix at a rate", rate: 200, request: request{path: listPath + "/7", posts: 50}},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			client := b.attack
			if r.rate == 0 {
				if _, err := exec.LookPath("wrk"); err != nil {
					t.Skip("wrk is not installed: make bench installs it")
				}
				client, r.clients = b.wrk, 1
			}
			var gets, posts atomic.Int64
			var keys sync.Map
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, got *http.Request) {
				id, _ := strconv.Atoi(strings.TrimPrefix(got.URL.Path, listPath+"/"))
				_, repeated := keys.LoadOrStore(got.Header.Get("Idempotency-Key"), true)
				switch {
				case got.Method == http.MethodPost && got.URL.Path == listPath && got.ContentLength == int64(len(newPet)) && (!r.request.keys || !repeated):
					posts.Add(1)
				case got.Method == http.MethodGet && id >= 1 && id <= 9 && got.Header.Get("Authorization") == "Bearer key":
					gets.Add(1)
				default:
					w.WriteHeader(http.StatusBadRequest)
				}
			}))
			defer service.Close()
			s := &server{host: strings.TrimPrefix(service.URL, "http://"), store: store{key: "key"}}
			got, err := client(t.Context(), r, s, 1)
			sent := int(gets.Load() + posts.Load()) // wrk does not count the request that is open at its end
			share := 100 * int(posts.Load()) / max(sent, 1)
			if err != nil || got.requests != sent && got.requests != sent-1 || share < r.request.posts-20 || share > r.request.posts+20 {
				t.Fatalf("got %+v, %v, of %d requests, of which %d %% are POSTs", got, err, sent, share)
			}
			s.key = "" // an invalid request
			if got, err := client(t.Context(), r, s, 1); r.request.posts == 0 && err == nil {
				t.Errorf("got %+v of failed requests, want an error", got)
			}
		})
	}
}
