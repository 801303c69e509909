package file_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/delivery/file"
	"example.com/petstore/domain"
)

func FuzzReadCSV(f *testing.F) {
	for _, seed := range []string{
		"", "\ufeff", "name,categoryId\r\nRex,7\r\n", "id,name,categoryId,status\n1,\"Rex, \"\"x\"\"\",7,sold\n,Tom,8,\n",
		"name,categoryId\n\"Rex,7\n\"Tom\",8\nBob,9\n", "name,categoryId\n\"Rex\r\nTom\",7\nBob,9", "name,categoryId\na\"b,\"c\nTom,8\n",
		"name,categoryId\n7,\"Rex\"x\n", "name;categoryId\n", "name,name\n", "\xff\xfe", "name,categoryId\n\"", "name,categoryId\n\"\"\"\",7\n,\n,,\n",
		"name,categoryId\r\n=1+1,7\r\n 'a' ,-0\r", "name,categoryId\n\"a\"\r,7\n", "name,categoryId\n\"a\"\r\n\"b\r\n\",7",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkRead(t, text, file.CSV)
		checkRows(t, text)
	})
}

// checkRows expects the rows that encoding/csv finds in a text, if that finds no error.
func checkRows(t *testing.T, text []byte) {
	t.Helper()
	reference := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	reference.FieldsPerRecord = -1
	records, err := reference.ReadAll()
	if err != nil || len(records) == 0 || !utf8.Valid(text) {
		return
	}
	want := 0
	for _, record := range records[1:] {
		if len(record) == len(records[0]) {
			want++
		}
	}
	rows, got := file.NewReader(bytes.NewReader(text), file.CSV), 0
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return // the header
		}
		if !strings.Contains(row.Rule, " fields, the header has ") {
			got++
		}
	}
	if got != want {
		t.Fatalf("%q: got %d rows, encoding/csv finds %d", text, got, want)
	}
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
// animals must satisfy the rules, and must be read again after they were written.
func checkRead(t *testing.T, text []byte, format file.Format) {
	t.Helper()
	var pets []domain.Pet
	rows, line := file.NewReader(bytes.NewReader(text), format), int64(0)
	for {
		row, err := rows.Read()
		if err != nil {
			if !errors.Is(err, io.EOF) && strings.Count(err.Error(), "\n") > 0 {
				t.Fatalf("%q: got the error %q, want one line", text, err)
			}
			break
		}
		if row.Line <= line || row.Line > int64(bytes.Count(text, []byte("\n"))+1) || !bytes.Contains(text, row.Text) {
			t.Fatalf("%q: got the row %q in line %d after line %d", text, row.Text, row.Line, line)
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
}
