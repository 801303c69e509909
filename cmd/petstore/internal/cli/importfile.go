package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

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

// openInput opens the file to import, which may be read more than once. Standard input, or
// a path that is not a regular file, is copied to a temporary file without a name. openInput
// returns when ctx ends, also while it waits for data.
func openInput(ctx context.Context, path string, stdin io.Reader) (*os.File, error) {
	input, err := await(ctx, func() (*os.File, error) { return openOrCopy(path, stdin) })
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted: this run stored nothing")
	}
	return input, err
}

func openOrCopy(path string, stdin io.Reader) (*os.File, error) {
	if path == stdio {
		return copyToTemp(stdin)
	}
	input, err := os.Open(path) //nolint:gosec // the operator names the file
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s: correct the path", path)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("permission denied: let this user read %s", path)
	case err != nil:
		return nil, err
	}
	info, err := input.Stat()
	if err == nil && info.Mode().IsRegular() {
		return input, nil
	}
	defer input.Close()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder: name a file", path)
	}
	if err != nil {
		return nil, err
	}
	return copyToTemp(input)
}

// copyToTemp copies all data to a temporary file without a name.
func copyToTemp(from io.Reader) (*os.File, error) {
	temp, err := os.CreateTemp("", "petstore-import-")
	if err != nil {
		return nil, err
	}
	err = os.Remove(temp.Name())
	if err == nil {
		_, err = io.Copy(temp, from)
	}
	if err != nil {
		_ = temp.Close()
		return nil, fmt.Errorf("copy the input to a temporary file: %w; the environment variable TMPDIR names another folder", err)
	}
	return temp, nil
}
