package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3" // registers the driver sqlite3
)

// newStore returns a database with the rows of pets, as id,name,category,status, and of
// orders, as id,pet,status.
func newStore(t *testing.T, rows string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(t.TempDir(), "pets.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	statements := []string{"CREATE TABLE pets (id INTEGER, name, category_id INTEGER, status)", "CREATE TABLE orders (id INTEGER, pet_id INTEGER, status)"}
	for _, row := range strings.Fields(rows) {
		table := map[int]string{3: "pets", 2: "orders"}[strings.Count(row, ",")]
		statements = append(statements, "INSERT INTO "+table+" VALUES ('"+strings.ReplaceAll(row, ",", "','")+"')")
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// newTestSale returns the sale of rex, of which least steps were acknowledged at the times 1, 3 and 5,
// and most were sent, at the times 0, 2 and 4.
func newTestSale(least, most int, cancelled bool) *sale {
	s := newSale("rex", 7)
	s.cancelled, s.pet, s.order = cancelled, 1, 5
	for n := added; n <= most; n++ {
		s.steps[n].sent = int64(2*n - 2)
		if n <= least {
			s.steps[n].acknowledged = int64(2*n - 1)
		}
	}
	return s
}

func TestCheckComparesTheStoreWithTheLedger(t *testing.T) {
	t.Parallel()
	const available, pending, sold, placed, delivered = "1,rex,7,available ", "1,rex,7,pending ", "1,rex,7,sold ", "5,1,placed ", "5,1,delivered "
	delivery, cancellation := newTestSale(ended, ended, false), newTestSale(ended, ended, true)
	for name, test := range map[string]struct {
		sale *sale
		at   int64
		rows string
		want string // the lost, doubled and other differences
	}{
		"all is there":                {delivery, AtTheEnd, sold + delivered, "0 0 0"},
		"cancelled":                   {cancellation, AtTheEnd, available + "5,1,cancelled", "0 0 0"},
		"delivered, not cancelled":    {cancellation, AtTheEnd, sold + delivered, "0 0 1"},
		"all is lost":                 {delivery, AtTheEnd, "", "3 0 0"},
		"delivery lost":               {delivery, AtTheEnd, pending + placed, "1 0 0"},
		"order lost":                  {delivery, AtTheEnd, available, "2 0 0"},
		"not yet ordered":             {delivery, 1, available, "0 0 0"},
		"order sent":                  {delivery, 2, pending + placed, "0 0 0"},
		"order not yet sent":          {delivery, 1, pending + placed, "0 0 1"},
		"unknown pet not there":       {newTestSale(nothing, added, false), AtTheEnd, "", "0 0 0"},
		"unknown pet there":           {newTestSale(nothing, added, false), AtTheEnd, available, "0 0 0"},
		"unknown pet twice":           {newTestSale(nothing, added, false), AtTheEnd, available + "2,rex,7,available", "0 1 0"},
		"refused pet there":           {newTestSale(nothing, nothing, false), AtTheEnd, available, "0 0 1"},
		"refused order there":         {newTestSale(added, added, false), AtTheEnd, pending + placed, "0 0 1"},
		"sold twice":                  {delivery, AtTheEnd, pending + placed + "6,1,placed", "0 1 0"},
		"another id":                  {delivery, AtTheEnd, "2,rex,7,sold 5,2,delivered", "0 0 1"},
		"another category":            {delivery, AtTheEnd, "1,rex,8,sold " + delivered, "0 0 1"},
		"id not yet acknowledged":     {delivery, 0, "2,rex,7,available", "0 0 0"}, // a request that was repeated
		"order not yet acknowledged":  {delivery, 2, pending + "6,1,placed", "0 0 0"},
		"another order":               {delivery, AtTheEnd, sold + "6,1,delivered", "0 0 1"},
		"pet and order disagree":      {delivery, AtTheEnd, available + placed, "0 0 1"},
		"pet is sold without order":   {delivery, AtTheEnd, sold, "0 0 1"},
		"another pet that nobody has": {delivery, AtTheEnd, sold + delivered + "2,tom,7,available", "0 0 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New()
			l.add(test.sale)
			got, err := l.Check(t.Context(), newStore(t, test.rows), test.at, test.at)
			if err != nil {
				t.Fatal(err)
			}
			numbers := fmt.Sprint(len(got.Lost), len(got.Doubled), len(got.Problems))
			if numbers != test.want || (got.Err() == nil) != (test.want == "0 0 0") {
				t.Errorf("got %s, %v, want %s", numbers, got.Err(), test.want)
			}
		})
	}
}

// TestClientsRecordOutcomes sells one animal with a server that returns statuses one after the other to
// the requests with a path, and 201 to all others.
func TestClientsRecordOutcomes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		keyed, uncertain bool
		path             string
		statuses         []int
		least, most      int
		wrong            int
	}{
		"one order refused":              {true, false, "/v1/store/orders", []int{409}, ended, ended, 0},
		"both orders refused":            {true, false, "/v1/store/orders", []int{409, 409}, added, added, 1},
		"sold twice":                     {true, false, "/v1/store/orders", nil, ended, ended, 1},
		"valid animal refused":           {true, false, "/v1/pets", []int{400}, nothing, nothing, 1},
		"animal that others have":        {true, false, "/v1/pets", []int{409}, nothing, nothing, 1},
		"unavailable":                    {true, false, "/v1/pets", []int{503}, nothing, nothing, 0},
		"unavailable, perhaps stored":    {false, true, "/v1/pets", []int{503}, nothing, added, 0},
		"unknown, without a key":         {false, false, "/v1/pets", []int{0}, nothing, added, 0},
		"unknown, repeated with its key": {true, true, "/v1/pets", []int{503, 0, 201}, ended, ended, 1}, // both orders are acknowledged
		"unknown, then refused":          {true, true, "/v1/pets", []int{503, 400}, nothing, added, 1},
		"another server error":           {false, false, "/v1/pets", []int{502}, nothing, added, 1},
		"delivery repeated without key":  {false, true, "/v1/store/orders/5/deliver", []int{503}, ended, ended, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex // for statuses
			statuses := test.statuses
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				status := http.StatusCreated
				if r.URL.Path == test.path && len(statuses) > 0 {
					status, statuses = statuses[0], statuses[1:]
				}
				if status == 0 {
					panic(http.ErrAbortHandler) // closes the connection
				}
				if status == http.StatusServiceUnavailable {
					w.Header().Set("Retry-After", "1")
				}
				w.WriteHeader(status)
				fmt.Fprintln(w, `{"id":5}`)
			}))
			t.Cleanup(api.Close)
			c := NewClients(New(), api.URL, "key")
			c.Uncertain = test.uncertain
			s := newSale("rex", 1)
			s.keyed = test.keyed
			c.Ledger.add(s)
			c.sell(t.Context(), s)
			least, most := nothing, nothing
			for n, step := range s.steps {
				if step.acknowledged != never {
					least = n
				}
				if step.sent != never {
					most = n
				}
			}
			if least != test.least || most != test.most || len(c.Ledger.wrong) != test.wrong {
				t.Errorf("got the steps %d to %d and %q, want %d to %d and %d wrong responses", least, most, c.Ledger.wrong, test.least, test.most, test.wrong)
			}
		})
	}
}

