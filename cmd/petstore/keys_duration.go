package main

import (
	"errors"
	"fmt"
	"time"

	"example.com/petstore/config"
	"example.com/petstore/domain"
)

// durationFlag returns the function that sets d to the value of a flag, which must be from
// minimum to domain.MaxKeySpan.
func durationFlag(d *time.Duration, minimum time.Duration) func(string) error {
	return func(text string) error {
		parsed, err := config.ParseDuration(text)
		if err != nil {
			return errors.New("must be a duration such as 90d, 36h or 30m")
		}
		if parsed < minimum || parsed > domain.MaxKeySpan {
			return fmt.Errorf("must be from %s to %dd", minimum, domain.MaxKeySpan/day)
		}
		*d = parsed
		return nil
	}
}

const day = 24 * time.Hour
