package http

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/delivery/internal/binding"
	"example.com/petstore/domain"
)

// SetStreamTimes sets how often the streams of changes check their authorization, and their timeout.
func (a *API) SetStreamTimes(check, timeout time.Duration) {
	a.streams.check, a.streams.timeout = check, timeout
}

func TestPageWithAPositionIsNotCachedForLong(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]bool{maxPageAge - time.Minute: true, maxPageAge: false} {
		page := encodedPage{expires: time.Now().Add(maxPageAge - age)}
		if got := page.valid(0, 0); got != want {
			t.Errorf("after %s: got %t, want %t", age, got, want)
		}
	}
}

// TestReadOfAStreamDoesNotJoinAnEarlierOne: the earlier one may lack a change for which the stream was woken.
func TestReadOfAStreamDoesNotJoinAnEarlierOne(t *testing.T) {
	t.Parallel()
	calls, end := make(chan struct{}, 3), make(chan struct{})
	list := func() (domain.ChangePage, error) {
		calls <- struct{}{}
		<-end
		return domain.ChangePage{}, nil
	}
	s := newChangeStreams(&Options{Changes: listingChanges(list)})
	s.committed = make(chan struct{})
	var reads sync.WaitGroup
	for range 2 {
		reads.Go(func() { _, _ = s.read(7) })
		<-calls
		s.wake(t.Context())
	}
	close(end)
	reads.Wait()
}

type listingChanges func() (domain.ChangePage, error)

func (f listingChanges) List(context.Context, domain.PageRequest) (domain.ChangePage, error) {
	return f()
}
func (listingChanges) Last(context.Context) (int64, error)     { return 0, nil }
func (listingChanges) Position(context.Context) (int64, error) { return 0, nil }

func TestDeadlineCancelsWaitingContexts(t *testing.T) {
	t.Parallel()
	d := &deadline{Context: t.Context(), at: time.Now().Add(time.Millisecond)}
	defer d.end()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			child, cancel := context.WithCancel(d)
			defer cancel()
			<-child.Done()
			if !errors.Is(child.Err(), context.DeadlineExceeded) || !errors.Is(d.Err(), context.DeadlineExceeded) {
				t.Errorf("got error %v, want %v", child.Err(), context.DeadlineExceeded)
			}
		})
	}
	wait.Wait()
	if at, ok := d.Deadline(); !ok || time.Until(at) > 0 {
		t.Errorf("got deadline %v, %t, want one that has passed", at, ok)
	}
}

func TestDeadlineIsCanceledWithRequest(t *testing.T) {
	t.Parallel()
	type key struct{}
	request, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	d := &deadline{Context: request, at: time.Now().Add(time.Hour)}
	if d.Value(key{}) != "value" || d.Err() != nil || d.Value(key{}) != "value" {
		t.Errorf("got value %v and error %v, want value and no error", d.Value(key{}), d.Err())
	}
	cancel()
	<-d.Done()
	if !errors.Is(d.Err(), context.Canceled) {
		t.Errorf("got error %v, want %v", d.Err(), context.Canceled)
	}
	unused := &deadline{Context: t.Context(), at: time.Now().Add(time.Hour)}
	unused.end()
	if unused.Err() != nil || unused.timed.Load() != nil {
		t.Error("got a timer, want none before the first call of Done")
	}
}

// Without a registry the series of each caller would only use memory.
func TestCallersAreCountedOnlyWithRegistry(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		registerer prometheus.Registerer
		want       int
	}{{nil, 0}, {prometheus.NewRegistry(), 2}} {
		a := &API{metrics: newMetrics("key_id"), measured: test.registerer != nil}
		for _, caller := range []string{"ann", "bob", "ann"} {
			c, _ := gin.CreateTestContext(httptest.NewRecorder())
			c.Request = httptest.NewRequestWithContext(&requestState{caller: caller, deadline: deadline{Context: t.Context()}}, http.MethodGet, "/v1/pets/1", http.NoBody)
			a.countDeprecated(c)
		}
		series := make(chan prometheus.Metric, 10)
		a.metrics.deprecated.Collect(series)
		if len(series) != test.want {
			t.Errorf("got %d series with registry %v, want %d", len(series), test.registerer, test.want)
		}
	}
}

// The default in the struct tag and firstPageQuery must have the same limit.
func TestEmptyQueryIsFirstPage(t *testing.T) {
	t.Parallel()
	q, err := binding.Query[listPetsQuery]("")
	if got := q.canonical(q.filters(), q.After); err != nil || got != firstPageQuery {
		t.Errorf("got %s and error %v, want %s", got, err, firstPageQuery)
	}
}
