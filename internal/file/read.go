// Package file reads animals and categories, and writes animals, orders, categories and changes, as the rows of a file. The format is NDJSON,
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
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

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
	MaxRow = 512 << 10
	// bufferSize is how many bytes are read or written at once.
	bufferSize = 64 << 10
	// ByteOrderMark is U+FEFF. Some programs write it at the beginning of a text in UTF-8. Without it, Excel reads
	// a CSV file in another encoding.
	ByteOrderMark = "\ufeff"
)

// A Row is a row of a file.
type Row struct {
	Line     int64           // the number of the first line of the row, from 1
	Text     []byte          // the text without the line end, valid until the next call of Read
	Pet      domain.Pet      // the animal; ID is the id in the file, or 0 without one
	Category domain.Category // with Options.Categories: the category, perhaps without a name
	Rule     string          // the rule that the row violates, or "" for a valid row
}

// Options say how a Reader reads a file.
type Options struct {
	Categories  bool              // the file has categories instead of animals
	RequireID   bool              // each row must have an id
	AllColumns  bool              // the header of CSV must have all columns
	Titles      map[string]string // the titles of columns of CSV that have another title than their name
	Windows1252 bool              // the file is in Windows-1252 instead of UTF-8
	Report      func(text string) // is called for what the Reader ignores in CSV besides rows, unless it is nil
}

func (o Options) report(text string) {
	if o.Report != nil {
		o.Report(text)
	}
}

// A Reader reads the animals, or the categories, of a file. It skips a byte order mark and empty lines.
//
// In CSV the header is the first line with the columns name and categoryId, in any letter case and with blanks around.
// A Reader skips up to 20 lines above the header, ignores other columns, and skips rows of empty fields and empty fields at
// the end of rows, which spreadsheets write. A comma, semicolon or tab in the header is the delimiter.
type Reader struct {
	rows interface {
		read() (Row, error)
	}
	requireID bool
}

// NewReader returns a Reader of a file.
func NewReader(in io.Reader, format Format, o Options) *Reader {
	text := bufio.NewReaderSize(in, bufferSize)
	if o.Windows1252 {
		start, _ := text.Peek(bufferSize)
		if character, invalid := scan(start); character >= 0 && invalid < 0 {
			return &Reader{rows: unreadable{errors.New("the file is UTF-8: leave out --encoding windows-1252")}}
		}
		text = bufio.NewReaderSize(charmap.Windows1252.NewDecoder().Reader(text), bufferSize)
	}
	if mark, err := text.Peek(len(ByteOrderMark)); err == nil && string(mark) == ByteOrderMark {
		_, _ = text.Discard(len(mark)) // cannot fail, because Peek has buffered it
	}
	start, _ := text.Peek(bufferSize) // an error is returned by Read
	for prefix, what := range otherFormats {
		if bytes.HasPrefix(start, []byte(prefix)) {
			return &Reader{rows: unreadable{errors.New("the file is " + what)}}
		}
	}
	if bytes.Contains(start, []byte("\r")) && !bytes.Contains(start, []byte("\n")) {
		return &Reader{rows: unreadable{errors.New("the file has carriage returns alone as line ends: save it with newlines")}}
	}
	switch err := checkEncoding(start); {
	case format == NDJSON:
		return &Reader{newLineReader(text, o.Categories), o.RequireID}
	case err != nil: // the header may have another problem: both are named at once
		o.Report = nil
		decoded := bufio.NewReaderSize(charmap.Windows1252.NewDecoder().Reader(text), bufferSize)
		if headerErr := newCSVReader(decoded, o).readHeader(); headerErr != nil {
			err = fmt.Errorf("%w; %w", err, headerErr)
		}
		return &Reader{rows: unreadable{err}}
	}
	return &Reader{newCSVReader(text, o), o.RequireID}
}

// Read returns the next row, or io.EOF at the end of the file. A row that violates a rule is not an error, see Row.Rule.
// Any other error means that the rest of the file cannot be read: the file has another format or encoding, an invalid
// header, a row larger than MaxRow or a quote that is not closed, or the read failed. The error names the line if it is
// known.
func (r *Reader) Read() (Row, error) {
	row, err := r.rows.read()
	if err == nil && r.requireID && row.Rule == "" && row.Pet.ID == 0 {
		row.Rule = "id is required"
	}
	return row, err
}

// otherFormats has the first bytes of files that users often mistake for CSV or NDJSON, with their format and the remedy.
var otherFormats = map[string]string{
	"PK\x03\x04":       "a workbook, or another archive: save it as CSV UTF-8",
	"\xd0\xcf\x11\xe0": "a workbook: save it as CSV UTF-8",
	"\xff\xfe":         "in UTF-16: save it as CSV UTF-8, or convert it to UTF-8",
	"\xfe\xff":         "in UTF-16: save it as CSV UTF-8, or convert it to UTF-8",
	"[":                "a JSON array: write each of its objects in a line of its own, as jq --compact-output .[] does",
}

// unreadable is a file that cannot be read at all.
type unreadable struct{ err error }

func (u unreadable) read() (Row, error) { return Row{}, u.err }

// scan returns the indices of the first character beyond ASCII that is UTF-8, and of the first byte that is not, in the
// start of a file. An index is -1 if there is none.
func scan(start []byte) (character, invalid int) {
	character, invalid = -1, -1
	for i, size := 0, 0; i < len(start); i += size {
		if len(start) == bufferSize && !utf8.FullRune(start[i:]) {
			break // the last character is cut
		}
		var char rune
		char, size = utf8.DecodeRune(start[i:])
		switch {
		case size > 1 && character < 0:
			character = i
		case size == 1 && char == utf8.RuneError && invalid < 0:
			invalid = i
		}
	}
	return character, invalid
}

// checkEncoding returns an error if the start of a file is not UTF-8 but may be in Windows-1252 as a whole: none of its
// characters beyond ASCII is UTF-8, and all are defined in Windows-1252. The error has a line of it as an example.
func checkEncoding(start []byte) error {
	character, first := scan(start)
	undefined := func(c byte) bool { return charmap.Windows1252.DecodeByte(c) == utf8.RuneError }
	if character >= 0 || first < 0 || slices.ContainsFunc(start, undefined) {
		return nil
	}
	begin := bytes.LastIndexAny(start[:first], "\r\n") + 1
	line, _, _ := bytes.Cut(start[begin:], []byte("\n"))
	example, _ := charmap.Windows1252.NewDecoder().Bytes(line) // cannot fail, because each byte has a character
	return fmt.Errorf("the file is not UTF-8, but probably Windows-1252, in which it has the line %.60q: "+
		"add --encoding windows-1252, or save the file as CSV UTF-8", bytes.Trim(example, blank+`"`))
}

var errRowTooLong = errors.New("the row is larger than 512 KiB: shorten it")

const notUTF8 = "the text is not UTF-8: convert it, or add --encoding windows-1252 if the whole file is Windows-1252"

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
	lines      *bufio.Scanner
	categories bool  // Options.Categories
	number     int64 // the number of the last line that was read
}

func newLineReader(in io.Reader, categories bool) *lineReader {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, bufferSize), MaxRow+len("\r\n"))
	return &lineReader{lines: lines, categories: categories}
}

func (l *lineReader) read() (row Row, err error) {
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
	if l.categories {
		row.Category, err = decodeCategory(row.Text)
	} else {
		row.Pet, err = decodePet(row.Text)
	}
	if row.Rule = ruleOf(err); !utf8.Valid(row.Text) {
		row.Rule = notUTF8
	}
	return row, nil
}
