package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/domain"
)

// within reads a flag's span of time, from least to what a key may be given, into span.
func within(least time.Duration, span *time.Duration) func(string) error {
	return func(text string) error {
		read, err := parseSpan(text)
		if err != nil {
			return err
		}
		if read < least || read > domain.MaxKeySpan {
			return fmt.Errorf("must be from %s to %dd", least, domain.MaxKeySpan/day)
		}
		*span = read
		return nil
	}
}

const day = 24 * time.Hour

// parseSpan reads whole days, such as 90d, or what time.ParseDuration does, such as
// 36h or 1h30m. A day has 24 hours.
func parseSpan(text string) (time.Duration, error) {
	wrong := errors.New("must be a span of time such as 90d, 36h or 30m")
	if days, inDays := strings.CutSuffix(text, "d"); inDays {
		n, err := strconv.ParseUint(days, 10, 16) // 16 bits of days do not overflow
		if err != nil {
			return 0, wrong
		}
		return time.Duration(n) * day, nil
	}
	span, err := time.ParseDuration(text)
	if err != nil {
		return 0, wrong
	}
	return span, nil
}
