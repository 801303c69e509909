package http_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"example.com/petstore/domain"
)

func TestUnknownParameterIsRejected(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, r := range documentedOperations() {
		path := r.path
		r.body = `{"name":"Rex","categoryId":7,"petId":1}`
		if strings.HasSuffix(path, "/batch") {
			r.body = "[" + r.body + "]"
		}
		for query, message := range map[string]string{
			"x":        `"x" is not a parameter of this operation`,
			"=":        `"" is not a parameter of this operation`,
			"%0A%ff=1": `"\n\xff" is not a parameter of this operation`,
			"%zz":      "the query string is malformed",
			s.key:      "the query has a parameter that this operation does not have",
		} {
			r.path = path + "?" + query
			s.expect(t, r, rejected(400, "invalid_parameter", message))
		}
	}
	for query, want := range map[string]string{
		"sort=newest":  `sort must be id or -id`,
		"p=x&xy=x":     `"p" is not a parameter of this operation; "xy" is not`,
		"Q=x":          `"Q" is not a parameter of this operation: did you mean q?`,
		"q=":           `q must not be empty`,
		"q=%20":        `q must be 1 to 200 characters, not blank`,
		"statuss=sold": `"statuss" is not a parameter of this operation: did you mean status?`,
		"limti=1":      `"limti" is not a parameter of this operation: did you mean limit?`,
		"categoryID=7": `"categoryID" is not a parameter of this operation: did you mean categoryId?`,
		"LIMIT=1&page=2&after=-1": `"LIMIT" is not a parameter of this operation: did you mean limit?; ` +
			`"page" is not a parameter of this operation; after must be at least 0`,
	} {
		s.expect(t, get("/v1/pets?"+query), rejected(400, "invalid_parameter", want))
	}
	unknown := strings.Repeat("x", 9) + strings.Join(strings.Split("abcdefghijklmnop", ""), "&")
	many := s.expect(t, get("/v1/pets?"+unknown), rejected(400, "invalid_parameter"))
	if got := strings.Count(string(many.body), " is not "); got != 10 {
		t.Errorf("got %d of 16 unknown parameters in %s, want 10", got, many.body)
	}
}

func TestParametersOfTheHostAreIgnored(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, withoutOthers, func(o *apiOptions) { o.IgnoredParameters = []string{"tenant", "a b"} })
	for _, r := range documentedOperations() {
		r.path, r.body = r.path+"?tenant=3&a+b&%74enant&x=1", `{"name":"Rex","categoryId":7,"petId":1}`
		if strings.Contains(r.path, "/batch") {
			r.body = "[" + r.body + "]"
		}
		s.expect(t, r, rejected(400, "invalid_parameter", `"x" is not a parameter of this operation`).withoutText("tenant"))
	}
	s.createPets(t, newPets(2, "")...)
	for _, query := range []string{"tenant=3&limit=1", "limit=1&tenant=4", "limit=1&after=0&a%20b=%zz", "limit=1&after=0"} {
		want := `<?limit=1&after=1>; rel="next"`
		s.expect(t, get("/v1/pets?"+query), ok(`[`+createdRex+`]`).withHeader("Link: "+want))
	}
	if misses := s.scrape(t)[`petstore_http_page_cache_requests_total{result="miss"}`]; misses != "1" {
		t.Errorf("got %s pages in the cache, want one for all", misses)
	}
	s.expect(t, get("/v1/pets?tenant=3&limit=x"), rejected(400, "invalid_parameter", "limit must be"))
}

// A listed record is a pet or an order of a list.
type listed struct {
	ID, PetID, CategoryID int64
	Status, Name          string
}

// FuzzQuery sends any query to both lists. A second implementation of the documented parameters must return
// the same page and link, or the same code of an error.
func FuzzQuery(f *testing.F) {
	s := newFuzzServer(f)
	pets, orders := make([]listed, 110), make([]listed, 110)
	for i := range pets {
		id := int64(i + 1)
		pets[i] = listed{
			ID: id, CategoryID: []int64{7, -1}[i%2],
			Status: []string{"", "available", "sold"}[i%3], Name: []string{"Rex", "R%x, ß", "Luna_é"}[i/2%3],
		}
		orders[i] = listed{ID: id, PetID: []int64{id, id, 2}[i%3], Status: []string{"placed", "delivered", "cancelled"}[i%3]}
		s.createPets(f, domain.NewPet{Name: pets[i].Name, CategoryID: pets[i].CategoryID, Status: domain.PetStatus(pets[i].Status)})
		const insert = "INSERT INTO orders (id, pet_id, status, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)"
		s.database.Exec(f, insert, id, orders[i].PetID, orders[i].Status, noon.UnixMilli())
	}
	for _, seed := range querySeeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		s.checkList(t, "/v1/pets", query, pets, petStatus, "categoryId")
		s.checkList(t, "/v1/store/orders", query, orders, orderStatus, "petId")
	})
}

