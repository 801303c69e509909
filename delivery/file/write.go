package file

import (
	"bufio"
	"encoding/csv"
	"io"
	"strconv"

	"example.com/petstore/domain"
	"example.com/petstore/internal/record"
)

// A Writer writes records of the type T to a file. The caller must call Flush at the end.
type Writer[T any] struct {
	out   *bufio.Writer
	csv   *csv.Writer // nil for NDJSON
	write func(T) error
}

// NewPetWriter returns a Writer of animals. A CSV file begins with a header, and delimiter separates its columns: a
// comma, a semicolon or a tab. NDJSON ignores delimiter.
func NewPetWriter(out io.Writer, format Format, delimiter rune) *Writer[domain.Pet] {
	return newWriter(out, format, delimiter, record.PetOf, petColumns, func(fields []string, p domain.Pet) []string {
		return append(fields, strconv.FormatInt(p.ID, 10), quoteFormula(p.Name), strconv.FormatInt(p.CategoryID, 10), string(p.Status))
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

// NewChangeWriter returns a Writer of changes as NDJSON.
func NewChangeWriter(out io.Writer) *Writer[domain.RecordedChange] {
	return newWriter(out, NDJSON, 0, record.RecordedChangeOf, nil, nil)
}

func newWriter[T any, R record.Record](
	out io.Writer, format Format, delimiter rune, recordOf func(T) R, columns []string, appendFields func([]string, T) []string,
) *Writer[T] {
	w := &Writer[T]{out: bufio.NewWriterSize(out, bufferSize)}
	if format == CSV {
		w.csv = csv.NewWriter(w.out)
		w.csv.Comma, w.csv.UseCRLF = delimiter, true
		var fields []string
		w.write = func(record T) error {
			fields = appendFields(fields[:0], record)
			return w.csv.Write(fields)
		}
		_ = w.csv.Write(columns) // cannot fail, because the header fits into the buffer
		return w
	}
	var line []byte
	w.write = func(record T) (err error) {
		if line, err = recordOf(record).AppendJSON(line[:0]); err != nil {
			return err
		}
		_, err = w.out.Write(append(line, '\n'))
		return err
	}
	return w
}

// Write writes a record to a buffer. It also returns the error of an earlier record that could not be written to the file.
func (w *Writer[T]) Write(record T) error { return w.write(record) }

// Flush writes the buffered records to the file.
func (w *Writer[T]) Flush() error {
	if w.csv == nil {
		return w.out.Flush()
	}
	w.csv.Flush() // also flushes w.out
	return w.csv.Error()
}
