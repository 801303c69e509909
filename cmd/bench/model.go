package main

import (
	"math"
	"time"
)

// A kind of requests and what it does on PostgreSQL, for docs/scaling.md.
type kind struct {
	name   string  // of its scenario, after the prefix
	trips  float64 // round trips that a request that reads, or a batch, waits for
	locked float64 // those of a batch while it has the lock; 0 for a request that reads
}

// A request waits for a query for changes that starts after it has arrived, 1.5 round trips on
// average, and by id for a second query. A batch begins, adds the pets and commits; with keys
// it also deletes expired ones, claims them and stores the results. The lock is held after
// the first round trip.
var (
	kindList  = kind{name: "list, cached page", trips: 1.5}
	kindByID  = kind{name: "by id, not cached", trips: 2.5}
	kindPost  = kind{name: "POST, durable", trips: 3, locked: 2}
	kindKeyed = kind{name: "POST with Idempotency-Key", trips: 6, locked: 5}
)

// A cost is what requests of a kind take, measured with one process next to PostgreSQL.
type cost struct {
	kind
	server, postgres time.Duration // CPU time per request
	batch, perQuery  float64
}

// A model predicts rates, in requests per second.
type model struct {
	list, byID, post, keyed cost
	roundTrip, fsync        time.Duration
}

const (
	maxBatch   = 256 // requests in a batch of petstore
	share      = 0.7 // of a core that is used, so that requests do not queue for long
	coresEach  = 4   // of a process in the sizes
	writeShare = 0.05
)

// predict returns the rate of processes that share one core with PostgreSQL, each with a
// client of its own, and what limits it.
func (m model) predict(c cost, processes int, roundTrip time.Duration) (rate float64, limit string) {
	perRequest := (c.server + c.postgres).Seconds()
	waits := c.trips * roundTrip.Seconds()
	rate, limit = 1/perRequest, "core"
	atMost := func(other float64, name string) {
		if other < rate {
			rate, limit = other, name
		}
	}
	if c.locked == 0 {
		atMost(float64(processes)*connections/waits, "clients")
		return rate, limit
	}
	atMost(float64(processes)*c.batch/(waits+m.fsync.Seconds()+c.batch*perRequest), "writer")
	atMost(m.lockRate(c, c.batch, roundTrip), "lock")
	return rate, limit
}

// lockRate returns the rate of requests that write if one batch of all processes follows
// the other.
func (m model) lockRate(c cost, batch float64, roundTrip time.Duration) float64 {
	return batch / (c.locked*roundTrip.Seconds() + m.fsync.Seconds() + batch*c.postgres.Seconds())
}

// A size is what a number of requests per second needs, a twentieth of them POSTs and the
// others lists of cached pages.
type size struct {
	rate            float64
	processes       int     // of coresEach cores
	queries         float64 // for changes, per second
	primary         float64 // cores
	lock, lockKeyed float64 // share of the time at which a batch has the lock
}

func (m model) size(rate float64) size {
	reads, writes := rate*(1-writeShare), rate*writeShare
	server := reads*m.list.server.Seconds() + writes*m.keyed.server.Seconds()
	s := size{rate: rate, processes: max(2, int(math.Ceil(server/share/coresEach)))}
	// A process has one query at a time.
	s.queries = min(rate, float64(s.processes)/m.roundTrip.Seconds())
	s.primary = (s.queries*m.query().Seconds() + writes*m.keyed.postgres.Seconds()) / share
	s.lock = writes / m.lockRate(m.post, maxBatch, m.roundTrip)
	s.lockKeyed = writes / m.lockRate(m.keyed, maxBatch, m.roundTrip)
	return s
}

// query returns the CPU time of PostgreSQL for a query for changes, which is all that a list of
// a cached page needs.
func (m model) query() time.Duration {
	return time.Duration(float64(m.list.postgres) * m.list.perQuery)
}
