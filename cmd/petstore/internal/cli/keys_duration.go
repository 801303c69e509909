package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/domain/apikey"
)

// durationFlag returns the function that sets d to the value of a flag, which must be from
// minimum to apikey.MaxSpan.
func durationFlag(d *time.Duration, minimum time.Duration) func(string) error {
	return func(text string) error {
		parsed, err := parseDuration(text)
		if err != nil {
			return err
		}
		if parsed < minimum || parsed > apikey.MaxSpan {
			return fmt.Errorf("must be from %s to %dd", minimum, apikey.MaxSpan/day)
		}
		*d = parsed
		return nil
	}
}

const day = 24 * time.Hour

// parseDuration parses a number of days of 24 hours, such as 90d, or a duration in the
// format of time.ParseDuration, such as 36h or 1h30m.
func parseDuration(text string) (time.Duration, error) {
	invalid := errors.New("must be a duration such as 90d, 36h or 30m")
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16) // so many days do not overflow
		if err != nil {
			return 0, invalid
		}
		return time.Duration(n) * day, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, invalid
	}
	return d, nil
}
