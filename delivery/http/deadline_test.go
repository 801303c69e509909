package http

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestDeadlineEndsWhoeverWaits(t *testing.T) {
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
				t.Errorf("ended with %v", child.Err())
			}
		})
	}
	wait.Wait()
	if at, ok := d.Deadline(); !ok || time.Until(at) > 0 {
		t.Errorf("got the deadline %v, %t", at, ok)
	}
}

func TestDeadlineEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	type key struct{}
	request, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	d := &deadline{Context: request, at: time.Now().Add(time.Hour)}
	if d.Value(key{}) != "value" || d.Err() != nil || d.Value(key{}) != "value" {
		t.Error("a value is lost, or the context has ended")
	}
	cancel()
	<-d.Done()
	if !errors.Is(d.Err(), context.Canceled) {
		t.Errorf("ended with %v", d.Err())
	}
	unused := &deadline{Context: t.Context(), at: time.Now().Add(time.Hour)}
	unused.end()
	if unused.Err() != nil || unused.timed.Load() != nil {
		t.Error("a timer was set though nobody waited")
	}
}
