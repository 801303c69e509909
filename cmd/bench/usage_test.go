package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUsageIsPerRequest(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	before := usage{server: cpuTimes{1: 10 * ms}, postgres: cpuTimes{7: 5 * ms, 8: 9 * ms}, batches: 3, transactions: 50}
	after := usage{server: cpuTimes{1: 30 * ms, 2: 20 * ms}, postgres: cpuTimes{7: 10 * ms, 9: 5 * ms}, batches: 13, transactions: 110}
	s := sample{requests: 100}
	s.addUsage(before, after)
	want := sample{requests: 100, cpu: 400 * time.Microsecond, postgresCPU: 100 * time.Microsecond, batch: 10, perQuery: 2}
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(sample{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUsageWithoutPostgres(t *testing.T) {
	t.Parallel()
	s := sample{requests: 10}
	s.addUsage(usage{server: cpuTimes{1: 0}}, usage{server: cpuTimes{1: time.Millisecond}})
	want := sample{requests: 10, cpu: 100 * time.Microsecond}
	if diff := cmp.Diff(want, s, cmp.AllowUnexported(sample{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
