package http_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	gocmp "github.com/google/go-cmp/cmp"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
	"example.com/petstore/internal/test/testkit"
)

// TestChosenNameDoesNotKeepTheETag chooses the name of a new animal so that a page keeps its XXH64. A
// client that may write could do that with any hash that is not cryptographic. The ETag of the page must
// change. With PETSTORE_TEST_FORGE=1m, it tries such names and others for a minute.
func TestChosenNameDoesNotKeepTheETag(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, postPet(`{"name":"Rex","categoryId":1}`), created(""))
	before := s.expect(t, get("/v1/pets"), ok(""))
	f := forger{beforeName: string(before.body[:len(before.body)-1]) + `,{"id":2,"name":"`, afterName: `","categoryId":1}]`}
	body, hash := "", xxhash.Sum64(before.body)
	for i := 0; !isName(body) && i < 1_000_000; i++ {
		body = f.withHash(i, hash)
	}
	name := strings.TrimSuffix(strings.TrimPrefix(body, f.beforeName), f.afterName)
	pet, err := json.Marshal(map[string]any{"name": name, "categoryId": 1})
	check(t, err)
	s.expect(t, postPet(string(pet)), created(""))
	tag := before.Header.Get("ETag")
	after := s.expect(t, get("/v1/pets", "If-None-Match: "+tag), ok(body))
	if forged := xxhash.Sum64(after.body) == hash; !forged || after.Header.Get("ETag") == tag {
		t.Errorf("got ETag %s, which the page before had: %t; the name was chosen well: %t", tag, after.Header.Get("ETag") == tag, forged)
	}

	limit, err := time.ParseDuration(cmp.Or(os.Getenv("PETSTORE_TEST_FORGE"), "50ms"))
	check(t, err)
	f.try(t, tag, limit, hash)
}

// isName reports whether a page with a chosen name is JSON as the service sends it.
func isName(body string) bool {
	special := func(r rune) bool {
		return unicode.IsControl(r) || r == '\\' || r >= 0xffff || r == '\u2028' || r == '\u2029'
	}
	return body != "" && utf8.ValidString(body) && strings.Count(body, `"`) == 16 && !strings.ContainsFunc(body, special)
}

// A forger chooses the name of the last animal of a page.
type forger struct{ beforeName, afterName string }

