package http_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"example.com/petstore/domain"
)

// Clients of net/http would find the header in any spelling, so the test reads the connection.
func TestETagIsSpeltAsInTheDocument(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, postPet(newRex), created(""))
	s.expect(t, postOrder(`{"petId":1}`), created(""))
	tag := s.expect(t, get("/v1/pets"), ok("")).Header.Get("ETag")
	for _, r := range []request{
		get("/v1/pets"), get("/v1/pets", "If-None-Match: "+tag), get("/v1/pets/1"), newRequest("HEAD", "/v1/pets"), get("/v1/store/inventory"),
		get("/v1/store/orders"), get("/v1/store/orders/1"), postPet(newRex), patched(`{"name":"Tom"}`),
	} {
		data := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: petstore\r\nAuthorization: Bearer %s\r\nConnection: close\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
			r.method, r.path, s.key, len(r.body), strings.Join(append(r.header, "X: x"), "\r\n"), r.body)
		response, err := io.ReadAll(s.dial(t, data))
		check(t, err)
		if strings.Count(string(response), "\r\nETag: \"") != 1 || strings.Contains(string(response), "Etag") {
			t.Errorf("%s %s: got\n%s\nwant one header that is spelt ETag", r.method, r.path, response)
		}
	}
}

func TestConditionOfAChangeMayBeTheETagOfAListOfOne(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, newPets(2, "available")...)
	etagOf := func(path string) string { return s.expect(t, get(path), ok("")).Header.Get("ETag") }
	failed := rejected(412, "precondition_failed", "GET /pets?id=1 returns")
	for _, other := range []string{"/v1/pets?id=2", "/v1/pets?id=1,2", "/v1/pets?limit=1", "/v1/pets"} {
		s.expect(t, patched(`{"name":"Tom"}`, "If-Match: "+etagOf(other)), failed)
		s.expect(t, newRequest("DELETE", "/v1/pets/1", "If-Match: "+etagOf(other)), failed)
	}
	before := etagOf("/v1/pets?id=1&status=available")
	s.expect(t, patched(`{"name":"Tom"}`, "If-Match: "+before), ok(""))
	s.expect(t, patched(`{"name":"Pip"}`, "If-Match: "+before), failed)
	s.expect(t, newRequest("DELETE", "/v1/pets/1", "If-Match: "+etagOf("/v1/pets?id=1")), wantResponse{status: 204})
}

// A proxy that compresses responses rewrites their ETags, and sends conditions as it gets them.
func TestETagMatchesAsACompressingProxySendsIt(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.createPets(t, domain.NewPet{Name: "Rex", CategoryID: 7})
	names := []string{"Tom", "Rex"}
	for i, format := range []string{`W/"%s"`, `"%s-gzip"`, `"%s-br"`, `"%s-zstd"`, `W/"%s-gzip"`, `"x", W/"%s"`} {
		list := s.expect(t, get("/v1/pets?id=1"), ok(""))
		rewritten := func(res response) string { return fmt.Sprintf(format, strings.Trim(res.Header.Get("ETag"), `"`)) }
		s.expect(t, get("/v1/pets?id=1", "If-None-Match: "+rewritten(list)), wantResponse{status: http.StatusNotModified})
		before := s.expect(t, patched(`{}`), ok(""))
		patch := fmt.Sprintf(`{"name":%q}`, names[i%2])
		s.expect(t, patched(patch, "If-Match: "+rewritten(before)), ok(""))
		s.expect(t, patched(`{"name":"Pip"}`, "If-Match: "+rewritten(before)), rejected(412, "precondition_failed"))
		s.expect(t, newRequest("DELETE", "/v1/pets/1", "If-Match: "+rewritten(list)), rejected(412, "precondition_failed"))
	}
	tag := strings.Trim(s.expect(t, get("/v1/pets"), ok("")).Header.Get("ETag"), `"`)
	for _, other := range []string{`"` + tag + `-x"`, `"` + tag + `-gzip-gzip"`, `w/"` + tag + `"`, `W/ "` + tag + `"`, `"` + tag, `-gzip"`, `W/`} {
		s.expect(t, get("/v1/pets", "If-None-Match: "+other), ok(""))
		s.expect(t, newRequest("DELETE", "/v1/pets/1", "If-Match: "+other), rejected(412, "precondition_failed"))
	}
}
