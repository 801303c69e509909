package file_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"example.com/petstore/delivery/file"
)

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
