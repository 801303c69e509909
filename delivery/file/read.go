// Package file reads and writes animals and orders as the rows of a file: NDJSON, which is
// a JSON object in each line, or CSV (RFC 4180) with a header. The members, the columns and
// the rules are those of the API.
package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"example.com/petstore/delivery/internal/record"
	"example.com/petstore/domain"
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

const (
	// MaxRow is the maximum size of a row in bytes, which limits the memory of a Reader.
	MaxRow = 4 << 20
	// bufferSize is how many bytes are read or written at once.
	bufferSize = 64 << 10
	// ByteOrderMark is U+FEFF, with which some programs begin a text in UTF-8. Excel takes a CSV file without it for one in
	// another encoding.
	ByteOrderMark = "\ufeff"
)

// A Row is a row of a file.
type Row struct {
	Line int64      // the number of its first line, from 1
	Text []byte     // its text without the line end, valid until the next call of Read
	Pet  domain.Pet // with the ID that the file has, 0 for none
	Rule string     // the rule that the row violates, "" for a valid row
}

// A Reader reads the animals of a file. A byte order mark, empty lines, and what spreadsheets leave in
// CSV are skipped: rows of empty fields, and empty fields at the end of the header and of rows. The columns of CSV are
// separated by what the header has first, a comma, a semicolon or a tab. It uses less than 100 MiB of memory.
type Reader interface {
	// Read returns the next row, or io.EOF. After any other error the rest of the file cannot
	// be read: it has another format, no valid header, a row larger than MaxRow or a quote that is
	// not closed, or reading failed. The error names the line, if any.
	Read() (Row, error)
}

// NewReader returns a Reader of a file. With complete, each row must have an id, and a CSV file all columns.
func NewReader(in io.Reader, format Format, complete bool) Reader {
	text := bufio.NewReaderSize(in, bufferSize)
	if mark, err := text.Peek(len(ByteOrderMark)); err == nil && string(mark) == ByteOrderMark {
		_, _ = text.Discard(len(mark)) // which is buffered
	}
	for prefix, reader := range otherFormats {
		if start, _ := text.Peek(len(prefix)); string(start) == prefix {
			return reader
		}
	}
	var reader Reader = newLineReader(text)
	if format == CSV {
		reader = newCSVReader(text, complete)
	}
	if complete {
		return withIDs{reader}
	}
	return reader
}

// withIDs is a Reader of rows that must have an id.
type withIDs struct{ Reader }

// Read implements Reader.
func (w withIDs) Read() (Row, error) {
	row, err := w.Reader.Read()
	if err == nil && row.Rule == "" && row.Pet.ID == 0 {
		row.Rule = "id is required"
	}
	return row, err
}

// otherFormats has the first bytes of files that are often mistaken for CSV or NDJSON, with their
// format and the remedy.
var otherFormats = map[string]otherFormat{
	"PK\x03\x04":       "a workbook, or another archive: save it as CSV UTF-8",
	"\xd0\xcf\x11\xe0": "a workbook: save it as CSV UTF-8",
	"\xff\xfe":         "in UTF-16: save it as CSV UTF-8, or convert it to UTF-8",
	"\xfe\xff":         "in UTF-16: save it as CSV UTF-8, or convert it to UTF-8",
	"[":                "a JSON array: write each of its objects in a line of its own, as jq --compact-output .[] does",
}

// An otherFormat is the Reader of a file in such a format.
type otherFormat string

// Read implements Reader. It returns an error.
func (f otherFormat) Read() (Row, error) { return Row{}, errors.New("the file is " + string(f)) }

var errRowTooLong = errors.New("the row is larger than 4 MiB: shorten it")

const notUTF8 = "the text is not valid UTF-8: convert the file to UTF-8"

func lineError(line int64, err error) error { return fmt.Errorf("line %d: %w", line, err) }

// ruleOf returns the rule for the error of a row, "" for nil.
func ruleOf(err error) string {
	if err == nil {
		return ""
	}
	if known, ok := errors.AsType[*domain.Error](err); ok {
		return known.Message
	}
	return err.Error()
}

// A lineReader reads NDJSON.
type lineReader struct {
	lines  *bufio.Scanner
	number int64 // of the last line
}

func newLineReader(in io.Reader) *lineReader {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, bufferSize), MaxRow+len("\r\n"))
	return &lineReader{lines: lines}
}

// Read implements Reader.
func (l *lineReader) Read() (row Row, err error) {
	for len(bytes.TrimSpace(row.Text)) == 0 {
		l.number++
		more := l.lines.Scan()
		row = Row{Line: l.number, Text: l.lines.Bytes()}
		switch err := l.lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong), len(row.Text) > MaxRow:
			return row, lineError(row.Line, errRowTooLong)
		case err != nil:
			return row, lineError(row.Line, err)
		case !more:
			return row, io.EOF
		}
	}
	row.Pet, err = record.DecodePet(row.Text)
	if row.Rule = ruleOf(err); !utf8.Valid(row.Text) {
		row.Rule = notUTF8
	}
	return row, nil
}
