package http_test

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	rest "example.com/petstore/delivery/http"
	"example.com/petstore/domain"
)

// TestChosenNameDoesNotKeepTheETag chooses the name of a new animal so that a page keeps its XXH64. A
// client that may write could do that with any hash that is not cryptographic. The ETag of the page must
// change. Then the test tries more names, half of which keep the XXH64, for 50 ms or for PETSTORE_TEST_FORGE, such
// as 1m.
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
						decoded, _ := base64.RawURLEncoding.DecodeString(strings.Trim(got, `"`)) // cannot fail: got is an ETag of the API
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
	// XXH64 hashes complete stripes of 32 bytes first, then the tail in parts of 8, 4 and 1 byte. start has complete
	// stripes only, so the 8 bytes are the first part of the tail, and afterName is the rest of the tail.
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
