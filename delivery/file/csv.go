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

// maxDelimiters is the approximate maximum number of delimiters in a line. It limits the memory of encoding/csv,
// which for a short field needs more bytes than the field has.
const maxDelimiters = 100_000

// delimiters has the characters that may separate columns. The name of no column contains one, so the first one in the
// header is the delimiter of the file.
const delimiters = ",;\t"

// petColumns are the columns of animals, in the order in which export writes them.
var petColumns = []string{"id", "name", "categoryId", "status"}

var (
	errNoHeader       = errors.New("the file is empty: its first line must be a header such as " + strings.Join(petColumns, ","))
	errCSVRowTooLong  = fmt.Errorf("%w, or close a quote that is open in it", errRowTooLong)
	errTooMany        = fmt.Errorf("the line has more than %d delimiters: remove them", maxDelimiters)
	errQuoteNotClosed = errors.New("a quote that is opened in this row is not closed: close it; " +
		`if it belongs to the value, quote the field, and write "" for the quote`)
)

// formula matches a text that a spreadsheet would run as a formula (owasp.org/www-community/attacks/CSV_Injection),
// also after quotes, and such a text with apostrophes before it, as guard returns it. Tabs and carriage returns, which
// also begin a formula, are not matched, because no valid name has them.
var formula = regexp.MustCompile(`^['"]*[=+\-@＝＋－＠]`)

// guard adds an apostrophe before each part of a text that a spreadsheet would run as a formula. The parts are those
// between delimiters, because a spreadsheet may split the file at another delimiter than that of the file. guard also
// adds an apostrophe before such a part that already has apostrophes, so that unguard can return every text unchanged.
func guard(text string) string {
	return mapParts(text, func(part string) string { return "'" + part })
}

// unguard is the inverse of guard. It leaves a formula without an apostrophe unchanged.
func unguard(guarded string) string {
	return mapParts(guarded, func(part string) string { return strings.TrimPrefix(part, "'") })
}

// mapParts calls fn with each part of a text that matches formula, and returns the text with the results.
func mapParts(text string, fn func(string) string) string {
	var mapped strings.Builder
	for text != "" {
		end := strings.IndexAny(text, delimiters) + 1
		if end == 0 {
			end = len(text)
		}
		part := text[:end]
		if formula.MatchString(part) {
			part = fn(part)
		}
		mapped.WriteString(part)
		text = text[end:]
	}
	return mapped.String()
}

// appendField appends a field of a CSV row. It quotes a field that has a delimiter of any file, not only of this one:
// otherwise a spreadsheet that expects another delimiter would split the field.
func appendField(to []byte, field string) []byte {
	if !strings.ContainsAny(field, delimiters+"\"\r\n") && !strings.HasPrefix(field, " ") {
		return append(to, field...)
	}
	to = append(to, '"')
	to = append(to, strings.ReplaceAll(field, `"`, `""`)...)
	return append(to, '"')
}

// appendRow appends a CSV row with its line end (RFC 4180).
func appendRow(to []byte, delimiter rune, fields []string) []byte {
	for i, field := range fields {
		if i > 0 {
			to = append(to, byte(delimiter))
		}
		to = appendField(to, field)
	}
	return append(to, "\r\n"...)
}

// A csvReader is the Reader of a CSV file.
type csvReader struct {
	text     rowText
	csv      *csv.Reader    // reads text
	lines    int            // the number of lines that have been read
	complete bool           // whether the header must have all columns
	columns  map[string]int // the index of each column, nil until the header has been read
}

func newCSVReader(in *bufio.Reader, complete bool) *csvReader {
	start, _ := in.Peek(bufferSize) // an error is returned by Read
	start = bytes.TrimLeft(start, " \t\r\n")
	delimiter := byte(',')
	if i := bytes.IndexAny(start, delimiters); i >= 0 {
		delimiter = start[i]
	}
	r := &csvReader{text: rowText{in: in, delimiter: delimiter}, complete: complete}
	r.csv = csv.NewReader(bufio.NewReaderSize(&r.text, bufferSize))
	r.csv.Comma = rune(delimiter)
	r.csv.FieldsPerRecord = -1 // Read checks the number of fields
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
		row.Pet, err = record.ParsePet(field("id"), unguard(field("name")), field("categoryId"), field("status"))
		row.Pet.Name = strings.Clone(row.Pet.Name) // otherwise it would keep the memory of the whole row
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

// readHeader reads the header. It must have the columns name and categoryId, or all columns if complete is true, and no
// other columns than petColumns.
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

// columnsRule returns the rule for the header, with a hint if the header seems to have another delimiter.
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

// A rowText is the io.Reader of a csv.Reader. It keeps the text of the current row, and limits its size.
type rowText struct {
	in        io.Reader
	delimiter byte
	kept      []byte
	taken     int   // how many bytes of kept have been taken
	err       error // an error other than io.EOF, or nil
}

// take returns the next n bytes of the text. They are valid until the next call of Read.
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
