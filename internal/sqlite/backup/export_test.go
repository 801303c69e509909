//go:build cgo

package backup

import (
	"context"
	"time"
)

// ReplaceKilled runs the steps of Replace before a step, as if the process were killed then. It reports whether
// there is a step with this number.
func ReplaceKilled(ctx context.Context, path, with string, now time.Time, step int) (bool, error) {
	r := newReplacement(path, with, now, false)
	steps := r.steps()
	for _, run := range steps[:min(step, len(steps))] {
		if err := run(ctx); err != nil {
			return true, err
		}
	}
	return step < len(steps), nil
}
