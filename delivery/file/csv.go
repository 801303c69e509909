package file

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// maxFields is the number of fields in a row that encoding/csv parses: it needs more memory
// for a field than for its text.
const maxFields = 100

// petColumns are the columns of animals, in the order in which they are written.
var petColumns = []string{"id", "name", "categoryId", "status"}

var (
	errNoHeader       = errors.New("the file is empty: its first line must be a header such as " + strings.Join(petColumns, ","))
	errQuoteNotClosed = errors.New(`a quote that is opened in this row is not closed: close it; if it belongs to the value, quote the field, and write "" for the quote`)
	errQuoteInField   = errors.New(`a quote is within a field: quote the field, and write "" for the quote`)
	errTextAfterQuote = errors.New(`text follows a closing quote: write "" for a quote within a quoted field`)
)

// A csvParser parses the rows of a CSV file.
type csvParser struct {
	columns map[string]int // the index of each column of the header
	text    bytes.Reader
	in      *bufio.Reader // reads text
	csv     *csv.Reader   // reads in
}

func newCSVParser() *csvParser {
	p := &csvParser{}
	p.in = bufio.NewReader(&p.text)
	p.csv = csv.NewReader(p.in)
	p.csv.FieldsPerRecord = -1 // pet checks it
	p.csv.ReuseRecord = true
	return p
}

// fields returns the fields of a row, valid until the next call.
func (p *csvParser) fields(row []byte) ([]string, error) {
	p.text.Reset(row)
	p.in.Reset(&p.text)
	fields, err := p.csv.Read()
	switch {
	case errors.Is(err, csv.ErrBareQuote):
		err = errQuoteInField
	case errors.Is(err, csv.ErrQuote):
		err = errTextAfterQuote
	}
	return fields, err
}

// parseHeader parses the header, which must have the columns name and categoryId, and no
// other than petColumns.
func (p *csvParser) parseHeader(row []byte) error {
	if n := countFields(row); n > maxFields {
		return fmt.Errorf("the header has %d columns: %s", n, columnsRule(nil))
	}
	header, err := p.fields(row)
	if err != nil {
		return err
	}
	columns := make(map[string]int, len(header))
	for i, name := range header {
		if !slices.Contains(petColumns, name) {
			return fmt.Errorf("the header has the unknown column %.100q: %s", name, columnsRule(header))
		}
		if _, found := columns[name]; found {
			return fmt.Errorf("the header has the column %s twice: %s", name, columnsRule(header))
		}
		columns[name] = i
	}
	for _, name := range []string{"name", "categoryId"} {
		if _, found := columns[name]; !found {
			return fmt.Errorf("the header has no column %s: %s", name, columnsRule(header))
		}
	}
	p.columns = columns
	return nil
}

// columnsRule returns the rule of a header, with a hint if it seems to have another separator.
func columnsRule(header []string) string {
	rule := "the columns are name, categoryId and, optionally, id and status, in any order"
	if len(header) == 1 && strings.ContainsAny(header[0], ";\t|") {
		rule += ", separated by commas"
	}
	return rule
}

// pet returns the animal of a row.
func (p *csvParser) pet(row []byte) (domain.Pet, error) {
	if n := countFields(row); n > maxFields {
		return domain.Pet{}, p.errFieldCount(n)
	}
	fields, err := p.fields(row)
	if err != nil {
		return domain.Pet{}, err
	}
	if len(fields) != len(p.columns) {
		return domain.Pet{}, p.errFieldCount(len(fields))
	}
	field := func(column string) string {
		if i, found := p.columns[column]; found {
			return fields[i]
		}
		return ""
	}
	pet, err := rest.ParsePet(field("id"), field("name"), field("categoryId"), field("status"))
	pet.Name = strings.Clone(pet.Name) // which shares the memory of the whole row
	return pet, err
}

// errFieldCount returns the error of a row with another number of fields than the header.
func (p *csvParser) errFieldCount(fields int) error {
	return fmt.Errorf("the row has %d fields, the header has %d columns", fields, len(p.columns))
}

// countFields returns the number of fields of a row. Of a row with a quote at a wrong place,
// it counts at least those before that quote.
func countFields(row []byte) int {
	n, quoted := 1, false
	for _, c := range row {
		switch {
		case c == '"':
			quoted = !quoted // twice for the "" within a quoted field
		case c == ',' && !quoted:
			n++
		}
	}
	return n
}

// A quoteScanner finds the end of a row, whose quoted fields may contain line ends.
type quoteScanner struct{ quoted bool }

// openAfter reports whether a quoted field is open after a line, which continues the row.
// encoding/csv rejects a line with a quote at a wrong place, with which the row ends.
func (s *quoteScanner) openAfter(line []byte) bool {
	if !s.quoted && bytes.IndexByte(line, '"') < 0 {
		return false
	}
	for line = trimLineEnd(line); ; {
		if !s.quoted {
			field := line
			if comma := bytes.IndexByte(line, ','); comma >= 0 {
				field = line[:comma]
			}
			switch {
			case bytes.HasPrefix(line, []byte(`"`)):
				s.quoted, line = true, line[1:]
				continue
			case bytes.IndexByte(field, '"') >= 0 || len(field) == len(line):
				return false
			}
			line = line[len(field)+1:]
			continue
		}
		quote := bytes.IndexByte(line, '"')
		if quote < 0 {
			return true
		}
		line = line[quote+1:]
		switch {
		case bytes.HasPrefix(line, []byte(`"`)):
			line = line[1:]
		case bytes.HasPrefix(line, []byte(`,`)):
			s.quoted, line = false, line[1:]
		default:
			return false
		}
	}
}
