package main

import (
	"context"
	"time"
)

// A usage is what a server and its store have done since they were started.
type usage struct {
	server, postgres cpuTimes
	batches          int // commits of petstore
	transactions     int // of PostgreSQL
}

// cpuTimes are the CPU times of processes.
type cpuTimes map[pid]time.Duration

// since returns the CPU time between two times. That of a process that has ended is missing.
func (t cpuTimes) since(before cpuTimes) (used time.Duration) {
	for p := range t {
		used += t[p] - before[p]
	}
	return used
}

// usage returns the usage of a server with all its processes.
func (h *harness) usage(ctx context.Context, p *process) (u usage, err error) {
	u = usage{server: cpuTimes{}, postgres: cpuTimes{}}
	for _, one := range append([]*process{p}, p.replicas...) {
		if u.server[one.pid], err = one.pid.cpu(); err != nil {
			return u, err
		}
	}
	if !p.postgres {
		return u, nil
	}
	if u.batches, u.transactions, err = commits(ctx, p.store.dsn); err != nil {
		return u, err
	}
	processes, err := h.postgres.processes()
	for _, one := range processes {
		if used, err := one.cpu(); err == nil { // else its connection was closed just now
			u.postgres[one] = used
		}
	}
	return u, err
}

// addUsage adds what the requests of the sample have used.
func (s *sample) addUsage(before, after usage) {
	requests := time.Duration(s.requests)
	s.cpu, s.postgresCPU = after.server.since(before.server)/requests, after.postgres.since(before.postgres)/requests
	batches := after.batches - before.batches
	if batches > 0 {
		s.batch = float64(s.requests) / float64(batches)
	}
	if queries := after.transactions - before.transactions - batches; queries > 0 {
		s.perQuery = float64(s.requests) / float64(queries)
	}
}
