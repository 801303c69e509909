package file

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"example.com/petstore/internal/binding"
)

// The columns of animals and of categories, in the order in which export writes them.
var (
	petColumns      = []string{"id", "name", "categoryId", "status"}
	categoryColumns = []string{"id", "name"}
)

func (o Options) columns() []string {
	if o.Categories {
		return categoryColumns
	}
	return petColumns
}

// maxLinesAbove is the maximum number of lines above the header, such as titles and empty lines.
const maxLinesAbove = 20

// columnOf returns the column with a title, or "" if the title is that of no column.
func (o Options) columnOf(title string) string {
	i := slices.IndexFunc(o.columns(), func(column string) bool {
		return strings.EqualFold(strings.TrimSpace(title), strings.TrimSpace(cmp.Or(o.Titles[column], column)))
	})
	if i < 0 {
		return ""
	}
	return o.columns()[i]
}

// required reports whether the header must have a column.
func (o Options) required(column string) bool {
	return o.AllColumns || o.Categories || column == "name" || column == "categoryId" || o.Titles[column] != ""
}

// findHeader returns the number of lines above the header of a CSV file, and the delimiter of the file. start is the start
// of the file. The header is the first line with the columns name and categoryId, or id and name of categories. If there is
// none, findHeader returns the line with most of the columns, or with most titles, for an error. Only cells with a letter count as
// titles, because a row with numbers may have more cells than the header.
func (o Options) findHeader(start []byte) (above int, delimiter byte) {
	line, best := 0, 0
	delimiter = delimiters[0]
	for text := range bytes.Lines(start) {
		for _, d := range []byte(delimiters) {
			cells := cellsOf(text, d)
			columns, titles := map[string]bool{}, 0
			for _, cell := range cells {
				columns[o.columnOf(cell)] = true
				if strings.ContainsFunc(cell, unicode.IsLetter) {
					titles++
				}
			}
			if columns["name"] && (columns["categoryId"] || o.Categories && columns["id"]) {
				return line, d
			}
			delete(columns, "")
			if score := len(columns)<<20 + titles; score > best {
				above, delimiter, best = line, d, score
			}
		}
		if line++; line > maxLinesAbove {
			break
		}
	}
	return above, delimiter
}

// cellsOf returns the cells of a line that have more than blanks and delimiters.
func cellsOf(line []byte, delimiter byte) []string {
	r := csv.NewReader(bytes.NewReader(line))
	r.Comma, r.LazyQuotes = rune(delimiter), true
	cells, _ := r.Read()
	return slices.DeleteFunc(cells, func(cell string) bool { return strings.Trim(cell, blank) == "" })
}

// blank has the characters of a line without text.
const blank = " \r\n" + delimiters

// skipLines discards n lines. It reports whether one of them has a text, other than sep=; which tells Excel the delimiter.
func skipLines(in *bufio.Reader, n int) (texts bool) {
	for range n {
		line, _ := in.ReadString('\n') // cannot fail, because findHeader has found more lines
		text := strings.Trim(line, blank+`"`)
		texts = texts || text != "" && !strings.EqualFold(text, "sep=")
	}
	return texts
}

// readHeader reads the header, and reports what is ignored.
func (r *csvReader) readHeader() error {
	row, titles, err := r.next()
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty: its first line must be a header such as " + strings.Join(r.options.columns(), ","))
	case err != nil:
		return err
	case row.Rule != "":
		return lineError(row.Line, errors.New(row.Rule))
	}
	r.header, r.width = string(row.Text), len(titles)
	columns := map[string]int{}
	var others []string
	for i, title := range titles {
		column := r.options.columnOf(title)
		if _, twice := columns[column]; twice {
			return lineError(row.Line, fmt.Errorf("the header has the column %s twice: rename one", column))
		}
		switch {
		case column != "":
			columns[column], r.used = i, i+1
		case notBlank(title):
			others = append(others, fmt.Sprintf("%.40q", title))
		default:
			others = append(others, fmt.Sprintf("%d (without a title)", i+1))
		}
	}
	if err := r.checkColumns(columns, others); err != nil {
		return lineError(row.Line, err)
	}
	if r.skipped {
		r.options.report(fmt.Sprintf("skipped the lines above the header, which is line %d", row.Line))
	}
	others = slices.DeleteFunc(others, func(title string) bool { return strings.EqualFold(title, `"rule"`) }) // of Rejects
	if len(others) > 0 {
		r.options.report("ignored other columns: " + listed(others))
	}
	r.columns = columns
	return nil
}

// checkColumns checks the columns of the header. others are the titles of the other columns.
func (r *csvReader) checkColumns(columns map[string]int, others []string) error {
	var missing []string
	for _, column := range r.options.columns() {
		if _, found := columns[column]; !found && r.options.required(column) {
			missing = append(missing, column)
		}
	}
	if len(missing) == 0 {
		return r.checkOthers(columns, others)
	}
	has := "the header has no column " + strings.Join(missing, " and no column ")
	if len(others) == 0 {
		return errors.New(has)
	}
	remedy := fmt.Sprintf("if one is %s, add --column %[1]s=TITLE", missing[0])
	switch title := r.options.Titles[missing[0]]; {
	case len(others) == 1 && strings.Contains(others[0], "|"):
		remedy = "separate the columns by commas, semicolons or tabs"
	case title != "":
		remedy = fmt.Sprintf("correct --column %s=%s", missing[0], title)
	}
	return fmt.Errorf("%s, but %s: %s", has, listed(others), remedy)
}

// checkOthers returns an error if the title of another column looks like a mistyped status: without that column, all
// animals would be without a status. It also returns an error for a file with animals instead of categories.
func (r *csvReader) checkOthers(columns map[string]int, others []string) error {
	_, found := columns["status"]
	for _, title := range others {
		title = strings.Trim(title, `" `)
		switch {
		case r.options.Categories && strings.EqualFold(title, "categoryId"):
			return fmt.Errorf("the header has the column %s: the file has animals, so leave out --type categories, or rename the column", title)
		case !r.options.Categories && !found && binding.IsNearly(title, "status"):
			return fmt.Errorf("the header has no column status, but %q: if it is the status, add --column status=%[1]s, otherwise rename it", title)
		}
	}
	return nil
}

// listed returns a list of the first 10 titles.
func listed(titles []string) string {
	const most = 10
	if len(titles) <= most {
		return strings.Join(titles, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(titles[:most], ", "), len(titles)-most)
}
