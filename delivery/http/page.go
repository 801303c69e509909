package http

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/maypok86/otter/v2"

	"example.com/petstore/delivery/internal/record"
	"example.com/petstore/domain"
)

// pageQuery has the parameters of every list.
type pageQuery struct {
	// Maximum number of records to return.
	Limit int64 `form:"limit" validate:"min=1,max=100" default:"20"`
	// Return records with an id greater than this one.
	After int64 `form:"after" validate:"min=0" format:"int64"`
}

func (q pageQuery) pageRequest() domain.PageRequest {
	return domain.PageRequest{After: q.After, Limit: int(q.Limit)}
}

// canonical returns the canonical form of a query, the same for all queries for one page.
// filters has the other parameters as &name=value. after replaces q.After.
func (q pageQuery) canonical(filters string, after int64) string {
	return "limit=" + strconv.FormatInt(q.Limit, 10) + filters + "&after=" + strconv.FormatInt(after, 10)
}

// firstPageQuery is the canonical form of the empty query.
var firstPageQuery = pageQuery{Limit: domain.DefaultLimit}.canonical("", 0)

// A parsedQuery is a query in canonical form and the function that reads its page.
type parsedQuery struct {
	canonical string
	read      func() (*encodedPage, error)
}

// servePage sends the page of a list that a request queries. If the query is in canonical
// form, as in the links of pages, a cached page is found without parsing it.
func (a *API) servePage(c *gin.Context, list string, parse func(raw string) (parsedQuery, error)) error {
	raw := cmp.Or(c.Request.URL.RawQuery, firstPageQuery)
	cache := a.pages.use(c.Request.Context())
	page := cache.get(pageKey{list, raw})
	if page != nil {
		writePage(c, page)
		return nil
	}
	query, err := parse(raw)
	if err != nil {
		return err
	}
	key := pageKey{list, query.canonical}
	if query.canonical != raw {
		page = cache.get(key)
	}
	if page == nil {
		page, err = cache.load(key, func() (*encodedPage, error) { return a.readPage(c.Request.Context(), query.read) })
	}
	if err == nil {
		writePage(c, page)
	}
	return err
}

// readPage reads a page, after a position that every page has that is read from then on. A page without one, because
// a recording of the changes has just begun, is not cached.
func (a *API) readPage(ctx context.Context, read func() (*encodedPage, error)) (*encodedPage, error) {
	if a.changes == nil {
		return read()
	}
	position, err := a.changes.Position(ctx)
	if err != nil {
		return nil, err
	}
	page, err := read()
	switch {
	case err != nil:
		return nil, err
	case position == 0:
		page.transient = true
	default:
		page.position[0] = strconv.FormatInt(position, 10)
	}
	return page, nil
}

// writePage sends a page, or 304 if the client has it (RFC 9110, section 13.1.2).
func writePage(c *gin.Context, page *encodedPage) {
	header := c.Writer.Header()
	if page.link[0] != "" {
		header["Link"] = page.link[:]
	}
	header["Etag"] = page.etag[:]
	if page.position[0] != "" {
		header["Changes-Position"] = page.position[:]
	}
	header["Cache-Control"] = cacheRevalidate
	if etagMatches(c.Request.Header["If-None-Match"], page.etag[0]) {
		c.Status(http.StatusNotModified)
		return
	}
	if len(page.body) > minContentLength {
		header["Content-Length"] = page.length[:]
	}
	writeBody(c, http.StatusOK, page.body)
}

// cacheRevalidate lets a client cache a page if it revalidates it for each request.
var cacheRevalidate = []string{"private, no-cache"}

// encodePage encodes a page as an array. Its link (RFC 8288) has the query that next
// returns for the last record, relative to the URL of the request, which is right under any
// prefix.
func encodePage[T any, R record.Record](page domain.Page[T], recordOf func(T) R, next func(last T) string) (*encodedPage, error) {
	body, err := record.EncodeAll(page.Items, recordOf)
	if err != nil {
		return nil, err
	}
	encoded := &encodedPage{body: body}
	if len(body) > minContentLength {
		encoded.length[0] = strconv.Itoa(len(body))
	}
	var link string
	if page.More {
		link = "<?" + next(page.Items[len(page.Items)-1]) + `>; rel="next"`
	}
	etag := pageETag(body, link)
	both := etag + link // one allocation, for the reason in encodedPage
	encoded.etag[0], encoded.link[0] = both[:len(etag)], both[len(etag):]
	return encoded, nil
}

