package file_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"example.com/petstore/domain"
	"example.com/petstore/internal/file"
	"example.com/petstore/internal/test/testkit"
)

// readCategories returns the rows of a file with categories, and the error that ends it, as texts.
func readCategories(text string, format file.Format, o file.Options) (rows []string) {
	o.Categories = true
	o.Report = func(text string) { rows = append(rows, "report: "+text) }
	for r := file.NewReader(strings.NewReader(text), format, o); ; {
		row, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return rows
		case err != nil:
			return append(rows, "error: "+err.Error())
		case row.Rule != "":
			rows = append(rows, fmt.Sprintf("%d: %s", row.Line, row.Rule))
		default:
			rows = append(rows, fmt.Sprintf("%d %d %q", row.Line, row.Category.ID, row.Category.Name))
		}
	}
}

func TestReaderReturnsCategoriesOrTheirErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"id,name\n7,Dogs\n-9,\n 0 , Cats \n": {`2 7 "Dogs"`, `3 -9 ""`, `4 0 " Cats "`},
		"Zoo;\n\nArt;NAME ; ID\nx;'=1;7\n": {
			"report: skipped the lines above the header, which is line 3", `report: ignored other columns: "Art"`, `4 7 "=1"`,
		},
		"id,name\nx,Dogs\n,Dogs\n7, \n": {
			"2: id must be a 64-bit integer in digits, after a minus sign if it is below 0", "3: id is required", "4: name " + domain.PetNameRule,
		},
		"name,categoryId\nDogs,7\n": {`error: line 1: the header has no column id, but "categoryId": if one is id, add --column id=TITLE`},
		"id,Name,state\n7,Dogs,x\n": {`report: ignored other columns: "state"`, `2 7 "Dogs"`},
		"":                          {"error: the file is empty: its first line must be a header such as id,name"},
		"rule,id,name\n\"line 2: wrong\",7,Dogs\n": {`2 7 "Dogs"`},
	} {
		testkit.Equal(t, text, want, readCategories(text, file.CSV, file.Options{}))
	}
	for text, want := range map[string][]string{
		`{"id":7,"name":"Dogs"}` + "\n" + `{"id":-9}` + "\n" + `{"id":0,"rule":"line 2"}`: {`1 7 "Dogs"`, `2 -9 ""`, `3 0 ""`},
		`{"name":"Dogs"}`:         {"1: id is required"},
		`{"id":7,"name":""}`:      {"1: name " + domain.PetNameRule},
		`{"id":7,"categoryId":7}`: {`1: the row has the unknown member "categoryId": remove it or correct its name`},
	} {
		testkit.Equal(t, text, want, readCategories(text, file.NDJSON, file.Options{}))
	}
	titles := file.Options{Titles: map[string]string{"id": "Nr"}}
	testkit.Equal(t, "another title", []string{`2 7 "Hunde"`}, readCategories("Nr,name\n7,Hunde\n", file.CSV, titles))
}

func TestCategoriesAreReadAsWritten(t *testing.T) {
	t.Parallel()
	categories := []domain.Category{{ID: math.MinInt64, Name: "=1; <b>\"ä\""}, {ID: 0}, testkit.Filled[domain.Category](t)}
	for _, format := range []file.Format{file.CSV, file.NDJSON} {
		r := file.NewReader(strings.NewReader(write(t, file.NewCategoryWriter, format, categories...)), format, file.Options{Categories: true})
		for _, want := range categories {
			row, err := r.Read()
			testkit.Equal(t, string(format), want, row.Category, err)
		}
	}
}
