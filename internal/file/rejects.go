package file

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Rejects writes rows of a file that violate a rule to another file, as they were read. The rule is the first column of CSV,
// with the title rule, or the first member of NDJSON, with the name rule. A Reader of that file ignores it, so that the rows
// can be corrected in their places.
type Rejects struct {
	out   io.Writer
	rows  *Reader
	line  []byte
	begun bool // whether a row was written
}

// NewRejects returns a Rejects for rows that a Reader returns.
func NewRejects(out io.Writer, rows *Reader) *Rejects { return &Rejects{out: out, rows: rows} }

// Write writes a row that violates a rule. The first row of CSV is preceded by the header of the file that is read.
func (r *Rejects) Write(row Row) error {
	rule := fmt.Sprintf("line %d: %s", row.Line, row.Rule)
	r.line = r.line[:0]
	if rows, ok := r.rows.rows.(*csvReader); ok {
		if !r.begun {
			r.line = rows.appendRejected(append(r.line, ByteOrderMark...), "rule", []byte(rows.header))
		}
		r.line = rows.appendRejected(r.line, rule, row.Text)
	} else {
		r.line = appendRejectedJSON(r.line, rule, row.Text)
	}
	r.begun = true
	_, err := r.out.Write(r.line)
	return err
}

func (r *csvReader) appendRejected(to []byte, rule string, row []byte) []byte {
	to = utf8.AppendRune(appendField(to, rule), r.csv.Comma)
	return append(append(to, row...), "\r\n"...)
}

// rejectedRule matches the rule that appendRejectedJSON has written.
var rejectedRule = regexp.MustCompile(`^\s*\{"rule":"(?:[^"\\]|\\.)*"\s*,?`)

// appendRejectedJSON appends a row with its rule. A row that is not an object becomes the member row.
func appendRejectedJSON(to []byte, rule string, row []byte) []byte {
	to = append(to, `{"rule":`...)
	to, _ = jsontext.AppendQuote(to, strings.ToValidUTF8(rule, "\ufffd"))
	object, isObject := bytes.CutPrefix(bytes.TrimSpace(rejectedRule.ReplaceAll(row, []byte("{"))), []byte("{"))
	switch {
	case !isObject:
		to, _ = jsontext.AppendQuote(append(to, `,"row":`...), strings.ToValidUTF8(string(row), "\ufffd"))
		to = append(to, '}')
	case bytes.HasPrefix(bytes.TrimSpace(object), []byte("}")):
		to = append(to, object...)
	default:
		to = append(append(to, ','), object...)
	}
	return append(to, '\n')
}
