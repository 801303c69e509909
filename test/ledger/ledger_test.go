package ledger

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

func TestCheckComparesTheStoreWithTheLedger(t *testing.T) {
	t.Parallel()
	const (
		add       = "INSERT INTO pets (id, name, category_id, status) VALUES "
		available = add + "(1, 'rex', 7, 'available');"
		pending   = add + "(1, 'rex', 7, 'pending');"
		sold      = add + "(1, 'rex', 7, 'sold');"
		order     = "INSERT INTO orders (id, pet_id, status) VALUES "
		placed    = order + "(5, 1, 'placed');"
		delivered = order + "(5, 1, 'delivered');"
	)
	type steps struct {
		acknowledged, sent int
		cancelled          bool
	}
	delivery, cancellation, unknown, refused := steps{ended, ended, false}, steps{ended, ended, true}, steps{nothing, added, false}, steps{}
	for name, test := range map[string]struct {
		sale steps
		at   int64
		rows string
		want string // the lost, doubled and other differences
	}{
		"all is there":                {delivery, AtTheEnd, sold + delivered, "0 0 0"},
		"cancelled":                   {cancellation, AtTheEnd, available + order + "(5, 1, 'cancelled')", "0 0 0"},
		"delivered, not cancelled":    {cancellation, AtTheEnd, sold + delivered, "0 0 1"},
		"all is lost":                 {delivery, AtTheEnd, "", "3 0 0"},
		"delivery lost":               {delivery, AtTheEnd, pending + placed, "1 0 0"},
		"order lost":                  {delivery, AtTheEnd, available, "2 0 0"},
		"not yet ordered":             {delivery, 1, available, "0 0 0"},
		"order sent":                  {delivery, 2, pending + placed, "0 0 0"},
		"order not yet sent":          {delivery, 1, pending + placed, "0 0 1"},
		"unknown pet not there":       {unknown, AtTheEnd, "", "0 0 0"},
		"unknown pet there":           {unknown, AtTheEnd, available, "0 0 0"},
		"unknown pet twice":           {unknown, AtTheEnd, available + add + "(2, 'rex', 7, 'available')", "0 1 0"},
		"refused pet there":           {refused, AtTheEnd, available, "0 0 1"},
		"refused order there":         {steps{added, added, false}, AtTheEnd, pending + placed, "0 0 1"},
		"sold twice":                  {delivery, AtTheEnd, pending + placed + order + "(6, 1, 'placed')", "0 1 0"},
		"another id":                  {delivery, AtTheEnd, add + "(2, 'rex', 7, 'sold');" + order + "(5, 2, 'delivered')", "0 0 1"},
		"another category":            {delivery, AtTheEnd, add + "(1, 'rex', 8, 'sold');" + delivered, "0 0 1"},
		"id not yet acknowledged":     {delivery, 0, add + "(2, 'rex', 7, 'available')", "0 0 0"}, // a request that was repeated
		"order not yet acknowledged":  {delivery, 2, pending + order + "(6, 1, 'placed')", "0 0 0"},
		"another order":               {delivery, AtTheEnd, sold + order + "(6, 1, 'delivered')", "0 0 1"},
		"pet and order disagree":      {delivery, AtTheEnd, available + placed, "0 0 1"},
		"pet is sold without order":   {delivery, AtTheEnd, sold, "0 0 1"},
		"another pet that nobody has": {delivery, AtTheEnd, sold + delivered + add + "(2, 'tom', 7, 'available')", "0 0 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := New()
			s := l.newSale("rex", 7)
			s.cancelled, s.pet, s.order = test.sale.cancelled, 1, 5
			for n := added; n <= test.sale.sent; n++ { // at the times 0, 2 and 4, acknowledged at 1, 3 and 5
				s.steps[n].sent = int64(2*n - 2)
				if n <= test.sale.acknowledged {
					s.steps[n].acknowledged = int64(2*n - 1)
				}
			}
			db := harness.OpenSQLite(t, filepath.Join(t.TempDir(), "pets.db"))
			_, err := db.ExecContext(t.Context(),
				"CREATE TABLE pets (id, name, category_id, status); CREATE TABLE orders (id, pet_id, status);"+test.rows)
			testkit.Check(t, err)
			got, err := l.Check(t.Context(), db, test.at, test.at)
			testkit.Check(t, err)
			numbers := fmt.Sprint(len(got.Lost), len(got.Doubled), len(got.Problems))
			if numbers != test.want || (got.Err() == nil) != (test.want == "0 0 0") {
				t.Errorf("got %s, %v, want %s", numbers, got.Err(), test.want)
			}
		})
	}
}

