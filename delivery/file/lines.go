package file

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	// MaxRow is the maximum size of a row in bytes, which limits the memory of a Reader.
	MaxRow = 4 << 20
	// bufferSize is how many bytes are read or written at once.
	bufferSize = 64 << 10
	// byteOrderMark is U+FEFF, with which some programs begin a text.
	byteOrderMark = "\ufeff"
)

var errRowTooLong = errors.New("the row is larger than 4 MiB: shorten it")

// A lineReader reads the lines of a file.
type lineReader struct {
	in           *bufio.Reader
	number       int64 // of the last line
	unterminated bool  // the last line has no line end
}

func newLineReader(in io.Reader) lineReader {
	l := lineReader{in: bufio.NewReaderSize(in, bufferSize)}
	if mark, err := l.in.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = l.in.Discard(len(mark)) // which is buffered
	}
	return l
}

// append appends the next line, with its line end. It returns errRowTooLong if the result
// would be larger than MaxRow, and io.EOF at the end of the file.
func (l *lineReader) append(to []byte) ([]byte, error) {
	before := len(to)
	for {
		part, err := l.in.ReadSlice('\n')
		to = append(to, part...)
		switch {
		case len(trimLineEnd(to)) > MaxRow:
			return to, errRowTooLong
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(to) > before:
			l.unterminated = true
		case err != nil:
			return to, err
		}
		l.number++
		return to, nil
	}
}

// trimLineEnd returns a text without the line end at its end.
func trimLineEnd(text []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
}
