package file_test

import (
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
	"example.com/petstore/internal/file"
	"example.com/petstore/internal/test/testkit"
)

func write[T any](t *testing.T, newWriter func(io.Writer, file.Format, rune) *file.Writer[T], format file.Format, records ...T) string {
	t.Helper()
	var text strings.Builder
	w := newWriter(&text, format, ',')
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

func TestPetsAreWrittenInEachFormat(t *testing.T) {
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
		file.CSV: "id,name,categoryId,status\r\n1,\"Rex, the \"\"dog\"\"\",-7,sold\r\n9223372036854775807,\" <b>ä\",0,\r\n",
		file.NDJSON: "{\"id\":1,\"name\":\"Rex, the \\\"dog\\\"\",\"categoryId\":-7,\"status\":\"sold\"}\n{\"id\":9223372036854775807,\"name\":\" " +
			"<b>ä\",\"categoryId\":0}\n",
	} {
		if diff := cmp.Diff(want, write(t, file.NewPetWriter, format, pets...)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", format, diff)
		}
	}
}

func TestEachFormatHasEveryFieldOfAPet(t *testing.T) {
	t.Parallel()
	want := testkit.Filled[domain.Pet](t, domain.PetSold)
	for _, format := range []file.Format{file.NDJSON, file.CSV} {
		row, err := file.NewReader(strings.NewReader(write(t, file.NewPetWriter, format, want)), format, file.Options{}).Read()
		testkit.Equal(t, string(format)+" that is read again", want, row.Pet, err)
	}
}

func TestSpreadsheetRunsNoNameAsAFormula(t *testing.T) {
	t.Parallel()
	for name, cell := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM(A1)": "'@SUM(A1)", "＝1": "'＝1", "'=1": "''=1", "''@a": "'''@a", `=a,"b"`: `"'=a,""b"""`,
		"'tis": "'tis", "'": "'", "''": "''", "a=1": "a=1", " =1": `" =1"`,
		"x;=1+1": `"x;'=1+1"`, "y,=1+1": `"y,'=1+1"`, "Rex;=1+1;x,'@a": `"Rex;'=1+1;x,''@a"`, `"=1`: `"'""=1"`, `x;"=1"`: `"x;'""=1"""`,
		"a;b": `"a;b"`, "a;": `"a;"`, ";;-": `";;'-"`, "a; =1": `"a; =1"`,
	} {
		pet := domain.Pet{ID: 1, Name: name, CategoryID: -7}
		text := write(t, file.NewPetWriter, file.CSV, pet)
		if want := "id,name,categoryId,status\r\n1," + cell + ",-7,\r\n"; text != want {
			t.Errorf("%s: got %q, want %q", name, text, want)
		}
		row, err := file.NewReader(strings.NewReader(text), file.CSV, file.Options{AllColumns: true, RequireID: true}).Read()
		testkit.Equal(t, name+" that is read again", pet, row.Pet, err)
	}
}

// A spreadsheet may split a line at any delimiter, and need not take a quote within a field for one.
func FuzzNamesAreNoFormulasAndAreReadAgain(f *testing.F) {
	for _, name := range []string{"=1+1", "x;=1+1", `x;"=1+1&"`, "'=a,'+b;''-c", `"`, `";"`, " Rex ", `'";,'`, "a,＝b"} {
		f.Add(name)
	}
	cell := regexp.MustCompile(`(^|[,;\t])"*[=+\-@＝＋－＠]`)
	f.Fuzz(func(t *testing.T, name string) {
		pet := domain.Pet{ID: 1, Name: name, CategoryID: 7, Status: domain.PetSold}
		if pet.New().Validate() != nil {
			return // the store has no such name
		}
		for _, delimiter := range ",;\t" {
			text := write(t, withDelimiter(delimiter), file.CSV, pet)
			_, row, _ := strings.Cut(text, "\r\n")
			if found := cell.FindString(row); found != "" {
				t.Fatalf("%q: got the row %q, in which %q begins a formula", name, row, found)
			}
			read, err := file.NewReader(strings.NewReader(text), file.CSV, file.Options{AllColumns: true, RequireID: true}).Read()
			testkit.Equal(t, name+" that is read again", pet, read.Pet, err)
		}
	})
}

