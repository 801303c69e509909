package file_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/petstore/domain"
	"example.com/petstore/internal/file"
)

func TestReaderReturnsCSVRowsOrTheirErrors(t *testing.T) {
	t.Parallel()
	long, commas := strings.Repeat("x", file.MaxRow), strings.Repeat(",", file.MaxRow)
	testRead(t, file.CSV, file.Options{}, map[string]readCase{
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
		"letter case and blanks": {
			" NAME ,categoryid,\" Status\"\nRex, 7 ,Available\nTom,8,\u00a0SOLD \n",
			[]string{`2 0 "Rex" 7 "available"`, `3 0 "Tom" 8 "sold"`},
		},
		"other columns": {
			"Preis,name,,categoryId,Rasse\n\"1,50\",Rex,x,7,Dackel\n,Tom,,8\n",
			[]string{`report: ignored other columns: "Preis", 3 (without a title), "Rasse"`, `2 0 "Rex" 7 ""`, `3 0 "Tom" 8 ""`},
		},
		"many other columns": {
			"name,categoryId,a,b,c,d,e,f,g,h,i,j,k,l\n",
			[]string{`report: ignored other columns: "a", "b", "c", "d", "e", "f", "g", "h", "i", "j" and 2 more`},
		},
		"doubled column": {"name,categoryId,Name\n", []string{"error: line 1: the header has the column name twice: rename one"}},
		"missing column": {"\nid,name,status\n", []string{"error: line 2: the header has no column categoryId"}},
		"missing columns": {
			"Tier,Art,,Preis\n",
			[]string{
				`error: line 1: the header has no column name and no column categoryId, but "Tier", "Art", 3 (without a title), "Preis": ` +
					`if one is name, ` +
					"add --column name=TITLE",
			},
		},
		"mistyped status": {
			"name,categoryId,Statsu\n",
			[]string{
				`error: line 1: the header has no column status, but "Statsu": if it is the status, add --column status=Statsu, otherwise rename it`,
			},
		},
		"lines above the header": {
			"Stand: 5\" Becken, Zoo\n\nname;Zoo\nName;categoryId\nRex;7\n",
			[]string{"report: skipped the lines above the header, which is line 4", `5 0 "Rex" 7 ""`},
		},
		"20 lines above the header": {
			strings.Repeat("x\n", 20) + "name,categoryId\nRex,7\n",
			[]string{"report: skipped the lines above the header, which is line 21", `22 0 "Rex" 7 ""`},
		},
		"21 lines above the header": {
			strings.Repeat("x\n", 21) + "name,categoryId\nRex,7\n",
			[]string{`error: line 1: the header has no column name and no column categoryId, but "x": if one is name, add --column name=TITLE`},
		},
		"lines above a wrong header": {
			"Zoo\n\nName;Art\nRex;7\n",
			[]string{
				`error: line 3: the header has no column categoryId, but "Art": if one is categoryId, add --column categoryId=TITLE`,
			},
		},
		"a row like a header": {
			"name,categoryId\nRex,7\nid,name,categoryId,status\n",
			[]string{`2 0 "Rex" 7 ""`, `3 "id,name,categoryId,status": the row has 4 fields, the header has 2 columns`},
		},
		"delimiter for Excel": {"\"sep=;\"\r\nname;categoryId\r\na,b;7\r\n", []string{`3 0 "a,b" 7 ""`}},
		"Windows-1252": {
			"Tiere\r\nname,categoryId\r\nRex,7\r\nB\xe4r \x80,8\r\n",
			[]string{
				`error: the file is not UTF-8, but probably Windows-1252, in which it has the line "Bär €,8": add --encoding windows-1252, ` +
					"or save the file as CSV UTF-8",
			},
		},
		"Windows-1252 without a column": {
			"name;Art\nB\xe4r;8\n",
			[]string{
				`error: the file is not UTF-8, but probably Windows-1252, in which it has the line "Bär;8": add --encoding windows-1252, ` +
					`or save the file as CSV UTF-8; line 1: the header has no column categoryId, but "Art": if one is categoryId, ` +
					"add --column categoryId=TITLE",
			},
		},
		"not all in Windows-1252": {
			"name,categoryId\nR\xe4x,7\n\x81,8\n",
			[]string{`2 "R\xe4x,7": ` + notUTF8, `3 "\x81,8": ` + notUTF8},
		},
		"semicolons":     {"id;name;categoryId\n3;\"a;b\";7\n;c,d;-8\n", []string{`2 3 "a;b" 7 ""`, `3 0 "c,d" -8 ""`}},
		"tabs":           {"\ufeff \n\t\t\nname\tcategoryId\na;b\t7\t\n", []string{`4 0 "a;b" 7 ""`}},
		"rows before it": {";;\n\nname;categoryId\na;7\n", []string{`4 0 "a" 7 ""`}},
		"mixed":          {"name;categoryId\na;7\nb,8\n", []string{`2 0 "a" 7 ""`, `3 "b,8": the row has 1 fields, the header has 2 columns`}},
		"bars": {
			"name|categoryId\n",
			[]string{
				`error: line 1: the header has no column name and no column categoryId, but "name|categoryId": ` +
					"separate the columns by commas, semicolons or tabs",
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
			"\"name,categoryId\n",
			[]string{"error: line 1: a quote that is opened in this row is not closed" + closeQuote},
		},
		"header that is too long": {
			long + "x\n",
			[]string{"error: line 1: the row is larger than 512 KiB: shorten it, or close a quote that is open in it"},
		},

		"rows of empty cells": {
			",,\nname,categoryId,\n,,\n\" \",\nRex,7,\n,,,,\nTom,8\n,\n",
			[]string{"report: ignored other columns: 3 (without a title)", `5 0 "Rex" 7 ""`, `7 0 "Tom" 8 ""`},
		},
		"columns without name": {
			"name,categoryId,,,\nRex,7,,,\nTom,8,x\nBob,9\n",
			[]string{
				"report: ignored other columns: 3 (without a title), 4 (without a title), 5 (without a title)",
				`2 0 "Rex" 7 ""`, `3 0 "Tom" 8 ""`, `4 0 "Bob" 9 ""`,
			},
		},

		"column too many": {
			"name,categoryId\nRex,7,8\nTom,8\n",
			[]string{`2 "Rex,7,8": the row has 3 fields, the header has 2 columns`, `3 0 "Tom" 8 ""`},
		},
		"column too few": {"name,categoryId\nRex\n", []string{`2 "Rex": the row has 1 fields, the header has 2 columns`}},
		"cut in half":    {"name,categoryId\nRex,7\nTo", []string{`2 0 "Rex" 7 ""`, `3 "To": the row has 1 fields, the header has 2 columns`}},
		"not UTF-8":      {"name,categoryId\nRäx,7\nR\xe4x,7\nTom,8\n", []string{`2 0 "Räx" 7 ""`, `3 "R\xe4x,7": ` + notUTF8, `4 0 "Tom" 8 ""`}},
		"all rules": {"id,name,categoryId,status\nx,,7.0,lost\n", []string{
			`2 "x,,7.0,lost": id ` + integerRule + "; categoryId " + integerRule + "; name is required; status " + domain.PetStatusRule,
		}},
		"missing values":      {"name,categoryId,status\n,,sold\n", []string{`2 ",,sold": name is required; categoryId is required`}},
		"blank name":          {"name,categoryId\n\" \",7\n", []string{`2 "\" \",7": name ` + domain.PetNameRule}},
		"id zero":             {"id,name,categoryId\n0,Rex,7\n", []string{`2 "0,Rex,7": id must be at least 1`}},
		"id negative":         {"id,name,categoryId\n-1,Rex,7\n", []string{`2 "-1,Rex,7": id must be at least 1`}},
		"id too large":        {"id,name,categoryId\n9223372036854775808,Rex,7\n", []string{`2 "9223372036854775808,Rex,7": id ` + integerRule}},
		"number with a space": {"name,categoryId\nRex,7 8\n", []string{`2 "Rex,7 8": categoryId ` + integerRule}},
		"number with a plus":  {"name,categoryId\nRex,+7\n", []string{`2 "Rex,+7": categoryId ` + integerRule}},
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
		"carriage returns alone": {
			"Zoo\rname,categoryId\rRex,7\r",
			[]string{"error: the file has carriage returns alone as line ends: save it with newlines"},
		},

		"name of 512 KiB": {
			"name,categoryId\n" + long[:file.MaxRow-2] + ",7\nTom,8\n",
			[]string{fmt.Sprintf("2 %q: name %s", long[:file.MaxRow-2]+",7", domain.PetNameRule), `3 0 "Tom" 8 ""`},
		},
		"row over 512 KiB": {
			"name,categoryId\n" + long + ",7\n",
			[]string{"error: line 2: the row is larger than 512 KiB: shorten it, or close a quote that is open in it"},
		},
		"many fields": {
			"name,categoryId\n" + commas[:50_000] + "x\nTom,8\n",
			[]string{fmt.Sprintf("2 %q: the row has 50001 fields, the header has 2 columns", commas[:50_000]+"x"), `3 0 "Tom" 8 ""`},
		},
		"many quoted commas": {"name,categoryId\n\"" + commas[:200] + "\",7\n", []string{fmt.Sprintf(`2 0 %q 7 ""`, commas[:200])}},
		"quotes over 512 KiB": {
			"name,categoryId\n\"" + strings.Repeat("Rex,7\n", 1<<17),
			[]string{"error: line 2: the row is larger than 512 KiB: shorten it, or close a quote that is open in it"},
		},
	})
}

func TestReaderFindsTheColumnsByTheirTitles(t *testing.T) {
	t.Parallel()
	o := file.Options{Titles: map[string]string{"categoryId": "Art", "status": " Zustand "}, Windows1252: true}
	testRead(t, file.CSV, o, map[string]readCase{
		"all":     {"Name;ART;zustand;categoryId\nB\xe4r;7;sold;x\n", []string{`report: ignored other columns: "categoryId"`, `2 0 "Bär" 7 "sold"`}},
		"UTF-8":   {"Name;ART;zustand\nBär;7;sold\n", []string{"error: the file is UTF-8: leave out --encoding windows-1252"}},
		"Ä alone": {"Name;ART;zustand\nEd;7;sold\n\xc4", []string{`2 0 "Ed" 7 "sold"`, `3 "Ä": the row has 1 fields, the header has 3 columns`}},
		"not one": {"name,Art,Preis\n", []string{`error: line 1: the header has no column status, but "Preis": correct --column status= Zustand `}},
	})
}

// Lines above the header have fewer titles. Rows may have more cells, if a column has no title.
func TestErrorNamesTheTitlesOfAHeaderWithoutOurColumns(t *testing.T) {
	t.Parallel()
	testRead(t, file.CSV, file.Options{}, map[string]readCase{
		"a column without a title": {"Zoo;1.11.2026\nTier;Art;;\nRex;7;x;3\n", []string{
			`error: line 2: the header has no column name and no column categoryId, but "Tier", "Art", 3 (without a title), ` +
				`4 (without a title): if one is name, add --column name=TITLE`,
		}},
	})
}

func TestUpdateNeedsAllColumnsAndIDs(t *testing.T) {
	t.Parallel()
	testRead(t, file.CSV, file.Options{AllColumns: true, RequireID: true}, map[string]readCase{
		"no status": {"id,name,categoryId\n", []string{"error: line 1: the header has no column status"}},
		"no id":     {"id,name,categoryId,status\n1,Rex,7,\n,Tom,7,\n", []string{`2 1 "Rex" 7 ""`, `3 ",Tom,7,": id is required`}},
	})
	testRead(t, file.CSV, file.Options{AllColumns: true}, map[string]readCase{
		"an id that is optional": {"id,name,categoryId,status\n,Rex,7,\n", []string{`2 0 "Rex" 7 ""`}},
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
		"sep=;\r\nZoo\r\nPreis;Name;CATEGORYID\r\n1;Rex; 7 \r\n", "name;categoryId\rRex;7\r", "name;categoryId\nB\xe4r;7\n",
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

// completeRows returns the number of rows that are not blank and have as many fields as the header, as encoding/csv
// finds them. Empty fields at the end do not count. It returns false if encoding/csv returns an error, if the text is not
// UTF-8, or if its first line is not a header with the names of columns alone.
func completeRows(text []byte) (rows int, ok bool) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	line, _, _ := strings.Cut(string(text), "\n")
	reference := csv.NewReader(bytes.NewReader(text))
	reference.FieldsPerRecord = -1
	columns := []string{"id", "name", "categoryId", "status"}
	for _, delimiter := range ",;\t" {
		titles := strings.Split(strings.TrimSuffix(line, "\r"), string(delimiter))
		if slices.Contains(titles, "name") && slices.Contains(titles, "categoryId") {
			ok, reference.Comma = true, delimiter
		}
		for _, title := range titles {
			ok = ok && (slices.Contains(columns, title) || reference.Comma != delimiter)
		}
	}
	records, err := reference.ReadAll()
	if err != nil || !ok || !utf8.Valid(text) {
		return 0, false
	}
	records = slices.DeleteFunc(records, func(r []string) bool { return strings.TrimSpace(strings.Join(r, "")) == "" })
	width := len(records[0])
	for _, record := range records[1:] {
		if len(record) >= width && strings.Join(record[width:], "") == "" {
			rows++
		}
	}
	return rows, true
}
