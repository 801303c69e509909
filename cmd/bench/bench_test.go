package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"example.com/petstore/internal/engine"
	"example.com/petstore/internal/test/postgrestest"
	"example.com/petstore/repository"
	"example.com/petstore/repository/postgres"
	"example.com/petstore/repository/sqlite"
)

// The format is defined in golang.org/design/14313-benchmark-format.
func TestResultIsWrittenAsBenchmark(t *testing.T) {
	t.Parallel()
	r := result{requests: 40_000, rate: 20_000, mean: 3 * time.Millisecond, p99: 8 * time.Millisecond, cpu: 38 * time.Microsecond}
	for atRate, want := range map[bool]string{
		false: "BenchmarkPost/server=gorm\t40000\t50000 ns/op\t20000 req/s\t38000 cpu-ns/op\t8000000 p99-ns",
		true:  "BenchmarkPost/server=gorm\t40000\t3000000 ns/op\t20000 req/s\t38000 cpu-ns/op\t8000000 p99-ns",
	} {
		if got := r.line("Post/server=gorm", atRate); got != want {
			t.Errorf("at a rate %v: got %q, want %q", atRate, got, want)
		}
	}
}

func TestSummaryComparesTheRounds(t *testing.T) {
	t.Parallel()
	before := []result{{100, 100, 4e6, 6e6, 40}, {300, 300, 2e6, 8e6, 10}, {200, 200, 3e6, 7e6, 30}}
	after := []result{{200, 200, 2e6, 5e6, 20}, {900, 900, 1e6, 4e6, 2}, {500, 500, 1e6, 6e6, 30}}
	for want, r := range map[string]row{
		"| `Post` | 200/s | 500/s | 2.50 | 2.00 |":                 {name: "Post", clients: 64},
		"| `Lone` | 3.00 ms | 1.00 ms | 2.50 | 2.00 |":             {name: "Lone", clients: 1},
		"| `Rate` | 3.00, 7.00 ms | 1.00, 5.00 ms | 2.00 | 2.00 |": {name: "Rate", clients: 64, rate: vegeta.Rate{Freq: 500, Per: time.Second}},
	} {
		if got := summary(r, before, after); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestServersAreMeasuredInTurn(t *testing.T) {
	t.Parallel()
	var got []string
	err := inTurn([]*server{{label: "a"}, {label: "b"}}, 3, func(s *server, round int) error {
		got = append(got, s.label+strconv.Itoa(round))
		return nil
	})
	if want := []string{"a1", "b1", "b2", "a2", "a3", "b3"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestParseWrkRejectsFailedRequests(t *testing.T) {
	t.Parallel()
	const good = "Running 1s test\n" + `{"requests":200,"duration":2000000,"failures":0,"mean":612.5,"p99":870}` + "\n"
	want := result{requests: 200, rate: 100, mean: 612500, p99: 870 * time.Microsecond}
	if got, err := parseWrk([]byte(good)); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for want, output := range map[string]string{
		"wrk: failed requests":          strings.Replace(good, `failures":0`, `failures":1`, 1),
		"wrk: failed requests\nRunning": strings.Replace(good, `requests":200`, `requests":0`, 1),
		"unexpected output of wrk":      "unable to connect to 127.0.0.1:1 Connection refused\n",
	} {
		if got, err := parseWrk([]byte(output)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %+v, %v, want the error %q", output, got, err, want)
		}
	}
}

// The script of wrk and the targeter of vegeta send the same requests, but only wrk sends idempotency keys.
func TestClientsSendTheRequests(t *testing.T) {
	t.Parallel()
	b := &bench{options: options{duration: time.Second}, script: "requests.lua"}
	for _, r := range []row{
		{name: "GET", request: request{path: listPath + "/", count: 9}},
		{name: "mix", request: request{path: listPath + "/7", posts: 50}},
		{name: "keys", request: request{posts: 100, keys: true, categories: 50}},
		{name: "GET at a rate", rate: vegeta.Rate{Freq: 200, Per: time.Second}, request: request{path: listPath + "/", count: 9}},
		{name: "mix at a rate", rate: vegeta.Rate{Freq: 200, Per: time.Second}, request: request{path: listPath + "/7", posts: 50}},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			client := b.attack
			if r.rate.Freq == 0 {
				client, r.clients = b.wrk, 1
			}
			var gets, posts atomic.Int64
			var keys, categories sync.Map
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, got *http.Request) {
				id, _ := strconv.Atoi(strings.TrimPrefix(got.URL.Path, listPath+"/"))
				_, repeated := keys.LoadOrStore(got.Header.Get("Idempotency-Key"), true)
				switch {
				case got.Method == http.MethodPost && got.URL.Path == listPath && got.ContentLength == int64(len(newPet)) &&
					(!r.request.keys || !repeated):
					categories.Store(categoryOf(got), true)
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
			sent := int(gets.Load() + posts.Load()) // wrk does not count the request that is in progress at its end
			share := 100 * int(posts.Load()) / max(sent, 1)
			if err != nil || got.requests != sent && got.requests != sent-1 || share < r.request.posts-20 || share > r.request.posts+20 {
				t.Fatalf("got %+v, %v, of %d requests, of which %d %% are POSTs", got, err, sent, share)
			}
			first, last, distinct := int64(math.MaxInt64), int64(0), 0
			categories.Range(func(category, _ any) bool {
				first, last, distinct = min(first, category.(int64)), max(last, category.(int64)), distinct+1
				return true
			})
			if want := max(r.request.categories, 1); r.request.posts > 0 && (first < 10 || last >= int64(10+want) || distinct < min(want, 5)) {
				t.Errorf("got %d categories from %d to %d, want up to %d from 10 on", distinct, first, last, want)
			}
			s.key = "" // makes the request invalid
			if got, err := client(t.Context(), r, s, 1); r.request.posts == 0 && err == nil {
				t.Errorf("got %+v of failed requests, want an error", got)
			}
		})
	}
}

// categoryOf returns the category of the animal in the body of a request, 0 for an invalid body.
func categoryOf(got *http.Request) int64 {
	var pet gormPet
	_ = json.NewDecoder(got.Body).Decode(&pet)
	return pet.CategoryID
}

func TestFlagsSelectRowsWithTheirServers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args    []string
		wantErr string
		rows    int
		want    string // the labels of the servers of the first row
	}{
		{args: []string{"all"}, wantErr: "unexpected argument; use flags only"},
		{args: []string{"-rounds", "0"}, wantErr: "-rounds is 0; use 1 or more"},
		{args: []string{"-only", "^list"}, wantErr: "-only ^list matches no row; see docs/benchmarks.md for the names"},
		{rows: 50, want: "gorm petstore petstore+metrics+log gin"},
		{args: []string{"-only", "^Post/"}, rows: 12, want: "gorm petstore"},
		{args: []string{"-against", "old", "-only", "^List/store=sqlite/load=64$", "-rounds", "7"}, rows: 1, want: "against petstore"},
	} {
		o, err := parse(test.args)
		if err != nil {
			if err.Error() != test.wantErr {
				t.Errorf("%v: got the error %v, want %q", test.args, err, test.wantErr)
			}
			continue
		}
		rows := o.rows()
		var labels []string
		for _, p := range rows[0].servers {
			labels = append(labels, p.label)
		}
		if got := strings.Join(labels, " "); test.wantErr != "" || len(rows) != test.rows || got != test.want {
			t.Errorf("%v: %d rows with %s, want %d with %s", test.args, len(rows), got, test.rows, test.want)
		}
		first, second := rows[0].servers[0], rows[0].servers[1]
		if o.against != "" && (first.petstore != "old" || second.petstore != o.petstore || !slices.Equal(first.settings, second.settings)) {
			t.Errorf("got %+v and %+v, want other programs with the same settings", first, second)
		}
	}
}

// The reference serves the same store as petstore.
func TestReferenceServesPets(t *testing.T) {
	t.Parallel()
	file, dsn := filepath.Join(t.TempDir(), "pets.db"), postgrestest.Start(t).NewDatabase(t)
	wantPets(t, sqlite.New(file), file)
	wantPets(t, postgres.New(dsn), "postgres:///?"+strings.ReplaceAll(dsn, " ", "&"))
}

// wantPets expects that the reference adds and finds an animal in a new store.
func wantPets(t *testing.T, e engine.Engine, dsn string) {
	t.Helper()
	store, err := repository.Open(t.Context(), e, repository.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := openStore(dsn, 1)
	if err != nil {
		t.Fatal(err)
	}
	const rex = `{"id":1,"name":"Rex","categoryId":10,"status":"available"}`
	for _, test := range []struct{ request, want string }{
		{"POST ", "201 " + rex},
		{"GET ", "200 [" + rex + "]"},
		{"GET ?limit=1&after=1", "200 []"},
		{"GET ?limit=0", "400 "},
		{"GET /1", "200 " + rex},
		{"GET /2", "404 "},
	} {
		method, target, _ := strings.Cut(test.request, " ")
		response := httptest.NewRecorder()
		ginAndGORM(db).ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), method, listPath+target, bytes.NewReader(request{}.body())))
		if got := strconv.Itoa(response.Code) + " " + response.Body.String(); got != test.want {
			t.Errorf("%s: got %s, want %s", test.request, got, test.want)
		}
	}
}

// TestStoreIsOfItsProgram expects that the program that serves a store also creates it, because another
// version may have another schema.
func TestStoreIsOfItsProgram(t *testing.T) {
	t.Parallel()
	b := &bench{scratch: t.TempDir(), options: options{petstore: "/missing"}}
	st, err := b.newStore(t.Context(), onSQLite, "/bin/echo")
	if err != nil || !strings.HasPrefix(st.key, "keys create ") {
		t.Errorf("got %+v and %v, want as key what the program has printed", st, err)
	}
}

func TestDelayedConnectionPassesOnLater(t *testing.T) {
	t.Parallel()
	echo, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		conn, err := echo.Accept()
		if err == nil {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(echo.Addr().String())
	const delay = 20 * time.Millisecond
	dsn, err := delayed(t.Context(), "postgres://127.0.0.1:"+port+"/bench", port, delay)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(dsn, "postgres://"), "/bench"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	start, answer := time.Now(), make([]byte, 4)
	if _, err := conn.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "ping" || time.Since(start) < 2*delay {
		t.Errorf("got %q, %v after %s, want ping after %s", answer, err, time.Since(start), 2*delay)
	}
}
