package cli

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90d": 90 * day, "0d": 0, "007d": 7 * day, "36h": 36 * time.Hour, "30m": 30 * time.Minute, "1h30m": 90 * time.Minute,
		"0": 0, "-1h": -time.Hour,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "90", "-1d", "+1d", "1.5d", "1d12h", "12h1d", "90 d", "90D", "65536d", "99999999999999h", "soon"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