var querySeeds = []string{
	"", "&", "&&", "offset=5&page=2&x&=y&sort=-id", "x=&x=", "limit=3&x=%3E%22&page=2", "Limit=0&LIMIT=x", // unknown parameters
	"limit=1", "limit=2", "limit=20", "limit=99", "limit=100", "limit=007", "l%69mit=3", "limit=100&after=1", "limit=3&after=3", "limit=3&after=107",
	"q=rex", "q=R%25X&limit=3", "q=%25", "q=_&sort=-id&limit=5", "q=x%2C+S&limit=1&after=7", "q=e%CC%81&categoryId=7&limit=2", "q=E&id=1,2,3",
	"q=", "q", "q=+", "q=%ff",
	"q=%00", "q=%09", "q=a&q=b", "q=a,b", "q=%EF%BF%BF", "q=" + strings.Repeat("x", 201), "q=%F0%9F%90%B6", "q=r&status=sold,none&limit=2",
	"limit=0", "limit=101", "limit=-1", "limit=-0", "limit=1000000", "limit=2147483648", "limit=4294967297", "limit=9223372036854775808",
	"limit=99999999999999999999999", "limit=", "limit", "limit=+", "limit=+5", "limit=%2B5", "limit=5.0", "limit=5.", "limit=5e0", "limit=0x10",
	"limit=1_0", "limit=five", "limit=%205", "limit=5%20", "limit=5,6", "limit=٥", "limit=5%00", "limit=[5]", "limit=5&limit=5", "limit=5&limit=",
	"limit=5&l%69mit=6", "l%69mit=0", "after=0", "after=1", "after=5", "after=110", "after=9223372036854775807",
	"after=", "after=-1", "after=-0", "after=-00", "after=9223372036854775808", "after=-9223372036854775809", "after=--1", "after=x",
	"after=1&after=2",
	"status=sold", "status=available&limit=3&after=7", "status=pending", "status=%73old", "status=placed", "status=cancelled&limit=1",
	"status=delivered",
	"status=", "status", "status=gone", "status=Sold", "status=Placed", "status=sold%20", "status=sold,pending", "status=sold&status=sold",
	"status=sold&status=pending", "status=placed&status=placed",
	"status=available&status=sold,none&limit=3", "status=cancelled&status=placed&limit=1", "status=sold%2Cavailable&limit=1", "status=sold&status=",
	"status=sold&status=gone", "id=3&id=7", "id=7%2C3&id=12&sort=-id", "id=1&id=",
	"id=1&id=x", "id=1,2&id=2", "status='", "status=%ff", "petId=1", "petId=2", "petId=0", "petId=4711",
	"petId=1&limit=1", "petId=2&status=cancelled&limit=1", "petId=", "petId=x", "petId=%2B1", "petId=-1", "petId=-0", "petId=1.0",
	"categoryId=7", "categoryId=-1&limit=3", "categoryId=-01&limit=3", "categoryId=-1&status=sold&limit=1", "categoryId=0", "categoryId=-0",
	"categoryId=", "categoryId=x",
	"status=sold,available", "status=available,sold,none&limit=3", "status=none", "status=none,none", "status=,sold", "status=sold,",
	"status=sold,gone",
	"status=placed,cancelled", "status=cancelled,placed&limit=2&after=4", "status=delivered,delivered", "status=sold,none&categoryId=7&limit=2",
	"id=3,7,12", "id=12,3,7&sort=-id", "id=1", "id=111", "id=1,111,9223372036854775807", "id=0", "id=-1", "id=1,1", "id=1,01",
	"id=", "id=1,,2", "id=x", "id=1&id=2",
	"id=+1", "id=%2B1", "id=9223372036854775808", "id=3,4,5&status=sold,none", "id=3,4,5&categoryId=7", "id=3,4,5&after=3", "id=3,4,5&limit=1",
	"id=3,4&limit=0",
	"id=" + joinedIDs(100), "id=" + joinedIDs(101),
	"sort=id", "sort=-id", "sort=-id&after=50&limit=4", "sort=-id&after=1", "sort=-id&status=sold&limit=3",
	"sort=-id&status=sold,none&categoryId=-1&limit=3&after=90",
	"sort=", "sort=name", "sort=id&sort=-id", "sort=ID", "sort=%2Did", "sort=-id&petId=2&limit=5", "sort=-id&status=placed,cancelled&petId=2&limit=5",
	"categoryId=-9223372036854775808", "categoryId=-9223372036854775809", "categoryId=7&categoryId=7", "categoryId=7&petId=x",
	"petId=9223372036854775808", "petId=1&petId=1", "limit=0&status=gone&after=x", // several errors
	"status=%", "status=%4", "limit=%zz", "x=%zz", "%zz=1", "x=%", "a;b", "limit=5;status=sold", "x=a;b", "%00=1", "\xff", // malformed
}

// joinedIDs returns the numbers from 1 to n.
func joinedIDs(n int) string {
	var ids []string
	for i := range n {
		ids = append(ids, strconv.Itoa(i+1))
	}
	return strings.Join(ids, ",")
}

