package file_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/delivery/file"
	"example.com/petstore/domain"
)

// read reads all rows of a text. It describes each row as its line and rule, or its line and
// animal, and the error that ends reading as "error: …".
func read(text string, format file.Format) []string {
	var found []string
	rows := file.NewReader(strings.NewReader(text), format)
	for {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return found
		case err != nil:
			return append(found, "error: "+err.Error())
		case row.Rule != "":
			found = append(found, fmt.Sprintf("%d %q: %s", row.Line, row.Text, row.Rule))
		default:
			found = append(found, fmt.Sprintf("%d %d %q %d %q", row.Line, row.Pet.ID, row.Pet.Name, row.Pet.CategoryID, row.Pet.Status))
		}
	}
}

const (
	integerRule = "must be a 64-bit integer in digits, after a minus sign if it is below 0"
	notUTF8     = "the text is not valid UTF-8: convert the file to UTF-8"
	closeQuote  = `: close it; if it belongs to the value, quote the field, and write "" for the quote`
	columnsRule = "the columns are name, categoryId and, optionally, id and status, in any order"
)

// A readCase is a text and what read returns of it.
type readCase struct {
	text string
	want []string
}

func testRead(t *testing.T, format file.Format, cases map[string]readCase) {
	t.Helper()
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, read(test.text, format)); diff != "" {
				t.Errorf("(-want +got)\n%.2000s", diff)
			}
		})
	}
}

