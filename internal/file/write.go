package file

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/petstore/domain"
	"example.com/petstore/internal/record"
)

// A Writer writes records of the type T to a file. The caller must call Flush at the end.
type Writer[T any] struct {
	out    *bufio.Writer
	line   []byte
	append func(line []byte, record T) ([]byte, error)
}

// NewPetWriter returns a Writer of animals. A CSV file begins with a header, and delimiter separates its columns: a
// comma, a semicolon or a tab. NDJSON ignores delimiter.
func NewPetWriter(out io.Writer, format Format, delimiter rune) *Writer[domain.Pet] {
	return newWriter(out, format, delimiter, record.PetOf, petColumns, func(fields []string, p domain.Pet) []string {
		return append(fields, strconv.FormatInt(p.ID, 10), guard(p.Name), strconv.FormatInt(p.CategoryID, 10), string(p.Status))
	})
}

// NewOrderWriter is NewPetWriter for orders.
func NewOrderWriter(out io.Writer, format Format, delimiter rune) *Writer[domain.Order] {
	columns := []string{"id", "petId", "status", "createdAt", "updatedAt"}
	return newWriter(out, format, delimiter, record.OrderOf, columns, func(fields []string, o domain.Order) []string {
		return append(fields, strconv.FormatInt(o.ID, 10), strconv.FormatInt(o.PetID, 10), string(o.Status),
			record.Timestamp(o.CreatedAt), record.Timestamp(o.UpdatedAt))
	})
}

// NewCategoryWriter is NewPetWriter for categories. A Reader reads what it writes.
func NewCategoryWriter(out io.Writer, format Format, delimiter rune) *Writer[domain.Category] {
	recordOf := func(c domain.Category) record.NamedCategory { return record.NamedCategory(c) }
	return newWriter(out, format, delimiter, recordOf, categoryColumns, func(fields []string, c domain.Category) []string {
		return append(fields, strconv.FormatInt(c.ID, 10), guard(c.Name))
	})
}

// NewChangeWriter returns a Writer of changes as NDJSON.
func NewChangeWriter(out io.Writer) *Writer[domain.RecordedChange] {
	return newWriter(out, NDJSON, 0, record.RecordedChangeOf, nil, nil)
}

func newWriter[T any, R record.Record](
	out io.Writer, format Format, delimiter rune, recordOf func(T) R, columns []string, appendFields func([]string, T) []string,
) *Writer[T] {
	w := &Writer[T]{out: bufio.NewWriterSize(out, bufferSize)}
	if format == CSV {
		var fields []string
		w.append = func(line []byte, record T) ([]byte, error) {
			fields = appendFields(fields[:0], record)
			return appendRow(line, delimiter, fields), nil
		}
		_, _ = w.out.Write(appendRow(nil, delimiter, columns)) // cannot fail, because the header fits into the buffer
		return w
	}
	w.append = func(line []byte, record T) ([]byte, error) {
		line, err := recordOf(record).AppendJSON(line)
		return append(line, '\n'), err
	}
	return w
}

// Write writes a record to a buffer. It also returns the error of an earlier record that could not be written to the file.
func (w *Writer[T]) Write(record T) (err error) {
	if w.line, err = w.append(w.line[:0], record); err == nil {
		_, err = w.out.Write(w.line)
	}
	return err
}

// Flush writes the buffered records to the file.
func (w *Writer[T]) Flush() error { return w.out.Flush() }

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
			to = utf8.AppendRune(to, delimiter)
		}
		to = appendField(to, field)
	}
	return append(to, "\r\n"...)
}
