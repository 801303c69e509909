// Package file reads animals, and writes animals, orders and changes, as the rows of a file. The format is NDJSON,
// which is a JSON object in each line, or CSV (RFC 4180) with a header. The names of members and columns, and the
// rules, are as in the API.
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

	"example.com/petstore/domain"
)

// A Format is the format of a file.
type Format string

// The formats.
const (
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
)

// FormatOf returns the format for the extension of a file: .ndjson, .jsonl or .csv. For any other extension it
// returns "".
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
	// MaxRow is the maximum size of a row in bytes. It limits the memory of a Reader.
	MaxRow = 4 << 20
	// bufferSize is how many bytes are read or written at once.
	bufferSize = 64 << 10
	// ByteOrderMark is U+FEFF. Some programs write it at the beginning of a text in UTF-8. Without it, Excel reads
	// a CSV file in another encoding.
	ByteOrderMark = "\ufeff"
)

// A Row is a row of a file.
type Row struct {
	Line int64      // the number of the first line of the row, from 1
	Text []byte     // the text without the line end, valid until the next call of Read
	Pet  domain.Pet // the animal; ID is the id in the file, or 0 without one
	Rule string     // the rule that the row violates, or "" for a valid row
}

// A Reader reads the animals of a file. It skips a byte order mark and empty lines. In CSV it also skips rows of
// empty fields, and empty fields at the end of the header and of rows, which spreadsheets write. The delimiter of
// CSV is the first comma, semicolon or tab in the header. A Reader uses less than 100 MiB of memory.
type Reader interface {
	// Read returns the next row, or io.EOF at the end of the file. A row that violates a rule is not an error, see
	// Row.Rule. Any other error means that the rest of the file cannot be read: the file has another format, an
	// invalid header, a row larger than MaxRow, a line with too many delimiters or a quote that is not closed, or the
	// read failed. The error names the line if it is known.
	Read() (Row, error)
}

// NewReader returns a Reader of a file. If complete is true, each row must have an id, and a CSV file must have all
// columns.
func NewReader(in io.Reader, format Format, complete bool) Reader {
	text := bufio.NewReaderSize(in, bufferSize)
	if mark, err := text.Peek(len(ByteOrderMark)); err == nil && string(mark) == ByteOrderMark {
		_, _ = text.Discard(len(mark)) // cannot fail, because Peek has buffered it
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

// withIDs is a Reader that rejects rows without an id.
type withIDs struct{ Reader }

// Read implements Reader.
func (w withIDs) Read() (Row, error) {
	row, err := w.Reader.Read()
	if err == nil && row.Rule == "" && row.Pet.ID == 0 {
		row.Rule = "id is required"
	}
	return row, err
}

// otherFormats has the first bytes of files that users often mistake for CSV or NDJSON, with their format and the remedy.
var otherFormats = map[string]otherFormat{
	"PK\x03\x04":       "a workbook, or another archive: save it as CSV UTF-8",
	"\xd0\xcf\x11\xe0": "a workbook: save it as CSV UTF-8",
	"\xff\xfe":         "in UTF-16: save it as CSV UTF-8, or convert it to UTF-8",
	"\xfe\xff":         "in UTF-16: save it as CSV UTF-8, or convert it to UTF-8",
	"[":                "a JSON array: write each of its objects in a line of its own, as jq --compact-output .[] does",
}

// An otherFormat is the Reader of a file in another format: the text names the format and the remedy.
type otherFormat string

// Read implements Reader. It always returns an error.
func (f otherFormat) Read() (Row, error) { return Row{}, errors.New("the file is " + string(f)) }

var errRowTooLong = errors.New("the row is larger than 4 MiB: shorten it")

const notUTF8 = "the text is not valid UTF-8: convert the file to UTF-8"

func lineError(line int64, err error) error { return fmt.Errorf("line %d: %w", line, err) }

// ruleOf returns the Rule of a row for the error of package record, or "" for nil.
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
	number int64 // the number of the last line that was read
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
	row.Pet, err = decodePet(row.Text)
	if row.Rule = ruleOf(err); !utf8.Valid(row.Text) {
		row.Rule = notUTF8
	}
	return row, nil
}