// TestClientsRecordOutcomes sells one animal with a server that returns statuses one after the other to the requests with a path,
// and 201 to all others. For the status 0 the server closes the connection, and the client is stopped; then a sale that may be
// repeated is completed.
func TestClientsRecordOutcomes(t *testing.T) {
	t.Parallel()
	const pets, orders, cancel = "/v1/pets", "/v1/store/orders", "/v1/store/orders/5/cancel"
	for name, test := range map[string]struct {
		keyed, uncertain   bool
		path               string
		statuses           []int
		acknowledged, sent int
		wrong              int
	}{
		"one order refused":              {true, false, orders, []int{409}, ended, ended, 0},
		"both orders refused":            {true, false, orders, []int{409, 409}, added, added, 1},
		"sold twice":                     {true, false, orders, nil, ended, ended, 1},
		"valid animal refused":           {true, false, pets, []int{400}, nothing, nothing, 1},
		"animal that others have":        {true, false, pets, []int{409}, nothing, nothing, 1},
		"unavailable":                    {true, false, pets, []int{503}, nothing, nothing, 0},
		"unavailable, perhaps stored":    {false, true, pets, []int{503}, nothing, added, 0},
		"unknown, without a key":         {false, false, pets, []int{0}, nothing, added, 0},
		"unknown, repeated with its key": {true, true, pets, []int{503, 503, 201}, ended, ended, 1}, // both orders are acknowledged
		"unknown, completed later":       {true, false, pets, []int{0}, ended, ended, 1},
		"unknown, then refused":          {true, true, pets, []int{503, 400}, nothing, added, 1},
		"another server error":           {false, false, pets, []int{502}, nothing, added, 1},
		"cancellation, repeated":         {false, true, cancel, []int{503}, ended, ended, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
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
					stop()
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
			s := c.Ledger.newSale("rex", 0)
			s.keyed = test.keyed
			if done := c.sell(ctx, s); ctx.Err() != nil && (done || !s.unknown || c.Ledger.Counts().Unknown != 1) {
				t.Errorf("got %t, %+v and %v, want one unknown outcome", done, s, c.Ledger.Counts())
			}
			c.Retry(t.Context())
			acknowledged, sent := s.next()-1, nothing
			for n, step := range s.steps {
				if step.sent != never {
					sent = n
				}
			}
			if acknowledged != test.acknowledged || sent != test.sent || len(c.Ledger.wrong) != test.wrong {
				t.Errorf("got %d steps acknowledged, %d sent and %q, want %d, %d and %d wrong responses",
					acknowledged, sent, c.Ledger.wrong, test.acknowledged, test.sent, test.wrong)
			}
		})
	}
}

func TestResponsesHaveGapsAndPercentiles(t *testing.T) {
	t.Parallel()
	start := time.Now().Add(-time.Minute)
	l := New()
	for i := range 100 {
		l.count(http.MethodGet, 200, acknowledged,
			Response{start.Add(time.Duration(i) * 100 * time.Millisecond), time.Duration(100-i) * time.Millisecond})
	}
	if got := l.Reads(start.Add(9 * time.Second)); len(got) != 10 || got.P99() != 10*time.Millisecond ||
		got.LongestGap(start).Round(time.Second) != 50*time.Second {
		t.Errorf("got %d reads, %v and %v", len(got), got.P99(), got.LongestGap(start))
	}
}
