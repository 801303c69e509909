package file

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"example.com/petstore/domain"
)

const (
	// MaxRow is the maximum size of a row in bytes, which limits the memory of a Reader.
	MaxRow = 4 << 20
	// bufferSize is how many bytes are read or written at once.
	bufferSize = 64 << 10
	// byteOrderMark is U+FEFF, with which some programs begin a text.
	byteOrderMark = "\ufeff"
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
	rows rowReader
	last lastByte
}

// A rowReader reads the rows of a format, as Reader.Read does.
type rowReader interface{ read() (Row, error) }

// NewReader returns a Reader of a file.
func NewReader(in io.Reader, format Format) *Reader {
	r := &Reader{last: lastByte{in: in, value: '\n'}}
	text := bufio.NewReaderSize(&r.last, bufferSize)
	if mark, err := text.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = text.Discard(len(mark)) // which is buffered
	}
	if format == CSV {
		r.rows = newCSVReader(text)
	} else {
		r.rows = newLineReader(text)
	}
	return r
}

// Read returns the next row, or io.EOF. After any other error the rest of the file cannot
// be read: it has no valid header, a row larger than MaxRow or a quote that is not closed,
// its text is not UTF-8, or reading failed. The error names the line, if any.
func (r *Reader) Read() (Row, error) { return r.rows.read() }

// EndsWithLine reports, at the end of the file, whether its last line has a line end. The
// end of a file may be missing otherwise.
func (r *Reader) EndsWithLine() bool { return r.last.value == '\n' }

// A lastByte remembers the last byte that was read.
type lastByte struct {
	in    io.Reader
	value byte
}

// Read implements io.Reader.
func (l *lastByte) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	if n > 0 {
		l.value = p[n-1]
	}
	return n, err
}

var (
	errRowTooLong = errors.New("the row is larger than 4 MiB: shorten it")
	errNotUTF8    = errors.New("the text is not valid UTF-8: convert the file to UTF-8")
)

// checkText returns an error for a row that is not UTF-8.
func checkText(row Row) error {
	if !utf8.Valid(row.Text) {
		return lineError(row.Line, errNotUTF8)
	}
	return nil
}

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