// pageETag returns the ETag of a page with a body and a link, the same on every replica: 128 bits of a
// SHA-256. A client that may write could choose a record that gives two pages one tag, were it no
// cryptographic hash.
func pageETag(body []byte, link string) string {
	hash := sha256.New()
	hash.Write(body) // ends with ], so no other body and link are hashed as the same text
	_, _ = io.WriteString(hash, link)
	return `"` + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:16]) + `"`
}

// minContentLength is the size in bytes above which net/http does not set Content-Length.
const minContentLength = 2 << 10

// etagMatches reports whether If-None-Match has the ETag, in the weak comparison. ETags of
// other services may contain commas, those of this API do not.
func etagMatches(headers []string, etag string) bool {
	for _, header := range headers {
		if header == "*" {
			return true
		}
		for candidate := range strings.SplitSeq(header, ",") {
			if strings.TrimPrefix(strings.TrimSpace(candidate), "W/") == etag {
				return true
			}
		}
	}
	return false
}

// A pageCache caches encoded pages of the lists. It stores each page with the versions of
// the store from before the page was read, so that a page is never older than a write that
// a client knows of. A nil cache caches nothing.
type pageCache struct {
	versions func(context.Context) (added, changed uint64, err error)
	pages    *otter.Cache[pageKey, *encodedPage]
	metrics  *metrics
}

// A pageKey is a list and a query in canonical form. Other forms of a query are never a
// key, so that clients cannot fill the cache with copies of a page.
type pageKey struct{ list, query string }

// An encodedPage is the response to a list query, and the entry of the cache. Its headers
// are values of http.Header that all responses share. They are arrays and not slices
// because with thousands of pages each pointer is a cache miss of the processor.
type encodedPage struct {
	body      []byte
	length    [1]string // empty if net/http sets Content-Length
	etag      [1]string
	link      [1]string // to the next page, empty on the last page
	position  [1]string // of a change that the page has, empty for none
	transient bool      // not to be cached

	added, changed uint64 // the versions of the store before the page was read
}

// valid reports whether no commit can have altered the page. An insert does not alter a
// page that has a next one, because ids grow. The removal of changes after its position does, as an update.
func (p *encodedPage) valid(added, changed uint64) bool {
	return p.changed == changed && (p.link[0] != "" || p.added == added)
}

// newPageCache returns the cache of Options.CacheBytes, or nil for none.
func newPageCache(versions func(context.Context) (added, changed uint64, err error), maxBytes int64, m *metrics) (*pageCache, error) {
	if maxBytes < 0 || versions == nil {
		return nil, nil
	}
	pages, err := otter.New(&otter.Options[pageKey, *encodedPage]{
		MaximumWeight: uint64(cmp.Or(maxBytes, 16<<20)),
		Weigher:       pageWeight,
		Executor:      func(task func()) { task() }, // no goroutine outlives a request
	})
	if err != nil {
		return nil, err
	}
	return &pageCache{versions: versions, pages: pages, metrics: m}, nil
}

// pageWeight returns the memory of a cache entry in bytes.
func pageWeight(key pageKey, page *encodedPage) uint32 {
	const overhead = 512                                      // of the cache, the structs and the headers
	return uint32(len(key.query) + cap(page.body) + overhead) //nolint:gosec // a few kilobytes
}

// A cacheUse is the use of the cache for one request. It caches nothing if it has no cache.
type cacheUse struct {
	*pageCache
	added, changed uint64 // the versions of the store after the request arrived
}

// use returns the cache for a request. It has none if the versions of the store are not
// known; then the page is read from the store.
func (c *pageCache) use(ctx context.Context) cacheUse {
	if c == nil {
		return cacheUse{}
	}
	added, changed, err := c.versions(ctx)
	if err != nil {
		return cacheUse{}
	}
	return cacheUse{c, added, changed}
}

// get returns the cached page, or nil if there is none or it is stale.
func (c cacheUse) get(key pageKey) *encodedPage {
	if c.pageCache == nil {
		return nil
	}
	page, ok := c.pages.GetIfPresent(key)
	if !ok || !page.valid(c.added, c.changed) {
		return nil
	}
	c.metrics.cacheHits.Inc()
	return page
}

// load calls read and caches the page that it returns.
func (c cacheUse) load(key pageKey, read func() (*encodedPage, error)) (*encodedPage, error) {
	if c.pageCache == nil {
		return read()
	}
	c.metrics.cacheMisses.Inc()
	page, err := read()
	if err != nil {
		return nil, err
	}
	page.added, page.changed = c.added, c.changed
	if !page.transient {
		c.pages.Set(key, page)
	}
	return page, nil
}
