package file

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// delimiters has the characters that may separate columns.
const delimiters = ",;\t"

var (
	errCSVRowTooLong  = fmt.Errorf("%w, or close a quote that is open in it", errRowTooLong)
	errQuoteNotClosed = errors.New("a quote that is opened in this row is not closed: close it; " +
		`if it belongs to the value, quote the field, and write "" for the quote`)
)

// A csvReader reads CSV.
type csvReader struct {
	options Options
	text    rowText
	csv     *csv.Reader    // reads text
	lines   int            // the number of lines that have been read
	skipped bool           // whether a line above the header has a text
	header  string         // the text of the header
	columns map[string]int // the index of each column, nil until the header has been read
	used    int            // the number of columns up to the last one in columns
	width   int            // the number of all columns
}

func newCSVReader(in *bufio.Reader, o Options) *csvReader {
	start, _ := in.Peek(bufferSize) // an error is returned by read
	above, delimiter := o.findHeader(start)
	r := &csvReader{options: o, text: rowText{in: in}, lines: above, skipped: skipLines(in, above)}
	r.csv = csv.NewReader(bufio.NewReaderSize(&r.text, bufferSize))
	r.csv.Comma = rune(delimiter)
	r.csv.FieldsPerRecord = -1 // read checks the number of fields
	r.csv.ReuseRecord = true
	return r
}

func (r *csvReader) read() (Row, error) {
	if r.columns == nil {
		if err := r.readHeader(); err != nil {
			return Row{}, err
		}
	}
	row, fields, err := r.next()
	if err != nil {
		return row, err
	}
	hint := ": a quote may not be closed"
	fields = trimEmpty(fields, r.width)
	if row.Rule == "" && (len(fields) < r.used || len(fields) > r.width) {
		row.Rule = fmt.Sprintf("the row has %d fields, the header has %d columns", len(fields), r.width)
	}
	if row.Rule == "" {
		field := func(column string) string {
			if i, found := r.columns[column]; found {
				return fields[i]
			}
			return ""
		}
		name := strings.Clone(unguard(field("name"))) // otherwise it would keep the memory of the whole row
		if r.options.Categories {
			row.Category, err = parseCategory(field("id"), name)
		} else {
			row.Pet, err = parsePet(field("id"), name, field("categoryId"), field("status"))
		}
		row.Rule, hint = ruleOf(err), ""
	}
	if end := row.Line + int64(countLines(row.Text)); end > row.Line && row.Rule != "" {
		row.Rule += fmt.Sprintf(" (the row ends in line %d%s)", end, hint)
	}
	return row, nil
}

// trimEmpty removes empty fields from the end of fields, as long as there are more than n. Spreadsheets write such
// fields for columns that were used once.
func trimEmpty(fields []string, n int) []string {
	for len(fields) > n && fields[len(fields)-1] == "" {
		fields = fields[:len(fields)-1]
	}
	return fields
}

func notBlank(field string) bool { return strings.TrimSpace(field) != "" }

// next returns the next row that has a field that is not blank, and its fields. The fields are valid until the next
// call. If the row is not UTF-8, or if encoding/csv rejects it, the row has a Rule. But a quote that is not closed is
// an error: encoding/csv has then read the rest of the file.
func (r *csvReader) next() (row Row, fields []string, err error) {
	for err == nil && !slices.ContainsFunc(fields, notBlank) {
		before := r.csv.InputOffset()
		fields, err = r.csv.Read()
		text := r.text.take(int(r.csv.InputOffset() - before))
		end := r.lines + countLines(text)
		for bytes.HasPrefix(text, []byte("\n")) || bytes.HasPrefix(text, []byte("\r\n")) { // encoding/csv skips empty lines
			_, text, _ = bytes.Cut(text, []byte("\n"))
		}
		row.Line = int64(end - countLines(text) + 1)
		row.Text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
		r.lines = end
		switch {
		case r.text.err != nil:
			return row, nil, lineError(row.Line, r.text.err)
		case errors.Is(err, io.EOF):
			return row, nil, err
		case len(row.Text) > MaxRow:
			return row, nil, lineError(row.Line, errCSVRowTooLong)
		}
	}
	if syntax, ok := errors.AsType[*csv.ParseError](err); ok {
		switch {
		case errors.Is(err, csv.ErrBareQuote):
			row.Rule = `a quote is within a field: quote the field, and write "" for the quote`
		case isQuote(row.Text, syntax.Line-syntax.StartLine, syntax.Column-1):
			row.Rule = `text follows a closing quote: write "" for a quote within a quoted field`
		default: // encoding/csv has reached the end of the file within a quoted field
			return row, nil, lineError(row.Line, errQuoteNotClosed)
		}
	}
	if !utf8.Valid(row.Text) {
		row.Rule = notUTF8
	}
	return row, fields, nil
}

// isQuote reports whether the character at an index of a line of text is a quote.
func isQuote(text []byte, line, index int) bool {
	lines := bytes.Split(text, []byte("\n"))
	return line < len(lines) && index < len(lines[line]) && lines[line][index] == '"'
}

func countLines(text []byte) int { return bytes.Count(text, []byte("\n")) }

// A rowText is the io.Reader of a csv.Reader. It keeps the text of the current row, and limits its size.
type rowText struct {
	in    io.Reader
	kept  []byte
	taken int   // how many bytes of kept have been taken
	err   error // an error other than io.EOF, or nil
}

// take returns the next n bytes of the text. They are valid until the next call of Read.
func (t *rowText) take(n int) []byte {
	t.taken += n
	return t.kept[t.taken-n : t.taken]
}

// Read implements io.Reader.
func (t *rowText) Read(p []byte) (int, error) {
	t.kept, t.taken = t.kept[:copy(t.kept, t.kept[t.taken:])], 0
	if t.err == nil && len(t.kept) > MaxRow+len("\r\n") {
		t.err = errCSVRowTooLong
	}
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.in.Read(p)
	t.kept = append(t.kept, p[:n]...)
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}
