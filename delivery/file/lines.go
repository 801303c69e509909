package file

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"example.com/petstore/delivery/internal/record"
)

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

// read implements rowReader.
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
	if err := checkText(row); err != nil {
		return row, err
	}
	row.Pet, err = record.DecodePet(row.Text)
	row.Rule = ruleOf(err)
	return row, nil
}