func TestReadCSV(t *testing.T) {
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

		"no bytes":                {"", []string{"error: the file is empty: its first line must be a header such as id,name,categoryId,status"}},
		"blank":                   {"\n \n", []string{"error: the file is empty: its first line must be a header such as id,name,categoryId,status"}},
		"only a byte order mark":  {"\ufeff", []string{"error: the file is empty: its first line must be a header such as id,name,categoryId,status"}},
		"unknown column":          {"name,categoryId,Status\n", []string{`error: line 1: the header has the unknown column "Status": ` + columnsRule}},
		"column with a space":     {"name, categoryId\n", []string{`error: line 1: the header has the unknown column " categoryId": ` + columnsRule}},
		"empty column":            {"name,,categoryId\n", []string{`error: line 1: the header has the unknown column "": ` + columnsRule}},
		"doubled column":          {"name,categoryId,name\n", []string{"error: line 1: the header has the column name twice: " + columnsRule}},
		"missing column":          {"\nid,name,status\n", []string{"error: line 2: the header has no column categoryId: " + columnsRule}},
		"semicolons":              {"name;categoryId\n", []string{`error: line 1: the header has the unknown column "name;categoryId": ` + columnsRule + ", separated by commas"}},
		"tabs":                    {"name\tcategoryId\n", []string{`error: line 1: the header has the unknown column "name\tcategoryId": ` + columnsRule + ", separated by commas"}},
		"UTF-16":                  {"\xff\xfen\x00a\x00m\x00e\x00", []string{"error: the file is in UTF-16: save it as CSV UTF-8, or convert it to UTF-8"}},
		"UTF-16, big-endian":      {"\xfe\xff\x00n\x00a\x00m\x00e", []string{"error: the file is in UTF-16: save it as CSV UTF-8, or convert it to UTF-8"}},
		"workbook":                {"PK\x03\x04\x14\x00\x06\x00name,categoryId\n", []string{"error: the file is a workbook, or another archive: save it as CSV UTF-8"}},
		"old workbook":            {"\xd0\xcf\x11\xe0\xa1\xb1", []string{"error: the file is a workbook: save it as CSV UTF-8"}},
		"quote in the header":     {"na\"me,categoryId\n", []string{`error: line 1: a quote is within a field: quote the field, and write "" for the quote`}},
		"header never closed":     {"\"name,categoryId\nRex,7\n", []string{"error: line 1: a quote that is opened in this row is not closed" + closeQuote}},
		"header that is too long": {long + "x\n", []string{"error: line 1: the row is larger than 4 MiB: shorten it, or close a quote that is open in it"}},

		"rows of empty cells":  {",,\nname,categoryId,\n,,\n\" \",\nRex,7,\n,,,,\nTom,8\n,\n", []string{`5 0 "Rex" 7 ""`, `7 0 "Tom" 8 ""`}},
		"columns without name": {"name,categoryId,,,\nRex,7,,,\nTom,8,x\nBob,9\n", []string{`2 0 "Rex" 7 ""`, `3 "Tom,8,x": the row has 3 fields, the header has 2 columns`, `4 0 "Bob" 9 ""`}},

		"column too many": {"name,categoryId\nRex,7,8\nTom,8\n", []string{`2 "Rex,7,8": the row has 3 fields, the header has 2 columns`, `3 0 "Tom" 8 ""`}},
		"column too few":  {"name,categoryId\nRex\n", []string{`2 "Rex": the row has 1 fields, the header has 2 columns`}},
		"cut in half":     {"name,categoryId\nRex,7\nTo", []string{`2 0 "Rex" 7 ""`, `3 "To": the row has 1 fields, the header has 2 columns`}},
		"not UTF-8":       {"name,categoryId\nRex,7\nR\xe4x,7\nTom,8\n", []string{`2 0 "Rex" 7 ""`, "error: line 3: " + notUTF8}},
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
		"minus zero":         {"name,categoryId\nRex,-0\nTom,-00\nBob,-07\n", []string{`2 "Rex,-0": categoryId ` + integerRule, `3 "Tom,-00": categoryId ` + integerRule, `4 0 "Bob" -7 ""`}},

		"quote within a field":     {"name,categoryId\nRex 5\" dog,7\nTom,8\n", []string{`2 "Rex 5\" dog,7": a quote is within a field: quote the field, and write "" for the quote`, `3 0 "Tom" 8 ""`}},
		"text after a quote":       {"name,categoryId\n\"Rex\"x,7\nTom,8\n", []string{`2 "\"Rex\"x,7": text follows a closing quote: write "" for a quote within a quoted field`, `3 0 "Tom" 8 ""`}},
		"text after the last one":  {"name,categoryId\n7,\"Rex\"x", []string{`2 "7,\"Rex\"x": text follows a closing quote: write "" for a quote within a quoted field`}},
		"quote never closed":       {"name,categoryId\nRex,7\n\"Tom,8\nBob,9\n", []string{`2 0 "Rex" 7 ""`, "error: line 3: a quote that is opened in this row is not closed" + closeQuote}},
		"last quote never closed":  {"name,categoryId\nRex,\"7", []string{"error: line 2: a quote that is opened in this row is not closed" + closeQuote}},
		"quote closed by a later":  {"name,categoryId\n\"Rex,7\n\"Tom\",8\nBob,9\n", []string{`2 "\"Rex,7\n\"Tom\",8": text follows a closing quote: write "" for a quote within a quoted field (the row ends in line 3: a quote may not be closed)`, `4 0 "Bob" 9 ""`}},
		"line end in a name":       {"name,categoryId\n\"Rex\r\nTom\",7\nBob,9\n", []string{`2 "\"Rex\r\nTom\",7": name ` + domain.PetNameRule + " (the row ends in line 3)", `4 0 "Bob" 9 ""`}},
		"line end before a quote":  {"name,categoryId\na\"b,\"c\nTom,8\n", []string{`2 "a\"b,\"c": a quote is within a field: quote the field, and write "" for the quote`, `3 0 "Tom" 8 ""`}},
		"carriage return first":    {"name,categoryId\n\r\n\rRex\n", []string{`3 "\rRex": the row has 1 fields, the header has 2 columns`}},
		"carriage return in lines": {"name,categoryId\rRex,7\r", []string{`error: line 1: the header has the unknown column "categoryId\rRex": ` + columnsRule}},

		"name of 4 MiB":      {"name,categoryId\n" + long[:file.MaxRow-2] + ",7\nTom,8\n", []string{fmt.Sprintf("2 %q: name %s", long[:file.MaxRow-2]+",7", domain.PetNameRule), `3 0 "Tom" 8 ""`}},
		"row over 4 MiB":     {"name,categoryId\n" + long + ",7\n", []string{"error: line 2: the row is larger than 4 MiB: shorten it, or close a quote that is open in it"}},
		"many fields":        {"name,categoryId\n" + commas[:50_000] + "x\nTom,8\n", []string{fmt.Sprintf("2 %q: the row has 50001 fields, the header has 2 columns", commas[:50_000]+"x"), `3 0 "Tom" 8 ""`}},
		"a line of commas":   {"name,categoryId\n" + commas + "\nTom,8\n", []string{"error: line 2: the line has more than 100000 commas: remove them"}},
		"many quoted commas": {"name,categoryId\n\"" + commas[:200] + "\",7\n", []string{fmt.Sprintf(`2 0 %q 7 ""`, commas[:200])}},
		"header of commas":   {commas + "\n", []string{"error: line 1: the line has more than 100000 commas: remove them"}},
		"quotes over 4 MiB":  {"name,categoryId\n\"" + strings.Repeat("Rex,7\n", 1<<20), []string{"error: line 2: the row is larger than 4 MiB: shorten it, or close a quote that is open in it"}},
	})
}

