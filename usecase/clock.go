package usecase

import "time"

// Now returns the current time as records have it: in UTC, in milliseconds.
func Now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) } //nolint:forbidigo // the clock that is injected
