// Package file reads and writes animals and orders as the rows of a file: NDJSON, which is
// a JSON object in each line, or CSV (RFC 4180) with a header. The members, the columns and
// the rules are those of the API.
package file

import (
	"path/filepath"
	"strings"
)

// A Format is the format of a file.
type Format string

// The formats.
const (
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
)

// FormatOf returns the format for the extension of a file, .ndjson, .jsonl or .csv, or "".
func FormatOf(path string) Format {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".ndjson", ".jsonl":
		return NDJSON
	case ".csv":
		return CSV
	default:
		return ""
	}
}