func TestReadNDJSON(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", file.MaxRow)
	testRead(t, file.NDJSON, map[string]readCase{
		"all members":         {`{"status":"sold","categoryId":-7,"id":9,"name":"Rex"}` + "\r\n", []string{`1 9 "Rex" -7 "sold"`}},
		"required members":    {"{\"name\":\"Rex\",\"categoryId\":7}\n{\"name\":\"Tom\",\"categoryId\":8}", []string{`1 0 "Rex" 7 ""`, `2 0 "Tom" 8 ""`}},
		"unknown member":      {`{"name":"Rex","price":1,"categoryId":7,"":2}`, []string{`1 "{\"name\":\"Rex\",\"price\":1,\"categoryId\":7,\"\":2}": the row has the unknown member "price": remove it or correct its name`}},
		"other letter case":   {`{"Name":"Rex","categoryId":7,"ID":1}`, []string{`1 "{\"Name\":\"Rex\",\"categoryId\":7,\"ID\":1}": name must be spelt name, not "Name"; id must be spelt id, not "ID"`}},
		"escapes":             {`{"name":"\u00e4 \"b\"","categoryId":7}`, []string{`1 0 "ä \"b\"" 7 ""`}},
		"byte order mark":     {"\ufeff{\"name\":\"Rex\",\"categoryId\":7}\n", []string{`1 0 "Rex" 7 ""`}},
		"no bytes":            {"", nil},
		"blank lines":         {"\n  \n\r\n{\"name\":\"Rex\",\"categoryId\":7}\n\n", []string{`4 0 "Rex" 7 ""`}},
		"cut in half":         {`{"name":"Rex","cat`, []string{`1 "{\"name\":\"Rex\",\"cat": the row is not valid JSON: unexpected EOF at byte 18`}},
		"a row with an array": {"\n[]\n{\"name\":\"Rex\",\"categoryId\":7}\n", []string{`2 "[]": the row must be one JSON object`, `3 0 "Rex" 7 ""`}},
		"an array":            {"\ufeff[\n  {\"name\":\"Rex\"", []string{"error: the file is a JSON array: write each of its objects in a line of its own, as jq --compact-output .[] does"}},
		"two objects":         {`{"name":"a","categoryId":7}{}`, []string{`1 "{\"name\":\"a\",\"categoryId\":7}{}": the row is not valid JSON: invalid character '{' after top-level value at byte 27`}},
		"doubled member":      {`{"name":"a","name":"b"}`, []string{`1 "{\"name\":\"a\",\"name\":\"b\"}": the row is not valid JSON: duplicate object member name at byte 12`}},
		"not UTF-8":           {"{\"name\":\"R\xe4x\",\"categoryId\":7}\n", []string{"error: line 1: " + notUTF8}},
		"all rules":           {`{"id":"1","categoryId":null,"status":""}`, []string{`1 "{\"id\":\"1\",\"categoryId\":null,\"status\":\"\"}": id ` + integerRule + "; categoryId must not be null; name is required; status " + domain.PetStatusRule}},
		"id zero":             {`{"id":0,"name":"Rex","categoryId":7}`, []string{`1 "{\"id\":0,\"name\":\"Rex\",\"categoryId\":7}": id must be at least 1`}},
		"row over 4 MiB":      {"\n" + long + "x\n", []string{"error: line 2: the row is larger than 4 MiB: shorten it"}},
		"row of 4 MiB":        {long[:file.MaxRow-len(`{"name":""}`)] + "\n", []string{fmt.Sprintf("1 %q: the row is not valid JSON: invalid character 'x' at start of value at byte 0", long[:file.MaxRow-len(`{"name":""}`)])}},
		"million characters":  {`{"name":"` + long[:1_000_000] + `","categoryId":7}`, []string{fmt.Sprintf("1 %q: name %s", `{"name":"`+long[:1_000_000]+`","categoryId":7}`, domain.PetNameRule)}},
		"last row over 4 MiB": {long + "x", []string{"error: line 1: the row is larger than 4 MiB: shorten it"}},
	})
}