// checkList sends a query and compares the response with the page, or the error, that the query must get. all has all
// records of the list.
func (s *testServer) checkList(t *testing.T, path, query string, all []listed, statuses *regexp.Regexp, reference string) {
	t.Helper()
	w := s.roundTrip(t, http.MethodGet, path, query, "", http.Header{})
	values, err := url.ParseQuery(query)
	if err != nil {
		wantError(t, w, "invalid_parameter", nil)
		return
	}
	var invalid []string
	number := func(name string, smallest, largest, missing int64) int64 {
		texts, given := values[name]
		if !given {
			return missing
		}
		n, err := strconv.ParseInt(texts[0], 10, 64)
		isInteger := len(texts) == 1 && regexp.MustCompile(`^-?[0-9]+$`).MatchString(texts[0]) && (n != 0 || texts[0][0] != '-')
		if !isInteger || err != nil || n < smallest || n > largest {
			invalid = append(invalid, name)
		}
		return n
	}
	limit, after := number("limit", 1, 100, 20), number("after", 0, math.MaxInt64, 0)
	for name := range maps.Keys(values) {
		known := []string{"limit", "after", "sort", "status", reference}
		if !slices.Contains(known, name) && (name != "id" && name != "q" || reference != "categoryId") {
			invalid = append(invalid, strconv.Quote(name)+" is not a parameter of this operation")
		}
	}
	filters := ""
	// list returns the elements of a parameter, in the order in which a link to the next page has them.
	list := func(name string, valid func(string) bool, key func(string) string, compare func(a, b string) int) (elements []string) {
		texts, given := values[name]
		if !given {
			return nil
		}
		for text := range strings.SplitSeq(strings.Join(texts, ","), ",") {
			if !valid(text) {
				invalid = append(invalid, name)
				return nil
			}
			elements = append(elements, key(text))
		}
		slices.SortFunc(elements, compare)
		if len(elements) > 100 || len(slices.Compact(slices.Clone(elements))) < len(elements) {
			invalid = append(invalid, name)
		}
		return elements
	}
	same := func(text string) string { return text }
	wanted := list("status", statuses.MatchString, same, strings.Compare)
	if wanted != nil {
		filters = "&status=" + strings.Join(wanted, "%2C")
	}
	smallest := map[string]int64{"petId": 0, "categoryId": math.MinInt64}[reference]
	id := number(reference, smallest, math.MaxInt64, 0)
	if values.Has(reference) {
		filters += "&" + reference + "=" + strconv.FormatInt(id, 10)
	}
	var ids []string
	if reference == "categoryId" {
		isID := func(text string) bool {
			n, err := strconv.ParseInt(text, 10, 64)
			return err == nil && n > 0 && text[0] != '+'
		}
		ids = list("id", isID, func(text string) string { return strings.TrimLeft(text, "0") }, strings.Compare)
	}
	text := values.Get("q")
	if reference == "categoryId" && values.Has("q") {
		filters += "&q=" + url.QueryEscape(text)
		if len(values["q"]) > 1 || !domain.ValidPetName(text) {
			invalid = append(invalid, "q")
		}
	}
	newest := values.Get("sort") == "-id"
	if texts := values["sort"]; len(texts) > 1 || len(texts) == 1 && !newest && texts[0] != "id" {
		invalid = append(invalid, "sort")
	}
	if newest {
		filters += "&sort=-id"
	}
	if invalid != nil {
		wantError(t, w, "invalid_parameter", invalid)
		return
	}
	want := slices.DeleteFunc(slices.Clone(all), func(r listed) bool {
		behind := r.ID <= after
		if newest {
			behind = after > 0 && r.ID >= after
		}
		return ids == nil && behind ||
			wanted != nil && !slices.Contains(wanted, cmp.Or(r.Status, "none")) ||
			ids != nil && !slices.Contains(ids, strconv.FormatInt(r.ID, 10)) ||
			text != "" && !strings.Contains(domain.FoldName(r.Name), domain.FoldName(text)) ||
			values.Has(reference) && map[string]int64{"petId": r.PetID, "categoryId": r.CategoryID}[reference] != id
	})
	if newest {
		slices.Reverse(want)
	}
	link := ""
	if len(want) > int(limit) && ids == nil {
		want = want[:limit]
		link = fmt.Sprintf(`<?limit=%d%s&after=%d>; rel="next"`, limit, filters, want[limit-1].ID)
	}
	var got []listed
	if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != http.StatusOK || err != nil {
		t.Fatalf("%q: got %d %s, want a page", query, w.Code, w.Body)
	}
	if diff := gocmp.Diff(want, got); diff != "" || w.Header().Get("Link") != link {
		t.Fatalf("%s?%q: got Link %q, want %q; page (-want +got):\n%s", path, query, w.Header().Get("Link"), link, diff)
	}
}

var (
	petStatus   = regexp.MustCompile(`^(available|pending|sold|none)$`)
	orderStatus = regexp.MustCompile(`^(placed|delivered|cancelled)$`)
)
