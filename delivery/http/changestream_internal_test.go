package http

import (
	"context"
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"example.com/petstore/domain"
)

// TestReadOfAStreamDoesNotJoinAnEarlierOne expects that a stream that was woken reads for itself: an
// earlier read may lack the change for which it was woken.
func TestReadOfAStreamDoesNotJoinAnEarlierOne(t *testing.T) {
	t.Parallel()
	calls, end := make(chan struct{}, 3), make(chan struct{})
	s := newChangeStreams(&Service{Changes: blockedChanges{calls: calls, end: end}}, &Options{})
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

// A caller that disconnects before its turn and connects again waits for the same turn.
func TestTurnsOfACallerAreThoseOfAllItsStreams(t *testing.T) {
	t.Parallel()
	s := newChangeStreams(&Service{Numbers: func(context.Context) (domain.Numbers, error) { return domain.Numbers{}, nil }}, &Options{})
	s.backlogs.limit = rate.Every(time.Hour)
	for i := range 3 {
		stream := s.add("ann")
		stream.turn(&changeEvents{behind: streamBacklog + 1})
		if delay := stream.reserved.Delay().Round(time.Hour); delay != time.Duration(min(i, 1))*time.Hour {
			t.Errorf("stream %d: got its turn in %s, want now for the first and in an hour for the others", i+1, delay)
		}
		s.remove(stream)
	}
}

type blockedChanges struct {
	Changes
	calls, end chan struct{}
}

func (b blockedChanges) List(context.Context, domain.PageRequest) (domain.ChangePage, error) {
	b.calls <- struct{}{}
	<-b.end
	return domain.ChangePage{}, nil
}