func TestReadReturnsTheErrorOfTheFile(t *testing.T) {
	t.Parallel()
	for _, format := range []file.Format{file.NDJSON, file.CSV} {
		rows := file.NewReader(io.MultiReader(strings.NewReader("name,"), iotest.ErrReader(errFailed)), format)
		if _, err := rows.Read(); !errors.Is(err, errFailed) || err.Error() != "line 1: failed" {
			t.Errorf("%s: got %v, want line 1: %v", format, err, errFailed)
		}
	}
}

var errFailed = errors.New("failed")

func TestFormatFollowsTheExtension(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]file.Format{
		"pets.csv": file.CSV, "a.b/pets.CSV": file.CSV, "pets.ndjson": file.NDJSON, "pets.jsonl": file.NDJSON,
		"pets.json": "", "pets": "", "-": "", "": "", "csv": "", "pets.csv.gz": "",
	} {
		if got := file.FormatOf(path); got != want {
			t.Errorf("%s: got the format %q, want %q", path, got, want)
		}
	}
}

// The test is not parallel: the memory of other tests would count.
func TestReaderLimitsTheMemoryOfARow(t *testing.T) {
	var members strings.Builder
	for i := 0; members.Len() < file.MaxRow-100; i++ {
		fmt.Fprintf(&members, `"%x":1,`, i)
	}
	commas := strings.Repeat(",", file.MaxRow)
	for name, test := range map[string]struct {
		format file.Format
		text   string
	}{
		"header of commas": {file.CSV, commas},
		"row of commas":    {file.CSV, "name,categoryId\n" + commas},
		"quoted fields":    {file.CSV, "name,categoryId\n" + strings.Repeat(`"",`, file.MaxRow/3)},
		"misplaced quotes": {file.CSV, "name,categoryId\n" + commas[1:] + `"`},
		"members":          {file.NDJSON, "{" + members.String() + `"id":1}`},
	} {
		rows := file.NewReader(strings.NewReader(test.text), test.format)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		row, err := rows.Read()
		runtime.ReadMemStats(&after)
		if row.Rule == "" && err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: got %+v, %v, want an invalid row", name, row, err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 100<<20 {
			t.Errorf("%s: allocated %d MiB, want 100 at most", name, allocated>>20)
		}
	}
}

