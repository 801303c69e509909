package cli

import (
	"strings"
	"testing"
)

func TestProgressMayExceedTheTotal(t *testing.T) {
	t.Parallel()
	for total, want := range map[int]string{
		0: "3 of 3 animals\n",
		2: "3 of 3 animals\n",
		4: "3 of 4 animals\n6 of 6 animals\n",
	} {
		var out strings.Builder
		progress := newProgress(&out, "animals", total)
		for _, n := range []int{0, 3, 3} {
			progress.add(n)
		}
		if out.String() != want {
			t.Errorf("of %d: got %q, want %q", total, out.String(), want)
		}
	}
}
