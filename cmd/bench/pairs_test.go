package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPairsArePrinted(t *testing.T) {
	t.Parallel()
	all := scenarios(0)
	rates := comparison{
		all[0].pair("bin/petstore", "bin/petstore-before"),
		[]sample{{rate: 72_100, p99: 3 * time.Millisecond, cpu: 13900}, {rate: 70_000, p99: 2 * time.Millisecond, cpu: 14100}, {rate: 71_400, p99: 4 * time.Millisecond, cpu: 14000}},
		[]sample{{rate: 70_000, p99: 3 * time.Millisecond, cpu: 14300}, {rate: 70_000, p99: 5 * time.Millisecond, cpu: 14300}, {rate: 70_000, p99: 4 * time.Millisecond, cpu: 14300}},
	}
	p99s := comparison{
		all[0].atHalfRate().pair("bin/petstore", "bin/petstore-before"),
		[]sample{{rate: 35_000, p99: 300 * time.Microsecond, cpu: 15000}},
		[]sample{{rate: 36_000, p99: 200 * time.Microsecond, cpu: 15000}},
	}
	var printed strings.Builder
	if err := printPairs(&printed, []comparison{rates, p99s}); err != nil {
		t.Fatal(err)
	}
	const want = `
list, cached page
                         requests/s  p99      CPU per request
  A bin/petstore         71,400      3.00 ms  14.0 µs
  B bin/petstore-before  70,000      4.00 ms  14.3 µs
  rate A/B: median 1.020, min 1.000, max 1.030; rounds [1.030 1.000 1.020]
  CPU A/B: median 0.979, min 0.972, max 0.986; rounds [0.972 0.986 0.979]

p99 at half rate: list, cached page
                         requests/s  p99      CPU per request
  A bin/petstore         35,000      0.30 ms  15.0 µs
  B bin/petstore-before  36,000      0.20 ms  15.0 µs
  p99 A/B: median 1.500, min 1.500, max 1.500; rounds [1.500]
  CPU A/B: median 1.000, min 1.000, max 1.000; rounds [1.000]
`
	if diff := cmp.Diff(want, printed.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
