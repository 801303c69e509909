package file_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/internal/file"
)

// read reads all rows of a text. It describes a row by its line and its rule or animal. A report is an element "report: …".
// If an error ends reading, it is the last element, as "error: …".
func read(text string, format file.Format, o file.Options) []string {
	var found []string
	o.Report = func(text string) { found = append(found, "report: "+text) }
	rows := file.NewReader(strings.NewReader(text), format, o)
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
	notUTF8     = "the text is not UTF-8: convert it, or add --encoding windows-1252 if the whole file is Windows-1252"
	closeQuote  = `: close it; if it belongs to the value, quote the field, and write "" for the quote`
)

// A readCase is a text and the result of read.
type readCase struct {
	text string
	want []string
}

func testRead(t *testing.T, format file.Format, o file.Options, cases map[string]readCase) {
	t.Helper()
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, read(test.text, format, o)); diff != "" {
				t.Errorf("(-want +got)\n%.2000s", diff)
			}
		})
	}
}

func TestReaderReturnsNDJSONRowsOrTheirErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", file.MaxRow)
	testRead(t, file.NDJSON, file.Options{}, map[string]readCase{
		"all members": {`{"status":"sold","categoryId":-7,"id":9,"name":"Rex"}` + "\r\n", []string{`1 9 "Rex" -7 "sold"`}},
		"required members": {
			"{\"name\":\"Rex\",\"categoryId\":7}\n{\"name\":\"Tom\",\"categoryId\":8}",
			[]string{`1 0 "Rex" 7 ""`, `2 0 "Tom" 8 ""`},
		},
		"unknown member": {
			`{"name":"Rex","price":1,"categoryId":7,"":2}`,
			[]string{`1 "{\"name\":\"Rex\",\"price\":1,\"categoryId\":7,\"\":2}": the row has the unknown member "price": remove it or correct its ` +
				`name`},
		},
		"other letter case": {
			`{"Name":"Rex","categoryId":7,"ID":1}`,
			[]string{`1 "{\"Name\":\"Rex\",\"categoryId\":7,\"ID\":1}": name must be spelt name, not "Name"; id must be spelt id, not "ID"`},
		},
		"escapes":             {`{"name":"\u00e4 \"b\"","categoryId":7}`, []string{`1 0 "ä \"b\"" 7 ""`}},
		"byte order mark":     {"\ufeff{\"name\":\"Rex\",\"categoryId\":7}\n", []string{`1 0 "Rex" 7 ""`}},
		"no bytes":            {"", nil},
		"blank lines":         {"\n  \n\r\n{\"name\":\"Rex\",\"categoryId\":7}\n\n", []string{`4 0 "Rex" 7 ""`}},
		"cut in half":         {`{"name":"Rex","cat`, []string{`1 "{\"name\":\"Rex\",\"cat": the row is not valid JSON: unexpected EOF at byte 18`}},
		"a row with an array": {"\n[]\n{\"name\":\"Rex\",\"categoryId\":7}\n", []string{`2 "[]": the row must be one JSON object`, `3 0 "Rex" 7 ""`}},
		"an array": {
			"\ufeff[\n  {\"name\":\"Rex\"",
			[]string{"error: the file is a JSON array: write each of its objects in a line of its own, as jq --compact-output .[] does"},
		},
		"two objects": {
			`{"name":"a","categoryId":7}{}`,
			[]string{`1 "{\"name\":\"a\",\"categoryId\":7}{}": the row is not valid JSON: invalid character '{' after top-level value at byte 27`},
		},
		"doubled member": {
			`{"name":"a","name":"b"}`,
			[]string{`1 "{\"name\":\"a\",\"name\":\"b\"}": the row is not valid JSON: duplicate object member name at byte 12`},
		},
		"not UTF-8":    {"{\"name\":\"R\xe4x\",\"categoryId\":7}\n", []string{`1 "{\"name\":\"R\xe4x\",\"categoryId\":7}": ` + notUTF8}},
		"rejected row": {`{"rule":"line 3: x","name":"Rex","categoryId":7}`, []string{`1 0 "Rex" 7 ""`}},
		"all rules": {
			`{"id":"1","categoryId":null,"status":""}`,
			[]string{`1 "{\"id\":\"1\",\"categoryId\":null,\"status\":\"\"}": id ` + integerRule +
				"; categoryId must not be null; name is required; status " + domain.PetStatusRule},
		},
		"id zero": {
			`{"id":0,"name":"Rex","categoryId":7}`,
			[]string{`1 "{\"id\":0,\"name\":\"Rex\",\"categoryId\":7}": id must be at least 1`},
		},
		"row over 512 KiB": {"\n" + long + "x\n", []string{"error: line 2: the row is larger than 512 KiB: shorten it"}},
		"row of 512 KiB": {
			long[:file.MaxRow-len(`{"name":""}`)] + "\n",
			[]string{fmt.Sprintf("1 %q: the row is not valid JSON: invalid character 'x' at start of value at byte 0",
				long[:file.MaxRow-len(`{"name":""}`)])},
		},
		"many characters": {
			`{"name":"` + long[:100_000] + `","categoryId":7}`,
			[]string{fmt.Sprintf("1 %q: name %s", `{"name":"`+long[:100_000]+`","categoryId":7}`, domain.PetNameRule)},
		},
		"last row over 512 KiB": {long + "x", []string{"error: line 1: the row is larger than 512 KiB: shorten it"}},
	})
}