// withDelimiter returns a NewPetWriter that ignores its own delimiter.
func withDelimiter(delimiter rune) func(io.Writer, file.Format, rune) *file.Writer[domain.Pet] {
	return func(out io.Writer, format file.Format, _ rune) *file.Writer[domain.Pet] {
		return file.NewPetWriter(out, format, delimiter)
	}
}

func TestEachDelimiterIsReadAgain(t *testing.T) {
	t.Parallel()
	pet := domain.Pet{ID: 1, Name: "a,b;c", CategoryID: 7}
	for delimiter, want := range map[rune]string{
		',': "id,name,categoryId,status\r\n1,\"a,b;c\",7,\r\n", ';': "id;name;categoryId;status\r\n1;\"a,b;c\";7;\r\n",
		'\t': "id\tname\tcategoryId\tstatus\r\n1\t\"a,b;c\"\t7\t\r\n",
	} {
		text := write(t, withDelimiter(delimiter), file.CSV, pet)
		if text != want {
			t.Errorf("got %q, want %q", text, want)
		}
		row, err := file.NewReader(strings.NewReader(text), file.CSV, file.Options{AllColumns: true, RequireID: true}).Read()
		testkit.Equal(t, string(delimiter)+" that is read again", pet, row.Pet, err)
	}
}

func TestOrdersAreWrittenInEachFormat(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	order := domain.Order{ID: 3, PetID: 2, Status: domain.OrderPlaced, CreatedAt: noon, UpdatedAt: noon.Add(time.Millisecond)}
	for format, want := range map[file.Format]string{
		file.CSV:    "id,petId,status,createdAt,updatedAt\r\n3,2,placed,2026-11-20T12:00:00.000Z,2026-11-20T12:00:00.001Z\r\n",
		file.NDJSON: `{"id":3,"petId":2,"status":"placed","createdAt":"2026-11-20T12:00:00.000Z","updatedAt":"2026-11-20T12:00:00.001Z"}` + "\n",
	} {
		if diff := cmp.Diff(want, write(t, file.NewOrderWriter, format, order)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", format, diff)
		}
	}
}

// A line is a change as the API sends it.
func TestChangesAreWrittenAsNDJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 12, 0, 0, 1e6, time.UTC)
	header := domain.ChangeHeader{Seq: 7, Type: domain.ChangePetUpdated, At: at, Caller: `user:"ann"`}
	const records = `{"pet":{"id":1,"name":"Rex <1>","categoryId":7},"before":{"id":1,"name":"Rex","categoryId":7}}`
	got := write(t, func(out io.Writer, _ file.Format, _ rune) *file.Writer[domain.RecordedChange] {
		return file.NewChangeWriter(out)
	}, file.NDJSON,
		domain.RecordedChange{ChangeHeader: header, Records: []byte(records)})
	want := `{"seq":7,"type":"pet.updated","at":"2026-11-20T12:00:00.001Z","caller":"user:\"ann\"",` + records[1:] + "\n"
	testkit.Equal(t, "the line", want, got)
}

func TestFlushReturnsTheErrorOfTheFile(t *testing.T) {
	t.Parallel()
	for _, format := range []file.Format{file.NDJSON, file.CSV} {
		in, out := io.Pipe()
		_ = in.CloseWithError(errFailed) // always nil
		w := file.NewPetWriter(out, format, ',')
		_ = w.Write(domain.Pet{ID: 1, Name: "Rex"})
		if err := w.Flush(); !errors.Is(err, errFailed) {
			t.Errorf("%s: got %v, want %v", format, err, errFailed)
		}
	}
}
