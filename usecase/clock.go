package usecase

import "time"

// Now returns the current time in the form in which it is stored: UTC, in milliseconds.
func Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) } //nolint:forbidigo // the clock that is injected
