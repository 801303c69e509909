package http_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestValuesOfANewPet(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	invalid := func(says ...string) want { return refused(400, "validation_failed", says...) }
	name := func(v string) request { return post(`{"name":` + v + `,"categoryId":7}`) }
	category := func(v string) request { return post(`{"name":"Rex","categoryId":` + v + `}`) }
	status := func(v string) request { return post(`{"name":"Rex","categoryId":7,"status":` + v + `}`) }
	s.run(t, []testCase{
		{"no member at all", post(`{}`), invalid("name is required", "categoryId is required").without("status ")},
		{"no name", post(`{"categoryId":7}`), invalid("name is required").without("categoryId")},
		{"no category", post(`{"name":"Rex"}`), invalid("categoryId is required")},
		{"name in another case", post(`{"Name":"Rex","categoryId":7}`), invalid("name is required")},
		{"category in another case", post(`{"name":"Rex","categoryID":7}`), invalid("categoryId is required")},

		{"name null", name(`null`), invalid("name")},
		{"name a number", name(`7`), invalid("name")},
		{"name a boolean", name(`true`), invalid("name")},
		{"name an array", name(`["Rex"]`), invalid("name")},
		{"name an object", name(`{"first":"Rex"}`), invalid("name")},
		{"name empty", name(`""`), invalid("name")},
		{"name of spaces", name(`"   "`), invalid("name")},
		{"name of no-break spaces", name(`"\u00a0\u202f"`), invalid("name")},
		{"name of ideographic and em spaces", name(`"\u3000\u2003\u2028\u205f\u1680"`), invalid("name")},
		{"name with NUL", name(`"R\u0000ex"`), invalid("name")},
		{"name with a line feed", name(`"R\nex"`), invalid("name")},
		{"name with a tab", name(`"R\tex"`), invalid("name")},
		{"name with an escape", name(`"R\u001bex"`), invalid("name")},
		{"name with DEL", name(`"R\u007fex"`), invalid("name")},
		{"name with next line", name(`"R\u0085ex"`), invalid("name")},
		{"name with the last control character", name(`"R\u009fex"`), invalid("name")},
		{"name with next line, unescaped", name("\"R\u0085ex\""), invalid("name")},
		{"name ending in a line feed", name(`"Rex\n"`), invalid("name")},
		{"name of 201 characters", name(`"` + strings.Repeat("x", 201) + `"`), invalid("name", "200")},
		{"name of 201 characters of four bytes", name(`"` + strings.Repeat("🐶", 201) + `"`), invalid("name", "200")},

		{"category null", category(`null`), invalid("categoryId")},
		{"category a string", category(`"7"`), invalid("categoryId")},
		{"category empty", category(`""`), invalid("categoryId")},
		{"category a boolean", category(`false`), invalid("categoryId")},
		{"category an array", category(`[7]`), invalid("categoryId")},
		{"category with a fraction", category(`7.5`), invalid("categoryId")},
		{"category with a fraction of zero", category(`7.0`), invalid("categoryId")},
		{"category with an exponent", category(`7e0`), invalid("categoryId")},
		{"category with a large exponent", category(`1E400`), invalid("categoryId")},
		{"category beyond the largest", category(`9223372036854775808`), invalid("categoryId")},
		{"category beyond the smallest", category(`-9223372036854775809`), invalid("categoryId")},
		{"category of 1000 digits", category(strings.Repeat("9", 1000)), invalid("categoryId")},

		{"status null", status(`null`), invalid("status")},
		{"status empty", status(`""`), invalid("status", "available, pending or sold")},
		{"status unknown", status(`"gone"`), invalid("status", "available, pending or sold").without("gone")},
		{"status in capitals", status(`"Available"`), invalid("status")},
		{"status with a space", status(`"sold "`), invalid("status")},
		{"status a number", status(`1`), invalid("status")},
		{"status an array", status(`["sold"]`), invalid("status")},
	})
}

func TestBrokenFieldsAreToldInOneMessage(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.run(t, []testCase{
		{
			"each of the wrong type", post(`{"name":1,"categoryId":"x","status":2}`),
			refused(400, "validation_failed", "name", "categoryId", "status"),
		},
		{
			"each null", post(`{"name":null,"categoryId":null,"status":null}`),
			refused(400, "validation_failed", "name must not be null", "categoryId must not be null", "status must not be null"),
		},
		{
			"one missing, one of the wrong type, one unknown", post(`{"categoryId":1.5,"status":"gone"}`),
			refused(400, "validation_failed", "name is required", "categoryId", "status"),
		},
		{
			"two, and one right", post(`{"name":" ","categoryId":0,"status":"gone"}`),
			refused(400, "validation_failed", "name", "status").without("categoryId"),
		},
	})
}

func TestPetIsKeptExactlyAsSent(t *testing.T) {
	t.Parallel()
	for rule, pet := range map[string]string{
		"without a status":              `"name":"Rex","categoryId":7`,
		"available":                     `"name":"Rex","categoryId":7,"status":"available"`,
		"pending":                       `"name":"Rex","categoryId":7,"status":"pending"`,
		"sold":                          `"name":"Rex","categoryId":7,"status":"sold"`,
		"category zero":                 `"name":"Rex","categoryId":0`,
		"category negative":             `"name":"Rex","categoryId":-1`,
		"the largest category":          `"name":"Rex","categoryId":9223372036854775807`,
		"the smallest category":         `"name":"Rex","categoryId":-9223372036854775808`,
		"beyond what a double holds":    `"name":"Rex","categoryId":9007199254740993`,
		"name of one character":         `"name":"x","categoryId":7`,
		"name of 200 characters":        `"name":"` + strings.Repeat("x", 200) + `","categoryId":7`,
		"name of 200 wide characters":   `"name":"` + strings.Repeat("🐶", 200) + `","categoryId":7`,
		"spaces around the name":        `"name":"  Rex  ","categoryId":7`,
		"HTML in the name":              `"name":"<b>R&D</b>","categoryId":7`,
		"SQL in the name":               `"name":"'; DROP TABLE pets; --","categoryId":7`,
		"quotes in the name":            `"name":"\"R\\ex\"","categoryId":7`,
		"line separator in the name":    `"name":"R\u2028ex","categoryId":7`,
		"emoji as surrogates":           `"name":"\ud83d\udc36","categoryId":7`,
		"a name that is not normalised": `"name":"e\u0301\u00e9\u212b","categoryId":7`,
		"invisible characters":          `"name":"\u200b\u202e\ufeff","categoryId":7`,
		"a noncharacter":                `"name":"\uffff","categoryId":7`,
		"the replacement character":     `"name":"\ufffd","categoryId":7`,
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			stored := fmt.Sprintf(`{"id":1,%s}`, pet)
			s.expect(t, post(`{`+pet+`}`), created(stored))
			s.expect(t, get("/v1/pets/1"), ok(stored))
			s.expect(t, get("/v1/pets"), ok(`[`+stored+`]`))
		})
	}
}