// try tries names until the limit. If a name gives the page the tag, the test fails.
func (f forger) try(t *testing.T, tag string, limit time.Duration, hash uint64) {
	target, err := base64.RawURLEncoding.DecodeString(strings.Trim(tag, `"`))
	if check(t, err); len(target) < 16 {
		t.Fatalf("the tag %s has %d bytes, want at least 16", tag, len(target))
	}
	var mu sync.Mutex
	var wait sync.WaitGroup
	tried, closest := 0, 0
	for worker := range 2 {
		wait.Go(func() {
			n, best := 0, 0
			for end := time.Now().Add(limit); time.Now().Before(end); {
				for range 500 {
					n++
					for _, body := range []string{f.beforeName + fmt.Sprint("x", 2*n+worker) + f.afterName, f.withHash(2*n+worker, hash)} {
						got := rest.PageETag([]byte(body), "")
						if got == tag {
							t.Errorf("the page has the same tag: %s", body)
						}
						decoded, _ := base64.RawURLEncoding.DecodeString(strings.Trim(got, `"`)) // got is the ETag of another page
						best = max(best, bits.LeadingZeros64(binary.BigEndian.Uint64(decoded)^binary.BigEndian.Uint64(target)))
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			tried, closest = tried+2*n, max(closest, best)
		})
	}
	wait.Wait()
	t.Logf("tried %d names in %s; the tag of the closest has the first %d of %d bits", tried, limit, closest, 8*len(target))
}

// withHash returns a page with a name that gives the page the XXH64 hash. The name is a number and 8 bytes.
// The bytes are computed from the state of the hash before them and from the state that is needed after
// them. They may be no valid text.
func (f forger) withHash(number int, hash uint64) string {
	// The 8 bytes begin after a complete stripe of 32 bytes, so they are hashed with what follows the name.
	start := f.beforeName + fmt.Sprintf("%0*d", 32+(32-len(f.beforeName)%32), number)
	size := len(start) + 8 + len(f.afterName)
	needed := undoAvalanche(hash)
	rest := []byte(f.afterName)
	for ; len(rest)%8%4 > 0; rest = rest[:len(rest)-1] {
		needed = bits.RotateLeft64(needed*inverse(prime1), -11) ^ uint64(rest[len(rest)-1])*prime5
	}
	if len(rest)%8 > 0 {
		needed = bits.RotateLeft64((needed-prime3)*inverse(prime2), -23) ^ uint64(binary.LittleEndian.Uint32(rest[len(rest)-4:]))*prime1
		rest = rest[:len(rest)-4]
	}
	for ; len(rest) > 0; rest = rest[:len(rest)-8] {
		lane := bits.RotateLeft64(binary.LittleEndian.Uint64(rest[len(rest)-8:])*prime2, 31) * prime1
		needed = bits.RotateLeft64((needed-prime4)*inverse(prime1), -27) ^ lane
	}
	lane := undoAvalanche(xxhash.Sum64String(start)) - uint64(len(start)) + uint64(size)
	lane ^= bits.RotateLeft64((needed-prime4)*inverse(prime1), -27)
	chosen := binary.LittleEndian.AppendUint64(nil, bits.RotateLeft64(lane*inverse(prime1), -31)*inverse(prime2))
	return start + string(chosen) + f.afterName
}

// The constants of XXH64.
const (
	prime1 uint64 = 11400714785074694791
	prime2 uint64 = 14029467366897019727
	prime3 uint64 = 1609587929392839161
	prime4 uint64 = 9650029242287828579
	prime5 uint64 = 2870177450012600261
)

// inverse returns the multiplicative inverse of an odd number, modulo 2^64.
func inverse(odd uint64) uint64 {
	x := odd
	for range 5 {
		x *= 2 - odd*x
	}
	return x
}

// undoAvalanche returns the state of XXH64 before its last step.
func undoAvalanche(h uint64) uint64 {
	h = (h ^ h>>32) * inverse(prime3)
	h = (h ^ h>>29 ^ h>>58) * inverse(prime2)
	return h ^ h>>33
}

// link returns the target of the header Link with this relation, resolved against the URL of the request.
// If there is none, it returns "".
func (res response) link(t *testing.T, relation string) string {
	t.Helper()
	found := regexp.MustCompile(`^<([^<>]*)>; rel="` + relation + `"$`).FindStringSubmatch(res.Header.Get("Link"))
	if found == nil {
		return ""
	}
	target, err := url.Parse(found[1])
	check(t, err)
	return res.Request.URL.ResolveReference(target).RequestURI()
}

func TestUnchangedPageIsNotModified(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, domain.NewPet{Name: "Rex"}, domain.NewPet{Name: "Tom"})
	page := s.expect(t, get("/v1/pets?limit=2"), ok(""))
	etag := page.Header.Get("ETag")
	for _, header := range []string{etag, "W/" + etag, `"x", ` + etag + `,"y"`, "*"} {
		s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+header), wantResponse{status: http.StatusNotModified}.withHeader("ETag: "+etag))
	}
	for _, other := range []string{`"x"`, `"x,*,y"`} {
		s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+other), ok(string(page.body)))
	}

	// The same body with a next link is another representation.
	s.createPets(t, domain.NewPet{Name: "Kit"})
	s.expect(t, get("/v1/pets?limit=2", "If-None-Match: "+etag), ok("").withHeader(`Link: <?limit=2&after=2>; rel="next"`))
}