func TestReadReturnsTheErrorOfTheFile(t *testing.T) {
	t.Parallel()
	for _, format := range []file.Format{file.NDJSON, file.CSV} {
		rows := file.NewReader(io.MultiReader(strings.NewReader("name,"), iotest.ErrReader(errFailed)), format, file.Options{})
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

// The test is not parallel, because the memory of other tests would count.
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
		rows := file.NewReader(strings.NewReader(test.text), test.format, file.Options{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		row, err := rows.Read()
		runtime.ReadMemStats(&after)
		if row.Rule == "" && err == nil { // rows of empty fields are skipped
			t.Errorf("%s: got %+v, %v, want an invalid row", name, row, err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 100<<20 {
			t.Errorf("%s: allocated %d MiB, want 100 at most", name, allocated>>20)
		}
	}
}

func FuzzReadNDJSON(f *testing.F) {
	for _, seed := range []string{
		"", "\ufeff", "\n\r\n", `{"name":"Rex","categoryId":7}`, "{\"id\":1,\"name\":\"Rex\",\"categoryId\":7,\"status\":\"sold\"}\r\n{}\nnull\n[]\n",
		`{"name":"\ud83d\udc36","categoryId":-0}`, `{"name":"\ud800","categoryId":7}`, "{\"name\":\"\xff\"}",
		`{"name":"a","name":"b"}`, `{"name":"a"}{}`, `{"name":"Rex","cat`, `{"id":0,"name":null,"categoryId":7.0,"status":""}`,
		`{"id":9223372036854775807,"name":"Rex","categoryId":-9223372036854775808}`,
	} {
		f.Add([]byte(seed))
	}
	for _, name := range []string{ // these names need quotes in CSV, escapes in JSON, or mean something to other programs
		" Rex", "Rex ", `"Rex"`, `Rex "the dog"`, "Rex, Tom", ",", `"`, `""`, `\`, `\.`, "'Rex'", "犬🐶", "a\u200db", "\ufeffRex", "Rex\ufeff",
		"=1+1", "+1", "-1", "@SUM(A1)", "Rex;Tom",
		"<b>&amp;</b>", "a\u2028b", "null", "NULL", "0", "id", "a\u00a0b", "\ufffd", strings.Repeat("🐶", 200),
	} {
		row, err := json.Marshal(map[string]any{"name": name, "categoryId": 7, "status": "pending"})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(row)
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkRead(t, text, file.NDJSON) })
}

// checkRead reads a text. The lines must increase, and each row must be a part of the text. Valid animals
// must satisfy the rules, and must be the same when they are written and read again. checkRead returns the
// number of rows with as many fields as the header, and whether it has read the whole text.
func checkRead(t *testing.T, text []byte, format file.Format) (complete int, toEnd bool) {
	t.Helper()
	var pets []domain.Pet
	lines := text // as the Reader splits them
	if start := text[:min(len(text), 64<<10)]; !bytes.Contains(start, []byte("\n")) {
		lines = bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	}
	rows, line := file.NewReader(bytes.NewReader(text), format, file.Options{}), int64(0)
	for {
		row, err := rows.Read()
		if err != nil {
			if toEnd = errors.Is(err, io.EOF); !toEnd && strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: got the error %q, want one line", text, err)
			}
			break
		}
		if row.Line <= line || row.Line > int64(bytes.Count(lines, []byte("\n"))+1) || !bytes.Contains(lines, row.Text) {
			t.Fatalf("%q: got the row %q in line %d after line %d", text, row.Text, row.Line, line)
		}
		if !strings.Contains(row.Rule, " fields, the header has ") {
			complete++
		}
		if line = row.Line; row.Rule != "" {
			continue
		}
		if err := (domain.NewPet{Name: row.Pet.Name, CategoryID: row.Pet.CategoryID, Status: row.Pet.Status}).Validate(); err != nil ||
			row.Pet.ID < 0 {
			t.Fatalf("%q: got %+v, which is not valid: %v", text, row.Pet, err)
		}
		row.Pet.ID = max(row.Pet.ID, 1) // without an id, the store assigns one
		pets = append(pets, row.Pet)
	}
	for _, format := range []file.Format{file.NDJSON, file.CSV} {
		again := file.NewReader(strings.NewReader(write(t, file.NewPetWriter, format, pets...)), format, file.Options{})
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
