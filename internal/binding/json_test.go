package binding_test

import (
	"runtime"
	"strings"
	"testing"

	"example.com/petstore/internal/binding"
	"example.com/petstore/internal/test/testkit"
)

type element struct {
	Name *string `json:"name" validate:"required"`
}

// A body of 64 KiB may have thousands of elements. The test is not parallel, because the memory of other tests would count.
func TestJSONArrayLimitsTheMemoryOfElements(t *testing.T) {
	for _, text := range []string{"0,", "{},", `{"nme":0},`} {
		raw := []byte("[" + strings.Repeat(text, (64<<10)/len(text)) + "0]")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := binding.JSONArray[element](raw, "the body")
		runtime.ReadMemStats(&after)
		testkit.WantMessage(t, text, err, "must have 1 to 100 animals")
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 1<<20 {
			t.Errorf("%s: allocated %d KiB, want 1024 at most", text, allocated>>10)
		}
	}
}

func TestJSONArrayRejectsOtherValues(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`null`:   "the body must be one JSON array",
		`{}`:     "the body must be one JSON array",
		`{"a":}`: "the body is not valid JSON: missing value after object name at byte 5",
		`[{},]`:  "the body is not valid JSON: ",
		`[] x`:   "the body is not valid JSON: ",
		`[null]`: "[0] must be a JSON object",
	} {
		_, err := binding.JSONArray[element]([]byte(raw), "the body")
		testkit.WantMessage(t, raw, err, want)
	}
}
