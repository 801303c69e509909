package file_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/internal/file"
)

// reject returns the file of the rows of a text that violate a rule.
func reject(t *testing.T, text string, format file.Format) string {
	t.Helper()
	var out strings.Builder
	rows := file.NewReader(strings.NewReader(text), format, file.Options{})
	rejects := file.NewRejects(&out, rows)
	for {
		row, err := rows.Read()
		if err == nil && row.Rule != "" {
			err = rejects.Write(row)
		}
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The file of the rejects can be corrected and read again. What is rejected once more has its new rule first.
func TestRejectsAreRowsAsTheyWereReadWithTheirRules(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		format      file.Format
		text, want  string
		old, mended string   // a part of want, and its correction
		read        []string // the corrected file
	}{
		"CSV": {
			file.CSV, "Zoo\r\nName;Preis;categoryId\r\nRex;1,50;x\r\nTom;2;8\r\n\"a\"b;3;9\r\n",
			"\ufeffrule;Name;Preis;categoryId\r\n\"line 3: categoryId " + integerRule + "\";Rex;1,50;x\r\n" +
				"\"line 5: text follows a closing quote: write \"\"\"\" for a quote within a quoted field\";\"a\"b;3;9\r\n",
			";x", ";7",
			[]string{
				`report: ignored other columns: "Preis"`, `2 0 "Rex" 7 ""`,
				`3 "\"line 5: text follows a closing quote: write \"\"\"\" for a quote within a quoted field\";\"a\"b;3;9": ` +
					`text follows a closing quote: write "" for a quote within a quoted field`,
			},
		},
		"NDJSON": {
			file.NDJSON, "{\"name\":\"Rex\",\"categoryId\":\"7\"}\n[]\n{}\n{\"name\":\"Tom\"",
			"{\"rule\":\"line 1: categoryId " + integerRule + "\",\"name\":\"Rex\",\"categoryId\":\"7\"}\n" +
				"{\"rule\":\"line 2: the row must be one JSON object\",\"row\":\"[]\"}\n" +
				"{\"rule\":\"line 3: name is required; categoryId is required\"}\n" +
				"{\"rule\":\"line 4: the row is not valid JSON: unexpected EOF at byte 13\",\"name\":\"Tom\"\n",
			`"7"`, "7", nil,
		},
		"NDJSON again": {
			file.NDJSON, `{"rule":"line 7: \"x\"","name":"Rex"}`,
			"{\"rule\":\"line 1: categoryId is required\",\"name\":\"Rex\"}\n", `"Rex"`, `"Rex","categoryId":7`,
			[]string{`1 0 "Rex" 7 ""`},
		},
	} {
		got := reject(t, test.text, test.format)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if test.read == nil {
			continue
		}
		if diff := cmp.Diff(test.read, read(strings.Replace(got, test.old, test.mended, 1), test.format, file.Options{})); diff != "" {
			t.Errorf("%s, corrected (-want +got)\n%s", name, diff)
		}
	}
}
