package main

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// The format is golang.org/design/14313-benchmark-format.
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
