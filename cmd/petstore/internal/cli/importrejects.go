package cli

import (
	"bufio"
	"bytes"
	"encoding/json"

	"example.com/petstore/delivery/file"
)

// A rejectFile is the file of --rejects. A nil one does nothing.
type rejectFile struct {
	file    *newFile
	out     *bufio.Writer
	encoder *json.Encoder
	rows    int
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
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriter(created)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return &rejectFile{file: created, out: out, encoder: encoder}, nil
}

func (r *rejectFile) write(row file.Row) error {
	if r == nil {
		return nil
	}
	r.rows++
	return r.encoder.Encode(rejectedRow{Line: row.Line, Rule: row.Rule, Row: string(row.Text)})
}

// publish gives the file its name if it has any rows.
func (r *rejectFile) publish() error {
	if r == nil || r.rows == 0 {
		return nil
	}
	if err := r.out.Flush(); err != nil {
		return err
	}
	return r.file.publish()
}

// discard removes the file unless it was published.
func (r *rejectFile) discard() {
	if r != nil {
		r.file.discard()
	}
}
