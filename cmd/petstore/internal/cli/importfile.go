package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// openInput opens the file to import, which may be read more than once. Standard input, or
// a path that is not a regular file, is copied to a temporary file without a name. openInput
// returns when ctx ends, also while it waits for data.
func openInput(ctx context.Context, path string, stdin io.Reader) (*os.File, error) {
	var input *os.File
	done := make(chan error, 1)
	go func() {
		var err error
		input, err = openOrCopy(path, stdin)
		done <- err
	}()
	select {
	case err := <-done:
		return input, err
	case <-ctx.Done():
		return nil, errors.New("interrupted: this run stored nothing")
	}
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
func copyToTemp(from io.Reader) (_ *os.File, err error) {
	temp, err := os.CreateTemp("", "petstore-import-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = temp.Close()
		}
	}()
	if err := os.Remove(temp.Name()); err != nil {
		return nil, err
	}
	if _, err := io.Copy(temp, from); err != nil {
		return nil, fmt.Errorf("copy the input to a temporary file: %w; the environment variable TMPDIR names another folder", err)
	}
	return temp, nil
}