func write[T any](t *testing.T, newWriter func(io.Writer, file.Format) *file.Writer[T], format file.Format, records ...T) string {
	t.Helper()
	var text strings.Builder
	w := newWriter(&text, format)
	for _, record := range records {
		if err := w.Write(record); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestWritePets(t *testing.T) {
	t.Parallel()
	for format, want := range map[file.Format]string{file.CSV: "id,name,categoryId,status\r\n", file.NDJSON: ""} {
		if got := write(t, file.NewPetWriter, format); got != want {
			t.Errorf("%s without a pet: got %q, want %q", format, got, want)
		}
	}
	pets := []domain.Pet{
		{ID: 1, Name: `Rex, the "dog"`, CategoryID: -7, Status: domain.PetSold},
		{ID: math.MaxInt64, Name: " <b>ä", CategoryID: 0},
	}
	for format, want := range map[file.Format]string{
		file.CSV:    "id,name,categoryId,status\r\n1,\"Rex, the \"\"dog\"\"\",-7,sold\r\n9223372036854775807,\" <b>ä\",0,\r\n",
		file.NDJSON: "{\"id\":1,\"name\":\"Rex, the \\\"dog\\\"\",\"categoryId\":-7,\"status\":\"sold\"}\n{\"id\":9223372036854775807,\"name\":\" <b>ä\",\"categoryId\":0}\n",
	} {
		if diff := cmp.Diff(want, write(t, file.NewPetWriter, format, pets...)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", format, diff)
		}
	}
}

func TestWriteOrders(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	order := domain.Order{ID: 3, PetID: 2, Status: domain.OrderPlaced, CreatedAt: noon, UpdatedAt: noon.Add(time.Millisecond)}
	for format, want := range map[file.Format]string{
		file.CSV:    "id,petId,status,createdAt,updatedAt\r\n3,2,placed,2026-11-20T12:00:00.000Z,2026-11-20T12:00:00.001Z\r\n",
		file.NDJSON: "{\"id\":3,\"petId\":2,\"status\":\"placed\",\"createdAt\":\"2026-11-20T12:00:00.000Z\",\"updatedAt\":\"2026-11-20T12:00:00.001Z\"}\n",
	} {
		if diff := cmp.Diff(want, write(t, file.NewOrderWriter, format, order)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", format, diff)
		}
	}
}

func TestFlushReturnsTheErrorOfTheFile(t *testing.T) {
	t.Parallel()
	for _, format := range []file.Format{file.NDJSON, file.CSV} {
		in, out := io.Pipe()
		_ = in.CloseWithError(errFailed) // always nil
		w := file.NewPetWriter(out, format)
		_ = w.Write(domain.Pet{ID: 1, Name: "Rex"})
		if err := w.Flush(); !errors.Is(err, errFailed) {
			t.Errorf("%s: got %v, want %v", format, err, errFailed)
		}
	}
}

func FuzzReadCSV(f *testing.F) {
	for _, seed := range []string{
		"", "\ufeff", "name,categoryId\r\nRex,7\r\n", "id,name,categoryId,status\n1,\"Rex, \"\"x\"\"\",7,sold\n,Tom,8,\n",
		"name,categoryId\n\"Rex,7\n\"Tom\",8\nBob,9\n", "name,categoryId\n\"Rex\r\nTom\",7\nBob,9", "name,categoryId\na\"b,\"c\nTom,8\n",
		"name,categoryId\n7,\"Rex\"x\n", "name;categoryId\n", "name,name\n", "\xff\xfe", "name,categoryId\n\"", "name,categoryId\n\"\"\"\",7\n,\n,,\n", "name,categoryId,,\n\" \",\na,7,,,\nb,8,x\n",
		"name,categoryId\r\n=1+1,7\r\n 'a' ,-0\r", "name,categoryId\n\"a\"\r,7\n", "name,categoryId\n\"a\"\r\n\"b\r\n\",7",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, toEnd := checkRead(t, text, file.CSV)
		if want, ok := completeRows(text); ok && toEnd && got != want { // else the header is invalid
			t.Fatalf("%q: got %d rows, encoding/csv finds %d", text, got, want)
		}
	})
}

// completeRows returns how many rows encoding/csv finds in a text that are not blank and have as many
// fields as the header, both without empty ones at the end, and false if it finds an error or no header.
func completeRows(text []byte) (rows int, ok bool) {
	reference := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	reference.FieldsPerRecord = -1
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

func FuzzReadNDJSON(f *testing.F) {
	for _, seed := range []string{
		"", "\ufeff", "\n\r\n", `{"name":"Rex","categoryId":7}`, "{\"id\":1,\"name\":\"Rex\",\"categoryId\":7,\"status\":\"sold\"}\r\n{}\nnull\n[]\n",
		`{"name":"\ud83d\udc36","categoryId":-0}`, `{"name":"\ud800","categoryId":7}`, "{\"name\":\"\xff\"}", `{"name":"a","name":"b"}`, `{"name":"a"}{}`,
		`{"name":"Rex","cat`, `{"id":0,"name":null,"categoryId":7.0,"status":""}`, `{"id":9223372036854775807,"name":"Rex","categoryId":-9223372036854775808}`,
	} {
		f.Add([]byte(seed))
	}
	for _, name := range []string{ // that need quotes in CSV, escapes in JSON, or mean something to other programs
		" Rex", "Rex ", `"Rex"`, `Rex "the dog"`, "Rex, Tom", ",", `"`, `""`, `\`, `\.`, "'Rex'", "犬🐶", "a\u200db", "\ufeffRex", "Rex\ufeff", "=1+1", "+1", "-1",
		"@SUM(A1)", "Rex;Tom", "<b>&amp;</b>", "a\u2028b", "null", "NULL", "0", "id", "a\u00a0b", "\ufffd", strings.Repeat("🐶", 200),
	} {
		row, err := json.Marshal(map[string]any{"name": name, "categoryId": 7, "status": "pending"})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(row)
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkRead(t, text, file.NDJSON) })
}

// checkRead reads a text. Lines must increase, each row must be a part of the text, valid
// animals must satisfy the rules, and must be read again after they were written. It returns how
// many rows have as many fields as the header, and whether the text was read to its end.
func checkRead(t *testing.T, text []byte, format file.Format) (complete int, toEnd bool) {
	t.Helper()
	var pets []domain.Pet
	rows, line := file.NewReader(bytes.NewReader(text), format), int64(0)
	for {
		row, err := rows.Read()
		if err != nil {
			if toEnd = errors.Is(err, io.EOF); !toEnd && strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: got the error %q, want one line", text, err)
			}
			break
		}
		if row.Line <= line || row.Line > int64(bytes.Count(text, []byte("\n"))+1) || !bytes.Contains(text, row.Text) {
			t.Fatalf("%q: got the row %q in line %d after line %d", text, row.Text, row.Line, line)
		}
		if !strings.Contains(row.Rule, " fields, the header has ") {
			complete++
		}
		if line = row.Line; row.Rule != "" {
			continue
		}
		if err := (domain.NewPet{Name: row.Pet.Name, CategoryID: row.Pet.CategoryID, Status: row.Pet.Status}).Validate(); err != nil || row.Pet.ID < 0 {
			t.Fatalf("%q: got %+v, which is not valid: %v", text, row.Pet, err)
		}
		row.Pet.ID = max(row.Pet.ID, 1) // without an id, the store assigns one
		pets = append(pets, row.Pet)
	}
	for _, format := range []file.Format{file.NDJSON, file.CSV} {
		again := file.NewReader(strings.NewReader(write(t, file.NewPetWriter, format, pets...)), format)
		for _, want := range pets {
			row, err := again.Read()
			if diff := cmp.Diff(want, row.Pet); err != nil || row.Rule != "" || diff != "" {
				t.Fatalf("%q: got %q and %v when it was read again as %s (-want +got)\n%s", text, row.Rule, err, format, diff)
			}
		}
		if _, err := again.Read(); !errors.Is(err, io.EOF) {
			t.Fatalf("%q: got %v after the last row of %s, want EOF", text, err, format)
		}
	}
	return complete, toEnd
}
