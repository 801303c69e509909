package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// A Row is a row of a file.
type Row struct {
	Line int64      // the number of its first line, from 1
	Text []byte     // its text without the line end, valid until the next call of Read
	Pet  domain.Pet // with the ID that the file has, 0 for none
	Rule string     // the rule that the row violates, "" for a valid row
}

// A Reader reads the animals of a file. Empty lines and a byte order mark are skipped. It
// uses less than 100 MiB of memory.
type Reader struct {
	lines  lineReader
	csv    *csvParser // nil for NDJSON
	buffer []byte     // the text of the row
}

// NewReader returns a Reader of a file.
func NewReader(in io.Reader, format Format) *Reader {
	r := &Reader{lines: newLineReader(in)}
	if format == CSV {
		r.csv = newCSVParser()
	}
	return r
}

// Read returns the next row, or io.EOF. After any other error the rest of the file cannot
// be read: it has no valid header, a row larger than MaxRow or a quote that is not closed,
// its text is not UTF-8, or reading failed. The error names the line, if any.
func (r *Reader) Read() (Row, error) {
	if r.csv != nil && r.csv.columns == nil {
		if err := r.readHeader(); err != nil {
			return Row{}, err
		}
	}
	row, err := r.readText()
	if err != nil {
		return Row{}, err
	}
	if r.csv != nil {
		row.Pet, err = r.csv.pet(row.Text)
	} else {
		row.Pet, err = rest.DecodePet(row.Text)
	}
	if err != nil {
		row.Rule = r.ruleOf(row.Line, err)
	}
	return row, nil
}

// EndsWithLine reports, at the end of the file, whether its last line has a line end. The
// end of a file may be missing otherwise.
func (r *Reader) EndsWithLine() bool { return !r.lines.unterminated }

func (r *Reader) readHeader() error {
	row, err := r.readText()
	if errors.Is(err, io.EOF) {
		return errNoHeader
	}
	if err != nil {
		return err
	}
	if err := r.csv.parseHeader(row.Text); err != nil {
		return lineError(row.Line, err)
	}
	return nil
}

// readText reads the line and the text of the next row that is not blank.
func (r *Reader) readText() (row Row, err error) {
	for len(bytes.TrimSpace(row.Text)) == 0 {
		row.Line = r.lines.number + 1
		if r.buffer, err = r.lines.append(r.buffer[:0]); err != nil {
			return row, r.textError(row.Line, err)
		}
		if r.csv != nil {
			if err := r.readQuoted(); err != nil {
				return row, r.textError(row.Line, err)
			}
		}
		row.Text = trimLineEnd(r.buffer)
		if !utf8.Valid(row.Text) {
			return row, lineError(row.Line, errNotUTF8)
		}
	}
	return row, nil
}

// readQuoted reads the other lines of a row in which a quoted field contains line ends.
func (r *Reader) readQuoted() (err error) {
	quotes := quoteScanner{}
	for scanned := 0; quotes.openAfter(r.buffer[scanned:]); {
		scanned = len(r.buffer)
		r.buffer, err = r.lines.append(r.buffer)
		if errors.Is(err, io.EOF) {
			return errQuoteNotClosed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// textError returns the error of a row that cannot be read.
func (r *Reader) textError(line int64, err error) error {
	if errors.Is(err, io.EOF) {
		return err
	}
	if errors.Is(err, errRowTooLong) && r.csv != nil {
		err = fmt.Errorf("%w, or close a quote that is open in it", err)
	}
	return lineError(line, err)
}

func lineError(line int64, err error) error { return fmt.Errorf("line %d: %w", line, err) }

// ruleOf returns the rule for the error of the row that begins in a line and was read last.
func (r *Reader) ruleOf(line int64, err error) string {
	rule, hint := err.Error(), ": a quote may not be closed"
	if known, ok := errors.AsType[*domain.Error](err); ok {
		rule, hint = known.Message, "" // the fields of the row are valid
	}
	if r.lines.number > line {
		rule += fmt.Sprintf(" (the row ends in line %d%s)", r.lines.number, hint)
	}
	return rule
}

var errNotUTF8 = errors.New("the text is not valid UTF-8: convert the file to UTF-8")
