//go:build !linux

package telemetry

import "errors"

// diskOf returns an error: the metrics of the disk are for Linux.
func diskOf(string) (disk, error) { return disk{}, errors.ErrUnsupported }
