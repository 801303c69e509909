package http_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestCreatedPetIsReturnedAtLocation(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for id := 1; id <= 3; id++ {
		pet := fmt.Sprintf(`{"id":%d,"name":"Rex","categoryId":7,"status":"available"}`, id)
		res := s.expect(t, postPet(`{"name":"Rex","categoryId":7,"status":"available"}`), created(pet).withHeader(notReplayed))
		if location := res.Header.Get("Location"); !regexp.MustCompile(fmt.Sprintf(`pets/%d$`, id)).MatchString(location) {
			t.Errorf("got Location %q, want it to end with pets/%d", location, id)
		}
		location, err := res.Location()
		if err != nil {
			t.Fatal(err)
		}
		s.expect(t, get(location.RequestURI()), ok(pet))
	}
	s.expect(t, get("/v1/pets/4"), rejected(404, "pet_not_found", "4"))
}

func TestRejectedPetIsNotCreated(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, r := range []request{
		postPet(`{"name":"","categoryId":7}`), postPet(`{`), postPet(newRex, "-Content-Type"),
		postPet(newRex, "-Authorization"), postPet(newRex, "Idempotency-Key: "),
	} {
		s.expect(t, r, wantResponse{}.withHeader("-Location"))
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
	s.expect(t, postPet(newRex), created(createdRex))
}

func TestOmittedStatusIsNotReturned(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, postPet(newRex), created("").withoutText("status", "null"))
	s.expect(t, get("/v1/pets/1"), ok("").withoutText("status", "null"))
	s.expect(t, get("/v1/pets"), ok("").withoutText("status", "null"))
	for _, status := range []string{"available", "pending", "sold"} {
		s.expect(t, get("/v1/pets?status="+status), ok(`[]`))
	}
}

func TestCreatePetRejectsInvalidValues(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	invalid := func(message ...string) wantResponse { return rejected(400, "validation_failed", message...) }
	name := func(v string) request { return postPet(`{"name":` + v + `,"categoryId":7}`) }
	category := func(v string) request { return postPet(`{"name":"Rex","categoryId":` + v + `}`) }
	status := func(v string) request { return postPet(`{"name":"Rex","categoryId":7,"status":` + v + `}`) }
	s.run(t, []testCase{
		{"empty object", postPet(`{}`), invalid("name is required", "categoryId is required").withoutText("status ")},
		{"no name", postPet(`{"categoryId":7}`), invalid("name is required").withoutText("categoryId")},
		{"no category", postPet(`{"name":"Rex"}`), invalid("categoryId is required")},
		{"name in another letter case", postPet(`{"Name":"Rex","categoryId":7}`), invalid("name is required")},
		{"category in another letter case", postPet(`{"name":"Rex","categoryID":7}`), invalid("categoryId is required")},

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
		{"category above int64", category(`9223372036854775808`), invalid("categoryId")},
		{"category below int64", category(`-9223372036854775809`), invalid("categoryId")},
		{"category of 1000 digits", category(strings.Repeat("9", 1000)), invalid("categoryId")},

		{"status null", status(`null`), invalid("status")},
		{"status empty", status(`""`), invalid("status", "available, pending or sold")},
		{"status unknown", status(`"gone"`), invalid("status", "available, pending or sold").withoutText("gone")},
		{"status with a capital", status(`"Available"`), invalid("status")},
		{"status with a space", status(`"sold "`), invalid("status")},
		{"status a number", status(`1`), invalid("status")},
		{"status an array", status(`["sold"]`), invalid("status")},
	})
}

func TestAllInvalidFieldsAreReportedInOneMessage(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.run(t, []testCase{
		{
			"each of the wrong type", postPet(`{"name":1,"categoryId":"x","status":2}`),
			rejected(400, "validation_failed", "name", "categoryId", "status"),
		},
		{
			"each null", postPet(`{"name":null,"categoryId":null,"status":null}`),
			rejected(400, "validation_failed", "name must not be null", "categoryId must not be null", "status must not be null"),
		},
		{
			"one missing, one of the wrong type, one unknown", postPet(`{"categoryId":1.5,"status":"gone"}`),
			rejected(400, "validation_failed", "name is required", "categoryId", "status"),
		},
		{
			"two invalid, one valid", postPet(`{"name":" ","categoryId":0,"status":"gone"}`),
			rejected(400, "validation_failed", "name", "status").withoutText("categoryId"),
		},
	})
}

func TestPetIsStoredExactlyAsSent(t *testing.T) {
	t.Parallel()
	s, id := newTestServer(t), 0
	for name, pet := range map[string]string{
		"without a status":              `"name":"Rex","categoryId":7`,
		"available":                     `"name":"Rex","categoryId":7,"status":"available"`,
		"pending":                       `"name":"Rex","categoryId":7,"status":"pending"`,
		"sold":                          `"name":"Rex","categoryId":7,"status":"sold"`,
		"category zero":                 `"name":"Rex","categoryId":0`,
		"category negative":             `"name":"Rex","categoryId":-1`,
		"the largest category":          `"name":"Rex","categoryId":9223372036854775807`,
		"the smallest category":         `"name":"Rex","categoryId":-9223372036854775808`,
		"category beyond float64":       `"name":"Rex","categoryId":9007199254740993`,
		"name of one character":         `"name":"x","categoryId":7`,
		"name of 200 characters":        `"name":"` + strings.Repeat("x", 200) + `","categoryId":7`,
		"name of 200 wide characters":   `"name":"` + strings.Repeat("🐶", 200) + `","categoryId":7`,
		"spaces around the name":        `"name":"  Rex  ","categoryId":7`,
		"HTML in the name":              `"name":"<b>R&D</b>","categoryId":7`,
		"SQL in the name":               `"name":"'; DROP TABLE pets; --","categoryId":7`,
		"quotes in the name":            `"name":"\"R\\ex\"","categoryId":7`,
		"line separator in the name":    `"name":"R\u2028ex","categoryId":7`,
		"surrogate pair in the name":    `"name":"\ud83d\udc36","categoryId":7`,
		"a name that is not normalised": `"name":"e\u0301\u00e9\u212b","categoryId":7`,
		"invisible characters":          `"name":"\u200b\u202e\ufeff","categoryId":7`,
		"the replacement character":     `"name":"\ufffd","categoryId":7`,
	} {
		id++
		stored := fmt.Sprintf(`{"id":%d,%s}`, id, pet)
		t.Log(name)
		s.expect(t, postPet(`{`+pet+`}`), created(stored))
		s.expect(t, get(fmt.Sprintf("/v1/pets/%d", id)), ok(stored))
		s.expect(t, get(fmt.Sprintf("/v1/pets?after=%d", id-1)), ok(`[`+stored+`]`))
	}
}
