// Package modeltest compares the service with a model of it: a property test sends random
// sequences of requests by several callers at once, and shrinks a sequence whose responses
// the model cannot explain.
package modeltest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"pgregory.net/rapid"

	"example.com/petstore/repository/engine"
)

// Run runs the test, with as many sequences as the flag -rapid.checks says, 100 by default.
// newEngine returns the engine of an empty database for each sequence. processes is how many
// stores have it open; with more than one, each list must contain the writes of all.
func Run(t *testing.T, processes int, newEngine func() engine.Engine) {
	gin.SetMode(gin.TestMode)
	rapid.Check(t, func(t *rapid.T) {
		s := newService(t, newEngine(), processes)
		defer s.close(t)
		m := &model{now: start, replays: map[string]replay{}}
		for range callers {
			s.createKey(t, m, 0, false)
		}
		t.Repeat(map[string]func(*rapid.T){
			"requests": func(t *rapid.T) { m = s.checkRequests(t, m) },
			"others":   func(t *rapid.T) { s.changeOthers(t, m) },
			"":         func(t *rapid.T) { s.checkRecords(t, m) },
		})
	})
}

const (
	callers     = 2 // at the start of a sequence
	maxRequests = 4 // at once
)

// changeOthers changes the clock, the processes or the API keys.
func (s *service) changeOthers(t *rapid.T, m *model) {
	switch rapid.SampledFrom([]string{"wait", "restart", "create key", "rotate key", "revoke key"}).Draw(t, "change") {
	case "wait":
		m.now = s.clock.advance(drawDuration(t))
	case "restart":
		s.restart(t, drawIndex(t, "process", len(s.processes)))
	case "create key":
		s.createKey(t, m, drawDuration(t), rapid.Bool().Draw(t, "read-only"))
	case "rotate key":
		s.rotateKey(t, m, drawIndex(t, "key", len(m.keys)), drawDuration(t))
	case "revoke key":
		s.revokeKey(t, m, drawIndex(t, "key", len(m.keys)))
	}
}

var start = sunset.Add(-48 * time.Hour)

// checkRequests sends requests at once. It returns the model after them, in an order in which
// it returns the same responses.
func (s *service) checkRequests(t *rapid.T, m *model) *model {
	operations := make([]operation, rapid.IntRange(1, maxRequests).Draw(t, "requests"))
	for i := range operations {
		operations[i] = drawOperation(t, m, len(s.processes))
	}
	responses := make([]response, len(operations))
	var wait sync.WaitGroup
	for i, o := range operations {
		wait.Go(func() { responses[i] = s.send(t.Context(), o) })
	}
	wait.Wait()
	if after := m.explain(operations, responses); after != nil {
		return after
	}
	for i, o := range operations {
		t.Logf("%v\n\tgot  %v\n\twant %v if it was the first", o, responses[i], m.clone().respond(o, responses[i].id))
	}
	t.Fatal("the model explains these responses in no order")
	return nil
}

// explain returns the model after the operations in an order that results in the responses,
// or nil if there is none.
func (m *model) explain(operations []operation, responses []response) *model {
	if len(operations) == 0 {
		return m
	}
	for i, o := range operations {
		after := m.clone()
		if after.respond(o, responses[i].id) != responses[i] {
			continue
		}
		rest := after.explain(slices.Concat(operations[:i], operations[i+1:]), slices.Concat(responses[:i], responses[i+1:]))
		if rest != nil {
			return rest
		}
	}
	return nil
}