func TestPageIsReadAgainOnlyAfterItChanges(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	wantReads := func(hits, reads int) {
		t.Helper()
		for result, want := range map[string]int{"hit": hits, "miss": reads} {
			if got := s.scrape(t)[`petstore_http_page_cache_requests_total{result="`+result+`"}`]; got != fmt.Sprint(want) {
				t.Errorf("got %s of result %s, want %d", got, result, want)
			}
		}
	}
	s.expect(t, get("/v1/pets"), ok(`[]`))
	s.createPets(t, domain.NewPet{Name: "1", Status: domain.PetSold})
	for range 3 { // a rejected order changes nothing
		s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"1","categoryId":0,"status":"sold"}]`))
		s.expect(t, postOrder(`{"petId":1}`), rejected(409, "pet_not_available"))
		s.expect(t, postOrder(`{"petId":9}`), rejected(404, "pet_not_found"))
	}
	wantReads(2, 2)
	s.createPets(t, domain.NewPet{Name: "2"}) // added to this page, the last one
	s.expect(t, get("/v1/pets"), ok(`[{"id":1,"name":"1","categoryId":0,"status":"sold"},{"id":2,"name":"2","categoryId":0}]`))
	page := s.expect(t, get("/v1/pets?limit=1"), ok(""))
	s.createPets(t, domain.NewPet{Name: "3"}) // added after this page, which gets a next one
	for _, path := range []string{"/v1/pets?limit=1", "/v1/pets?limit=01&after=0", "/v1/pets?%6Cimit=1"} {
		s.expect(t, get(path), ok(string(page.body)))
	}
	wantReads(5, 4)
	s.expect(t, get("/v1/store/orders"), ok(`[]`))
	s.expect(t, get("/v1/pets?limit=1&after=1"), ok(`[{"id":2,"name":"2","categoryId":0}]`))
	s.expect(t, get("/v1/pets?status=pending&categoryId=0"), ok(`[]`))
	s.expect(t, postOrder(`{"petId":2}`), created("")) // changes these pages; the first has a next one
	s.expect(t, get("/v1/pets?limit=1&after=1"), ok(`[{"id":2,"name":"2","categoryId":0,"status":"pending"}]`))
	s.expect(t, get("/v1/pets?status=pending&categoryId=0"), ok(`[{"id":2,"name":"2","categoryId":0,"status":"pending"}]`))
	s.expect(t, get("/v1/pets?categoryId=-9223372036854775808"), ok(`[]`))
	if orders := s.expect(t, get("/v1/store/orders"), ok("")); len(orders.body) < 10 {
		t.Errorf("got the orders %s, want one", orders.body)
	}
}

func TestRecordIsReadAgainOnlyAfterAChange(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	reads := func(want string) {
		t.Helper()
		testkit.Equal(t, "reads", want, s.scrape(t)[`petstore_http_page_cache_requests_total{result="miss"}`])
	}
	s.createPets(t, newPets(2, "available")...)
	s.expect(t, get("/v1/pets/3"), rejected(404, "pet_not_found"))
	first := s.expect(t, get("/v1/pets/1"), ok(`{"id":1,"name":"Rex","categoryId":7,"status":"available"}`))
	s.createPets(t, newPets(1, "sold")...)
	s.expect(t, get("/v1/pets/3"), ok("")) // no process has a cache of what does not exist
	for _, path := range []string{"/v1/pets/1", "/v1/pets/01"} {
		s.expect(t, get(path), ok(string(first.body)).withHeader("ETag: "+first.Header.Get("ETag"), "Sunset: Thu, 05 Dec 2030 00:00:00 GMT"))
	}
	reads("2")
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	s.expect(t, get("/v1/pets/1"), ok(`{"id":1,"name":"Rex","categoryId":7,"status":"pending"}`))

	placed := s.expect(t, get("/v1/store/orders/1"), ok("").withHeader("Cache-Control: private, no-cache", "-Sunset"))
	unchanged := get("/v1/store/orders/1", "If-None-Match: "+placed.Header.Get("ETag"))
	s.expect(t, unchanged, wantResponse{status: http.StatusNotModified})
	reads("4")
	s.expect(t, newRequest("POST", "/v1/store/orders/1/deliver"), ok(""))
	if delivered := s.expect(t, unchanged, ok("")); !strings.Contains(string(delivered.body), `"status":"delivered"`) {
		t.Errorf("got the order %s, want delivered", delivered.body)
	}
	s.expect(t, newRequest("DELETE", "/v1/pets/2"), wantResponse{status: 204})
	s.expect(t, get("/v1/pets/2"), rejected(404, "pet_not_found"))
}

func TestPagesByNewestAreFresh(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	const newest, below, chosen = "/v1/pets?sort=-id&limit=1", "/v1/pets?sort=-id&limit=1&after=2", "/v1/pets?id=1,3&limit=1"
	const belowAnother = "/v1/pets?sort=-id&limit=1&after=9" // the animal 9 does not exist yet
	for id := range 4 {
		s.createPets(t, domain.NewPet{Name: strconv.Itoa(id + 1)})
		s.expect(t, get(newest), ok(fmt.Sprintf(`[{"id":%d,"name":"%[1]d","categoryId":0}]`, id+1)))
		s.expect(t, get(belowAnother), ok(fmt.Sprintf(`[{"id":%d,"name":"%[1]d","categoryId":0}]`, id+1)))
		s.expect(t, get(below), ok(`[{"id":1,"name":"1","categoryId":0}]`))
		want := `[{"id":1,"name":"1","categoryId":0}]`
		if id >= 2 {
			want = `[{"id":1,"name":"1","categoryId":0},{"id":3,"name":"3","categoryId":0}]`
		}
		s.expect(t, get(chosen), ok(want).withHeader("-Link"))
		s.expect(t, get("/v1/store/inventory"), ok(fmt.Sprintf(`{"available":0,"pending":0,"sold":0,"none":%d,"total":%[1]d}`, id+1)))
	}
	s.expect(t, newRequest("DELETE", "/v1/pets/4"), wantResponse{status: 204})
	s.expect(t, get(newest), ok(`[{"id":3,"name":"3","categoryId":0}]`))
	s.expect(t, newRequest("DELETE", "/v1/pets/1"), wantResponse{status: 204})
	s.expect(t, get(below), ok(`[]`))
	s.expect(t, get(chosen), ok(`[{"id":3,"name":"3","categoryId":0}]`))
}

func TestSpellingsOfAQueryAreOneCachedPage(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(3, "sold")...)
	reads := func() string { return s.scrape(t)[`petstore_http_page_cache_requests_total{result="miss"}`] }
	for _, spellings := range [][]string{
		{"status=sold,none&sort=-id", "sort=-id&status=none,sold", "limit=20&status=none,sold&sort=-id&after=0"},
		{"id=1,3&sort=id", "id=3,1", "id=03,01&limit=20"},
	} {
		for i, query := range spellings {
			before := reads()
			s.expect(t, get("/v1/pets?"+query), ok(""))
			if changed := reads() != before; changed != (i == 0) {
				t.Errorf("%s: got a read: %t", query, changed)
			}
		}
	}
	s.expect(t, get("/v1/store/inventory?categoryId=7"), ok(`{"available":0,"pending":0,"sold":3,"none":0,"total":3}`))
	s.expect(t, get("/v1/store/inventory?categoryId=8"), ok(`{"available":0,"pending":0,"sold":0,"none":0,"total":0}`))
	s.expect(t, get("/v1/store/inventory?status=sold"), rejected(400, "invalid_parameter"))
}

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
		"q=x&xy=x":     `"q" is not a parameter of this operation; "xy" is not`,
		"statuss=sold": `"statuss" is not a parameter of this operation: did you mean status?`,
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

// A listed record is a pet or an order of a list.
type listed struct {
	ID, PetID, CategoryID int64
	Status                string
}

// FuzzQuery sends any query to both lists. A second implementation of the documented parameters must return
// the same page and link, or the same code of an error.
func FuzzQuery(f *testing.F) {
	s := newFuzzServer(f)
	pets, orders := make([]listed, 110), make([]listed, 110)
	for i := range pets {
		id := int64(i + 1)
		pets[i] = listed{ID: id, CategoryID: []int64{7, -1}[i%2], Status: []string{"", "available", "sold"}[i%3]}
		orders[i] = listed{ID: id, PetID: []int64{id, id, 2}[i%3], Status: []string{"placed", "delivered", "cancelled"}[i%3]}
		s.createPets(f, domain.NewPet{Name: "Rex", CategoryID: pets[i].CategoryID, Status: domain.PetStatus(pets[i].Status)})
		const insert = "INSERT INTO orders (pet_id, status, created_at, updated_at) VALUES ($1, $2, $3, $3)"
		s.database.Exec(f, insert, orders[i].PetID, orders[i].Status, noon.UnixMilli())
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
	"limit=0", "limit=101", "limit=-1", "limit=-0", "limit=1000000", "limit=2147483648", "limit=4294967297", "limit=9223372036854775808",
	"limit=99999999999999999999999", "limit=", "limit", "limit=+", "limit=+5", "limit=%2B5", "limit=5.0", "limit=5.", "limit=5e0", "limit=0x10",
	"limit=1_0", "limit=five", "limit=%205", "limit=5%20", "limit=5,6", "limit=٥", "limit=5%00", "limit=[5]", "limit=5&limit=5", "limit=5&limit=",
	"limit=5&l%69mit=6", "l%69mit=0", "after=0", "after=1", "after=5", "after=110", "after=9223372036854775807",
	"after=", "after=-1", "after=-0", "after=-00", "after=9223372036854775808", "after=-9223372036854775809", "after=--1", "after=x",
	"after=1&after=2",
	"status=sold", "status=available&limit=3&after=7", "status=pending", "status=%73old", "status=placed", "status=cancelled&limit=1",
	"status=delivered",
	"status=", "status", "status=gone", "status=Sold", "status=Placed", "status=sold%20", "status=sold,pending", "status=sold&status=sold",
	"status=sold&status=pending", "status=placed&status=placed", "status='", "status=%ff", "petId=1", "petId=2", "petId=0", "petId=4711",
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
	"petId=9223372036854775808", "petId=1&petId=1", "limit=0&status=gone&after=x", // several
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

// checkList checks the response to a query.
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
		if !slices.Contains(known, name) && (name != "id" || reference != "categoryId") {
			invalid = append(invalid, strconv.Quote(name)+" is not a parameter of this operation")
		}
	}
	filters := ""
	// list returns the elements of a parameter, in the order of a link.
	list := func(name string, valid func(string) bool, key func(string) string, compare func(a, b string) int) (elements []string) {
		texts, given := values[name]
		if !given {
			return nil
		}
		for text := range strings.SplitSeq(texts[0], ",") {
			if !valid(text) {
				invalid = append(invalid, name)
				return nil
			}
			elements = append(elements, key(text))
		}
		slices.SortFunc(elements, compare)
		if len(texts) > 1 || len(elements) > 100 || len(slices.Compact(slices.Clone(elements))) < len(elements) {
			invalid = append(invalid, name)
		}
		return elements
	}
	same := func(text string) string { return text }
	wanted := list("status", statuses.MatchString, same, strings.Compare)
	if wanted != nil {
		filters = "&status=" + strings.Join(wanted, ",")
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

// An outage makes a store unavailable while away is true.
type outage struct {
	rest.Pets
	away atomic.Bool
}

func (o *outage) error() error {
	if o.away.Load() {
		return domain.Unavailable(errors.New("the server is away"))
	}
	return nil
}

func (o *outage) List(ctx context.Context, q domain.PetQuery) (domain.Page[domain.Pet], error) {
	if err := o.error(); err != nil {
		return domain.Page[domain.Pet]{}, err
	}
	return o.Pets.List(ctx, q)
}

// If no commit is known to have changed a page, the page was fresh at the last check of the versions. Any
// other page was fresh when it was read.
func TestStalePageIsSentWhileTheStoreIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit, checked time.Duration
		altered        bool
		age            string // empty for 503
	}{
		{limit: 0, checked: 0},
		{limit: 500 * time.Millisecond, checked: 0, age: "1"},
		{limit: 500 * time.Millisecond, checked: time.Second},
		{limit: 500 * time.Millisecond, checked: 0, altered: true},
		{limit: time.Minute, checked: 2 * time.Minute, age: "1"},
		{limit: time.Minute, checked: 0, altered: true, age: "1"},
	} {
		store := &outage{}
		s := newTestServer(t, func(o *rest.Options) {
			store.Pets, o.Pets = o.Pets, store
			o.StaleIfUnavailable, o.VersionsAge = test.limit, func() time.Duration { return test.checked }
			versions := o.Versions
			o.Versions = func(ctx context.Context) (added, changed uint64, err error) {
				added, changed, err = versions(ctx)
				return added, changed, cmp.Or(err, store.error())
			}
		})
		s.createPets(t, domain.NewPet{Name: "Rex", Status: domain.PetAvailable}, domain.NewPet{Name: "Tom"})
		const path, link = "/v1/pets?limit=1", `Link: <?limit=1&after=1>; rel="next"`
		page := s.expect(t, get(path), ok("").withHeader("-Age"))
		if test.limit < time.Minute {
			time.Sleep(test.limit + 100*time.Millisecond) // the page was read too long ago
		}
		store.away.Store(true)
		if test.altered {
			s.expect(t, postOrder(`{"petId":1}`), created(""))
		}
		unavailable := rejected(503, "unavailable").withHeader("-Age", "Retry-After: 1")
		s.expect(t, get("/v1/pets?limit=2"), unavailable) // this page is not in memory
		want, sent := unavailable, "0"                    // stale pages
		if test.age != "" {
			want, sent = ok(string(page.body)).withHeader("Age: "+test.age, link, "-ETag"), "2"
		}
		s.expect(t, get(path, "If-None-Match: *"), want)
		s.expect(t, get("/v1/pets?after=0&limit=1"), want)
		testkit.Equal(t, "stale pages", sent, s.scrape(t)[`petstore_http_page_cache_requests_total{result="stale"}`])
		store.away.Store(false)
		s.expect(t, get(path), ok("").withHeader("-Age", link))
	}
}
