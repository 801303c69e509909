package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/petstore/delivery/file"
)

// stdio is the argument for standard input or standard output instead of a file.
const stdio = "-"

// addFormatFlag adds the flag --format.
func addFormatFlag(cmd *cobra.Command, format *file.Format, usage string) {
	cmd.Flags().Func("format", usage, func(text string) error {
		*format = file.Format(text)
		if !format.Known() {
			return errors.New(file.FormatRule)
		}
		return nil
	})
}

// formatOf returns the format of a file: the one of the flag --format, or else the one of its
// extension.
func formatOf(flag file.Format, path string) (file.Format, error) {
	if flag != "" {
		return flag, nil
	}
	if format := file.FormatOf(path); format != "" {
		return format, nil
	}
	return "", fmt.Errorf("the format of %s is not known: add --format ndjson or --format csv", nameOf(path))
}

// nameOf returns the name of a file to read for messages.
func nameOf(path string) string {
	if path == stdio {
		return "standard input"
	}
	return path
}

// An outcomeError is the error of a command that has done a part of its work.
type outcomeError struct {
	err     error
	outcome string
}

func (e *outcomeError) Error() string { return e.err.Error() + ": " + e.outcome }

func (e *outcomeError) Unwrap() error { return e.err }

// interruptedOr returns the error of a command with its outcome: that ctx ended, or else err.
func interruptedOr(ctx context.Context, err error, outcome string) error {
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return &outcomeError{err, outcome}
}
