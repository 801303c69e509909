package file

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/petstore/delivery/internal/record"
)

// maxDelimiters is about how many delimiters a line may have: encoding/csv needs more memory for a field
// than for its text.
const maxDelimiters = 100_000

// delimiters may separate the columns. No name of a column has one, so that the header shows which one does.
const delimiters = ",;\t"

// petColumns are the columns of animals, in the order in which they are written.
var petColumns = []string{"id", "name", "categoryId", "status"}

var (
	errNoHeader       = errors.New("the file is empty: its first line must be a header such as " + strings.Join(petColumns, ","))
	errCSVRowTooLong  = fmt.Errorf("%w, or close a quote that is open in it", errRowTooLong)
	errTooMany        = fmt.Errorf("the line has more than %d delimiters: remove them", maxDelimiters)
	errQuoteNotClosed = errors.New("a quote that is opened in this row is not closed: close it; " +
		`if it belongs to the value, quote the field, and write "" for the quote`)
)

// formula matches the texts that a spreadsheet would run as a formula (owasp.org/www-community/attacks/CSV_Injection), and
// those with apostrophes before one, which quoteFormula returns. No valid text begins with a tab or a carriage return.
var formula = regexp.MustCompile(`^'*[=+\-@＝＋－＠]`)

// quoteFormula returns a text that is no formula for a spreadsheet: with an apostrophe before it if it would be.
// It adds one to those that are there, so that unquoteFormula returns every text as it was.
func quoteFormula(text string) string {
	if formula.MatchString(text) {
		return "'" + text
	}
	return text
}

// unquoteFormula returns the text for which quoteFormula returned quoted. A formula without an apostrophe stays as it is.
func unquoteFormula(quoted string) string {
	if formula.MatchString(quoted) {
		return strings.TrimPrefix(quoted, "'")
	}
	return quoted
}

// A csvReader reads CSV.
type csvReader struct {
	text     rowText
	csv      *csv.Reader    // reads text
	lines    int            // that were read
	complete bool           // the header must have all columns
	columns  map[string]int // the index of each column of the header, nil before it was read
}

func newCSVReader(in *bufio.Reader, complete bool) *csvReader {
	start, _ := in.Peek(bufferSize) // the error is that of Read
	start = bytes.TrimLeft(start, " \t\r\n")
	delimiter := byte(',')
	if i := bytes.IndexAny(start, delimiters); i >= 0 {
		delimiter = start[i]
	}
	r := &csvReader{text: rowText{in: in, delimiter: delimiter}, complete: complete}
	r.csv = csv.NewReader(bufio.NewReaderSize(&r.text, bufferSize))
	r.csv.Comma = rune(delimiter)
	r.csv.FieldsPerRecord = -1 // Read checks it
	r.csv.ReuseRecord = true
	return r
}

// Read implements Reader.
func (r *csvReader) Read() (Row, error) {
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
	fields = trimEmpty(fields, len(r.columns))
	if row.Rule == "" && len(fields) != len(r.columns) {
		row.Rule = fmt.Sprintf("the row has %d fields, the header has %d columns", len(fields), len(r.columns))
	}
	if row.Rule == "" {
		field := func(column string) string {
			if i, found := r.columns[column]; found {
				return fields[i]
			}
			return ""
		}
		row.Pet, err = record.ParsePet(field("id"), unquoteFormula(field("name")), field("categoryId"), field("status"))
		row.Pet.Name = strings.Clone(row.Pet.Name) // which shares the memory of the whole row
		row.Rule, hint = ruleOf(err), ""
	}
	if end := row.Line + int64(countLines(row.Text)); end > row.Line && row.Rule != "" {
		row.Rule += fmt.Sprintf(" (the row ends in line %d%s)", end, hint)
	}
	return row, nil
}

// trimEmpty returns fields without the empty ones at the end, but not fewer than n. Spreadsheets write
// them for columns that were used once.
func trimEmpty(fields []string, n int) []string {
	for len(fields) > n && fields[len(fields)-1] == "" {
		fields = fields[:len(fields)-1]
	}
	return fields
}