func TestUnknownOutcomeEndsWithTheContextAndIsRetriedLater(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	fail := true
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fail {
			cancel()
			panic(http.ErrAbortHandler)
		}
		if strings.HasSuffix(r.Header.Get("Idempotency-Key"), "order0") {
			w.WriteHeader(http.StatusConflict)
		}
		fmt.Fprintln(w, `{"id":5}`)
	}))
	t.Cleanup(api.Close)
	c, s := NewClients(New(), api.URL, "key"), newSale("rex", 0)
	c.Ledger.add(s)
	if done := c.sell(ctx, s); done || !s.unknown {
		t.Errorf("got %t and %+v, want an unknown outcome", done, s)
	}
	fail = false
	c.Retry(t.Context())
	if counts := c.Ledger.Counts(); s.unknown || counts.Unknown != 1 || counts.Acknowledged != 3 || len(c.Ledger.wrong) > 0 {
		t.Errorf("got %+v, %+v and %q, want all acknowledged", s, counts, c.Ledger.wrong)
	}
}

func TestResponsesHaveGapsAndPercentiles(t *testing.T) {
	t.Parallel()
	start := time.Now().Add(-time.Minute)
	l := New()
	for i := range 100 {
		l.reads = append(l.reads, Response{start.Add(time.Duration(i) * 100 * time.Millisecond), time.Duration(100-i) * time.Millisecond})
	}
	if got := l.Reads(start.Add(8900 * time.Millisecond)); len(got) != 10 || got.P99() != 10*time.Millisecond || got.LongestGap(start).Round(time.Second) != 50*time.Second {
		t.Errorf("got %d reads, %v and %v", len(got), got.P99(), got.LongestGap(start))
	}
}
