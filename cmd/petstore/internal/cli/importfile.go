package cli

import (
	"bytes"
	"context"
	"encoding/json"
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

// A rejectFile is the file of --rejects. A nil one does nothing.
type rejectFile struct {
	*newFile
	rows int
}

// A rejectedRow is a row that violates a rule, as it is written to a rejectFile.
type rejectedRow struct {
	Line int64  `json:"line"`
	Rule string `json:"rule"`
	Row  string `json:"row"`
}

// isRejected reports whether the row of a file is a rejectedRow.
func isRejected(row []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(row))
	decoder.DisallowUnknownFields()
	var rejected rejectedRow
	return decoder.Decode(&rejected) == nil && rejected.Line > 0 && rejected.Rule != ""
}

// createRejects creates a rejectFile, or returns nil for an empty path.
func createRejects(path string) (*rejectFile, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // no file
	}
	created, err := createFile(path)
	return &rejectFile{newFile: created}, err
}

func (r *rejectFile) write(row file.Row) error {
	if r == nil {
		return nil
	}
	r.rows++
	encoder := json.NewEncoder(r.File)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(rejectedRow{Line: row.Line, Rule: row.Rule, Row: string(row.Text)})
}

// publish gives the file its name if it has any rows.
func (r *rejectFile) publish() error {
	if r == nil || r.rows == 0 {
		return nil
	}
	return r.newFile.publish()
}

// discard removes the file unless it was published.
func (r *rejectFile) discard() {
	if r != nil {
		r.newFile.discard()
	}
}