func notBlank(field string) bool { return strings.TrimSpace(field) != "" }

// next returns the next row in which a field is not blank, and its fields, which are valid until the
// next call. The row has a Rule if it is not UTF-8 or if encoding/csv rejects it.
func (r *csvReader) next() (row Row, fields []string, err error) {
	for err == nil && !slices.ContainsFunc(fields, notBlank) {
		before := r.csv.InputOffset()
		fields, err = r.csv.Read()
		text := r.text.take(int(r.csv.InputOffset() - before))
		end := r.lines + countLines(text)
		for bytes.HasPrefix(text, []byte("\n")) || bytes.HasPrefix(text, []byte("\r\n")) { // which encoding/csv skips
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
		default: // the end of the file
			return row, nil, lineError(row.Line, errQuoteNotClosed)
		}
	}
	if !utf8.Valid(row.Text) {
		row.Rule = notUTF8
	}
	return row, fields, nil
}

// isQuote reports whether a text has a quote at an index in a line.
func isQuote(text []byte, line, index int) bool {
	lines := bytes.Split(text, []byte("\n"))
	return line < len(lines) && index < len(lines[line]) && lines[line][index] == '"'
}

func countLines(text []byte) int { return bytes.Count(text, []byte("\n")) }

// readHeader reads the header, which must have the columns name and categoryId, or all if complete, and no other
// than petColumns.
func (r *csvReader) readHeader() error {
	row, header, err := r.next()
	switch {
	case errors.Is(err, io.EOF):
		return errNoHeader
	case err != nil:
		return err
	case row.Rule != "":
		return lineError(row.Line, errors.New(row.Rule))
	}
	header = trimEmpty(header, 0)
	columns := make(map[string]int, len(header))
	for i, name := range header {
		if !slices.Contains(petColumns, name) {
			return lineError(row.Line, fmt.Errorf("the header has the unknown column %.100q: %s", name, r.columnsRule(header)))
		}
		if _, found := columns[name]; found {
			return lineError(row.Line, fmt.Errorf("the header has the column %s twice: %s", name, r.columnsRule(header)))
		}
		columns[name] = i
	}
	for _, name := range petColumns {
		if _, found := columns[name]; !found && (r.complete || name == "name" || name == "categoryId") {
			return lineError(row.Line, fmt.Errorf("the header has no column %s: %s", name, r.columnsRule(header)))
		}
	}
	r.columns = columns
	return nil
}

// columnsRule returns the rule of a header, with a hint if it seems to have another separator.
func (r *csvReader) columnsRule(header []string) string {
	rule := "the columns are name, categoryId and, optionally, id and status, in any order"
	if r.complete {
		rule = "the columns must be id, name, categoryId and status, in any order"
	}
	if len(header) == 1 && strings.Contains(header[0], "|") {
		rule += ", separated by commas, semicolons or tabs"
	}
	return rule
}

// A rowText is what a csv.Reader reads. It keeps the text of the row, and limits its memory.
type rowText struct {
	in        io.Reader
	delimiter byte
	kept      []byte
	taken     int   // of kept
	err       error // other than io.EOF
}

// take returns the next n bytes, valid until the next call of Read.
func (t *rowText) take(n int) []byte {
	t.taken += n
	return t.kept[t.taken-n : t.taken]
}

// Read implements io.Reader.
func (t *rowText) Read(p []byte) (int, error) {
	t.kept, t.taken = t.kept[:copy(t.kept, t.kept[t.taken:])], 0
	line := t.kept[bytes.LastIndexByte(t.kept, '\n')+1:]
	switch {
	case t.err != nil:
	case len(t.kept) > MaxRow+len("\r\n"):
		t.err = errCSVRowTooLong
	case bytes.Count(line, []byte{t.delimiter}) > maxDelimiters:
		t.err = errTooMany
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
