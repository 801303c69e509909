package file_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/petstore/delivery/file"
	"example.com/petstore/domain"
)

func TestReaderReturnsCSVRowsOrTheirErrors(t *testing.T) {
	t.Parallel()
	long, commas := strings.Repeat("x", file.MaxRow), strings.Repeat(",", file.MaxRow)
	testRead(t, file.CSV, map[string]readCase{
		"columns in any order": {"status,categoryId,id,name\r\nsold,-7,9,Rex\r\n", []string{`2 9 "Rex" -7 "sold"`}},
		"required columns":     {"name,categoryId\nRex,7\nTom,8", []string{`2 0 "Rex" 7 ""`, `3 0 "Tom" 8 ""`}},
		"empty status and id":  {"id,name,categoryId,status\n,Rex,7,\n", []string{`2 0 "Rex" 7 ""`}},
		"header only":          {"name,categoryId\n", nil},
		"byte order mark":      {"\ufeffname,categoryId\nRex,7\n", []string{`2 0 "Rex" 7 ""`}},
		"quoted header":        {"\"name\",\"categoryId\"\nRex,7\n", []string{`2 0 "Rex" 7 ""`}},
		"empty lines":          {"\n\r\nname,categoryId\n\n  \nRex,7\n\n", []string{`6 0 "Rex" 7 ""`}},
		"quoted fields":        {"name,categoryId\n\"a, \"\"b\"\"\",\"7\"\n", []string{`2 0 "a, \"b\"" 7 ""`}},
		"spaces are kept":      {"name,categoryId\n Rex ,7\n", []string{`2 0 " Rex " 7 ""`}},

		"no bytes": {"", []string{"error: the file is empty: its first line must be a header such as id,name,categoryId,status"}},
		"blank":    {"\n \n", []string{"error: the file is empty: its first line must be a header such as id,name,categoryId,status"}},
		"only a byte order mark": {
			"\ufeff",
			[]string{"error: the file is empty: its first line must be a header such as id,name,categoryId,status"},
		},
		"unknown column": {
			"name,categoryId,Status\n",
			[]string{`error: line 1: the header has the unknown column "Status": ` + columnsRule},
		},
		"column with a space": {"name, categoryId\n", []string{`error: line 1: the header has the unknown column " categoryId": ` + columnsRule}},
		"empty column":        {"name,,categoryId\n", []string{`error: line 1: the header has the unknown column "": ` + columnsRule}},
		"doubled column":      {"name,categoryId,name\n", []string{"error: line 1: the header has the column name twice: " + columnsRule}},
		"missing column":      {"\nid,name,status\n", []string{"error: line 2: the header has no column categoryId: " + columnsRule}},
		"semicolons":          {"id;name;categoryId\n3;\"a;b\";7\n;c,d;-8\n", []string{`2 3 "a;b" 7 ""`, `3 0 "c,d" -8 ""`}},
		"tabs":                {"\ufeff \n\t\t\nname\tcategoryId\t\na;b\t7\t\n", []string{`4 0 "a;b" 7 ""`}},
		"rows before it":      {";;\n\nname;categoryId\na;7\n", []string{`4 0 "a" 7 ""`}},
		"mixed":               {"name;categoryId\na;7\nb,8\n", []string{`2 0 "a" 7 ""`, `3 "b,8": the row has 1 fields, the header has 2 columns`}},
		"bars": {
			"name|categoryId\n",
			[]string{
				`error: line 1: the header has the unknown column "name|categoryId": ` + columnsRule +
					", separated by commas, semicolons or tabs",
			},
		},
		"names that are no formulas": {
			"name,categoryId\n'=1,7\n''+1,7\n'''-1,7\n'@a,7\n=1,7\n'tis,7\n',7\n\"'=a\",7\n '=1,7\n",
			[]string{
				`2 0 "=1" 7 ""`, `3 0 "'+1" 7 ""`, `4 0 "''-1" 7 ""`, `5 0 "@a" 7 ""`, `6 0 "=1" 7 ""`, `7 0 "'tis" 7 ""`, `8 0 "'" 7 ""`,
				`9 0 "=a" 7 ""`, `10 0 " '=1" 7 ""`,
			},
		},
		"UTF-16": {
			"\xff\xfen\x00a\x00m\x00e\x00",
			[]string{"error: the file is in UTF-16: save it as CSV UTF-8, or convert it to UTF-8"},
		},
		"UTF-16, big-endian": {
			"\xfe\xff\x00n\x00a\x00m\x00e",
			[]string{"error: the file is in UTF-16: save it as CSV UTF-8, or convert it to UTF-8"},
		},
		"workbook": {
			"PK\x03\x04\x14\x00\x06\x00name,categoryId\n",
			[]string{"error: the file is a workbook, or another archive: save it as CSV UTF-8"},
		},
		"old workbook": {"\xd0\xcf\x11\xe0\xa1\xb1", []string{"error: the file is a workbook: save it as CSV UTF-8"}},
		"quote in the header": {
			"na\"me,categoryId\n",
			[]string{`error: line 1: a quote is within a field: quote the field, and write "" for the quote`},
		},
		"header never closed": {
			"\"name,categoryId\nRex,7\n",
			[]string{"error: line 1: a quote that is opened in this row is not closed" + closeQuote},
		},
		"header that is too long": {
			long + "x\n",
			[]string{"error: line 1: the row is larger than 4 MiB: shorten it, or close a quote that is open in it"},
		},

		"rows of empty cells": {",,\nname,categoryId,\n,,\n\" \",\nRex,7,\n,,,,\nTom,8\n,\n", []string{`5 0 "Rex" 7 ""`, `7 0 "Tom" 8 ""`}},
		"columns without name": {
			"name,categoryId,,,\nRex,7,,,\nTom,8,x\nBob,9\n",
			[]string{`2 0 "Rex" 7 ""`, `3 "Tom,8,x": the row has 3 fields, the header has 2 columns`, `4 0 "Bob" 9 ""`},
		},

		"column too many": {
			"name,categoryId\nRex,7,8\nTom,8\n",
			[]string{`2 "Rex,7,8": the row has 3 fields, the header has 2 columns`, `3 0 "Tom" 8 ""`},
		},
		"column too few": {"name,categoryId\nRex\n", []string{`2 "Rex": the row has 1 fields, the header has 2 columns`}},
		"cut in half":    {"name,categoryId\nRex,7\nTo", []string{`2 0 "Rex" 7 ""`, `3 "To": the row has 1 fields, the header has 2 columns`}},
		"not UTF-8":      {"name,categoryId\nRex,7\nR\xe4x,7\nTom,8\n", []string{`2 0 "Rex" 7 ""`, `3 "R\xe4x,7": ` + notUTF8, `4 0 "Tom" 8 ""`}},
		"all rules": {"id,name,categoryId,status\nx,,7.0,lost\n", []string{
			`2 "x,,7.0,lost": id ` + integerRule + "; categoryId " + integerRule + "; name is required; status " + domain.PetStatusRule,
		}},
		"missing values":     {"name,categoryId,status\n,,sold\n", []string{`2 ",,sold": name is required; categoryId is required`}},
		"blank name":         {"name,categoryId\n\" \",7\n", []string{`2 "\" \",7": name ` + domain.PetNameRule}},
		"id zero":            {"id,name,categoryId\n0,Rex,7\n", []string{`2 "0,Rex,7": id must be at least 1`}},
		"id negative":        {"id,name,categoryId\n-1,Rex,7\n", []string{`2 "-1,Rex,7": id must be at least 1`}},
		"id too large":       {"id,name,categoryId\n9223372036854775808,Rex,7\n", []string{`2 "9223372036854775808,Rex,7": id ` + integerRule}},
		"number with spaces": {"name,categoryId\nRex, 7\n", []string{`2 "Rex, 7": categoryId ` + integerRule}},
		"number with a plus": {"name,categoryId\nRex,+7\n", []string{`2 "Rex,+7": categoryId ` + integerRule}},
		"minus zero": {
			"name,categoryId\nRex,-0\nTom,-00\nBob,-07\n",
			[]string{`2 "Rex,-0": categoryId ` + integerRule, `3 "Tom,-00": categoryId ` + integerRule, `4 0 "Bob" -7 ""`},
		},

		"quote within a field": {
			"name,categoryId\nRex 5\" dog,7\nTom,8\n",
			[]string{`2 "Rex 5\" dog,7": a quote is within a field: quote the field, and write "" for the quote`, `3 0 "Tom" 8 ""`},
		},
		"text after a quote": {
			"name,categoryId\n\"Rex\"x,7\nTom,8\n",
			[]string{`2 "\"Rex\"x,7": text follows a closing quote: write "" for a quote within a quoted field`, `3 0 "Tom" 8 ""`},
		},
		"text after the last one": {
			"name,categoryId\n7,\"Rex\"x",
			[]string{`2 "7,\"Rex\"x": text follows a closing quote: write "" for a quote within a quoted field`},
		},
		"quote never closed": {
			"name,categoryId\nRex,7\n\"Tom,8\nBob,9\n",
			[]string{`2 0 "Rex" 7 ""`, "error: line 3: a quote that is opened in this row is not closed" + closeQuote},
		},
		"last quote never closed": {
			"name,categoryId\nRex,\"7",
			[]string{"error: line 2: a quote that is opened in this row is not closed" + closeQuote},
		},
		"quote closed by a later": {
			"name,categoryId\n\"Rex,7\n\"Tom\",8\nBob,9\n",
			[]string{`2 "\"Rex,7\n\"Tom\",8": text follows a closing quote: write "" for a quote within a quoted field (the row ends in line 3: a ` +
				`quote may not be closed)`, `4 0 "Bob" 9 ""`},
		},
		"line end in a name": {
			"name,categoryId\n\"Rex\r\nTom\",7\nBob,9\n",
			[]string{`2 "\"Rex\r\nTom\",7": name ` + domain.PetNameRule + " (the row ends in line 3)", `4 0 "Bob" 9 ""`},
		},
		"line end before a quote": {
			"name,categoryId\na\"b,\"c\nTom,8\n",
			[]string{`2 "a\"b,\"c": a quote is within a field: quote the field, and write "" for the quote`, `3 0 "Tom" 8 ""`},
		},
		"carriage return first": {"name,categoryId\n\r\n\rRex\n", []string{`3 "\rRex": the row has 1 fields, the header has 2 columns`}},
		"carriage return in lines": {
			"name,categoryId\rRex,7\r",
			[]string{`error: line 1: the header has the unknown column "categoryId\rRex": ` + columnsRule},
		},

		"name of 4 MiB": {
			"name,categoryId\n" + long[:file.MaxRow-2] + ",7\nTom,8\n",
			[]string{fmt.Sprintf("2 %q: name %s", long[:file.MaxRow-2]+",7", domain.PetNameRule), `3 0 "Tom" 8 ""`},
		},
		"row over 4 MiB": {
			"name,categoryId\n" + long + ",7\n",
			[]string{"error: line 2: the row is larger than 4 MiB: shorten it, or close a quote that is open in it"},
		},
		"many fields": {
			"name,categoryId\n" + commas[:50_000] + "x\nTom,8\n",
			[]string{fmt.Sprintf("2 %q: the row has 50001 fields, the header has 2 columns", commas[:50_000]+"x"), `3 0 "Tom" 8 ""`},
		},
		"a line of commas": {
			"name,categoryId\n" + commas + "\nTom,8\n",
			[]string{"error: line 2: the line has more than 100000 delimiters: remove them"},
		},
		"a line of semicolons": {
			"name;categoryId\n" + strings.ReplaceAll(commas, ",", ";") + "\n",
			[]string{"error: line 2: the line has more than 100000 delimiters: remove them"},
		},
		"many quoted commas": {"name,categoryId\n\"" + commas[:200] + "\",7\n", []string{fmt.Sprintf(`2 0 %q 7 ""`, commas[:200])}},
		"header of commas":   {commas + "\n", []string{"error: line 1: the line has more than 100000 delimiters: remove them"}},
		"quotes over 4 MiB": {
			"name,categoryId\n\"" + strings.Repeat("Rex,7\n", 1<<20),
			[]string{"error: line 2: the row is larger than 4 MiB: shorten it, or close a quote that is open in it"},
		},
	})
}

func FuzzReadCSV(f *testing.F) {
	for _, seed := range []string{
		"", "\ufeff", "name,categoryId\r\nRex,7\r\n", "id,name,categoryId,status\n1,\"Rex, \"\"x\"\"\",7,sold\n,Tom,8,\n",
		"name,categoryId\n\"Rex,7\n\"Tom\",8\nBob,9\n", "name,categoryId\n\"Rex\r\nTom\",7\nBob,9", "name,categoryId\na\"b,\"c\nTom,8\n",
		"name,categoryId\n7,\"Rex\"x\n", "name;categoryId\n", "name,name\n", "\xff\xfe", "name,categoryId\n\"",
		"name,categoryId\n\"\"\"\",7\n,\n,,\n", "name,categoryId,,\n\" \",\na,7,,,\nb,8,x\n",
		"name,categoryId\r\n=1+1,7\r\n 'a' ,-0\r", "name;categoryId\n'=1;7\n''=1;7\n'a;7\n", "\t\nname\tcategoryId\na\t7\n",
		"name;categoryId\na,b;7\nc;8,\n",
		"name,categoryId\n\"a\"\r,7\n", "name,categoryId\n\"a\"\r\n\"b\r\n\",7",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, toEnd := checkRead(t, text, file.CSV)
		if want, ok := completeRows(text); ok && toEnd && got != want { // if ok is false, there is nothing to compare with
			t.Fatalf("%q: got %d rows, encoding/csv finds %d", text, got, want)
		}
	})
}

// completeRows returns the number of rows that are not blank and have as many fields as the header, as
// encoding/csv finds them. Empty fields at the end do not count. It returns false if encoding/csv returns an
// error, if the text is not UTF-8, or if there is no header.
func completeRows(text []byte) (rows int, ok bool) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	reference := csv.NewReader(bytes.NewReader(text))
	reference.FieldsPerRecord = -1
	header := bytes.TrimLeft(text, " \t\r\n")
	if i := bytes.IndexAny(header, ",;\t"); i >= 0 {
		reference.Comma = rune(header[i])
	}
	records, err := reference.ReadAll()
	if err != nil || len(records) == 0 || !utf8.Valid(text) {
		return 0, false
	}
	records = slices.DeleteFunc(records, func(r []string) bool { return strings.TrimSpace(strings.Join(r, "")) == "" })
	if len(records) == 0 {
		return 0, false
	}
	width := len(records[0])
	for width > 0 && records[0][width-1] == "" {
		width--
	}
	for _, record := range records[1:] {
		if len(record) >= width && strings.Join(record[width:], "") == "" {
			rows++
		}
	}
	return rows, true
}
