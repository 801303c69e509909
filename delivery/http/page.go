package http

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/maypok86/otter/v2"

	"example.com/petstore/delivery/internal/binding"
	"example.com/petstore/delivery/internal/record"
	"example.com/petstore/domain"
)

// pageQuery has the parameters of every list.
type pageQuery struct {
	// Maximum number of records to return.
	Limit int64 `form:"limit" validate:"min=1,max=100" default:"20"`
	// Return records with an id greater than this one, with `sort=-id` less than this one.
	After int64 `form:"after" validate:"min=0" format:"int64"`
	// Order of the records: `id` is ascending, `-id` newest first.
	Sort string `form:"sort" validate:"omitempty,oneof=id -id" enums:"id,-id"`
}

func (q pageQuery) pageRequest() domain.PageRequest {
	return domain.PageRequest{After: q.After, Limit: int(q.Limit), Newest: q.Sort == newest}
}

// newest is the order of records with descending ids.
const newest = "-id"

// canonical returns the canonical form of a query, the same for all spellings of it. filters has the other
// parameters as &name=value. after replaces q.After.
func (q pageQuery) canonical(filters string, after int64) string {
	if q.Sort == newest {
		filters += "&sort=" + newest
	}
	return "limit=" + strconv.FormatInt(q.Limit, 10) + filters + "&after=" + strconv.FormatInt(after, 10)
}

// firstPageQuery is the canonical form of the empty query of a list.
var firstPageQuery = pageQuery{Limit: domain.DefaultLimit}.canonical("", 0)

// parameter returns a parameter in canonical form, "" without values.
func parameter[T cmp.Ordered](name string, values ...T) string {
	if len(values) == 0 {
		return ""
	}
	texts := make([]string, len(values))
	for i, value := range slices.Sorted(slices.Values(values)) {
		texts[i] = fmt.Sprint(value)
	}
	return "&" + name + "=" + strings.Join(texts, ",")
}

// optional returns the value of a parameter that a query may have.
func optional[T any](value *T) []T {
	if value == nil {
		return nil
	}
	return []T{*value}
}

// A cachedQuery is a query whose response is cached. All its spellings have the same key.
type cachedQuery interface{ key() string }

// serveQuery sends the response to a query, from the cache or as read returns it. A query that is spelt as its
// key, such as limit=5&status=sold&after=20 in the link of a page, is found without being parsed.
func serveQuery[Q cachedQuery](a *API, c *gin.Context, list string, read func(context.Context, Q) (*encodedPage, error)) error {
	cache := a.pages.use(c.Request.Context())
	if cache.send(c, pageKey{list, cmp.Or(c.Request.URL.RawQuery, firstPageQuery)}) {
		return nil
	}
	query, err := binding.Query[Q](c.Request.URL.RawQuery)
	if err != nil {
		return err
	}
	return cache.serve(c, pageKey{list, query.key()}, func(ctx context.Context) (*encodedPage, error) {
		position, err := a.position(ctx)
		if err != nil {
			return nil, err
		}
		page, err := read(ctx, query)
		if err != nil {
			return nil, err
		}
		page.position[0] = position
		page.transient = position == "" && a.changes != nil // a recording of the changes has just begun
		return page, nil
	})
}

// serveRecord sends the record with the id in the path, from the cache or as get returns it. name is "pet" or "order".
func serveRecord[T any, R record.Record](
	a *API, c *gin.Context, name string, notFound domain.Code, get func(context.Context, int64) (T, error), recordOf func(T) R,
) error {
	id, err := pathID(c, name, notFound)
	if err != nil {
		return err
	}
	key := pageKey{name, strconv.FormatInt(id, 10)}
	return a.pages.useForRecord(c.Request.Context()).serve(c, key, func(ctx context.Context) (*encodedPage, error) {
		found, err := get(ctx, id)
		if err != nil {
			return nil, err
		}
		body, err := recordOf(found).AppendJSON(nil)
		if err != nil {
			return nil, err
		}
		return newEncodedPage(body, ""), nil
	})
}

// position returns the value of Changes-Position for a page that is read afterwards: the page has the change
// with this position. It is empty if no changes are recorded, or if a recording has just begun.
func (a *API) position(ctx context.Context) (string, error) {
	if a.changes == nil {
		return "", nil
	}
	position, err := a.changes.Position(ctx)
	if err != nil || position == 0 {
		return "", err
	}
	return strconv.FormatInt(position, 10), nil
}

// writePage sends a page, or 304 if the client has it (RFC 9110, section 13.1.2).
func writePage(c *gin.Context, page *encodedPage) {
	header := c.Writer.Header()
	header["Etag"] = page.etag[:]
	header["Cache-Control"] = cacheRevalidate
	if etagMatches(c.Request.Header["If-None-Match"], page.etag[0], "W/") {
		page.setHeader(header)
		c.Status(http.StatusNotModified)
		return
	}
	page.write(c)
}

// setHeader sets the headers that a page has whether it is fresh or stale.
func (p *encodedPage) setHeader(header http.Header) {
	if p.link[0] != "" {
		header["Link"] = p.link[:]
	}
	if p.position[0] != "" {
		header["Changes-Position"] = p.position[:]
	}
}

// write sends a page, whose ETag and Cache-Control are set if it is fresh.
func (p *encodedPage) write(c *gin.Context) {
	header := c.Writer.Header()
	p.setHeader(header)
	if len(p.body) > minContentLength {
		header["Content-Length"] = p.length[:]
	}
	writeBody(c, http.StatusOK, p.body)
}

// cacheRevalidate lets a client cache a page if it revalidates it for each request.
var cacheRevalidate = []string{"private, no-cache"}

// A listQuery is the query of a list. next returns the query for the page after an id.
type listQuery interface {
	next(after int64) string
	pageRequest() domain.PageRequest
}

// encodePage encodes a page as an array. Its link (RFC 8288) has the query for the next page, relative to the
// URL of the request, which is right under any prefix.
func encodePage[T any, R record.Listed](page domain.Page[T], recordOf func(T) R, q listQuery) (*encodedPage, error) {
	body, err := record.EncodeAll(page.Items, recordOf)
	if err != nil {
		return nil, err
	}
	var link string
	if page.More {
		link = "<?" + q.next(recordOf(page.Items[len(page.Items)-1]).RecordID()) + `>; rel="next"`
	}
	encoded := newEncodedPage(body, link)
	if request := q.pageRequest(); request.Newest { // ids between the first record and After may not be given yet
		encoded.grows = request.After == 0 || len(page.Items) == 0 || recordOf(page.Items[0]).RecordID() < request.After-1
	} else {
		encoded.grows = !page.More
	}
	return encoded, nil
}

// newEncodedPage returns a page with a body and a link, which is empty for none.
func newEncodedPage(body []byte, link string) *encodedPage {
	encoded := &encodedPage{body: body}
	if len(body) > minContentLength {
		encoded.length[0] = strconv.Itoa(len(body))
	}
	etag := pageETag(body, link)
	both := etag + link // one allocation, for the reason in encodedPage
	encoded.etag[0], encoded.link[0] = both[:len(etag)], both[len(etag):]
	return encoded
}

// pageETag returns the ETag of a response with a body and a link, which is empty for none: the same on every replica: 128 bits of a
// SHA-256. A client that may write could choose a record that gives two pages one tag, were it no
// cryptographic hash.
func pageETag(body []byte, link string) string {
	hash := sha256.New()
	hash.Write(body) // one JSON value, so no other body and link are hashed as the same text
	_, _ = io.WriteString(hash, link)
	return `"` + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:16]) + `"`
}

// minContentLength is the size in bytes above which net/http does not set Content-Length.
const minContentLength = 2 << 10

// etagMatches reports whether If-None-Match or If-Match has the ETag. weak is the prefix of tags that it ignores: W/ in
// the weak comparison. ETags of other services may contain commas, those of this API do not.
func etagMatches(headers []string, etag, weak string) bool {
	for _, header := range headers {
		if header == "*" {
			return true
		}
		for candidate := range strings.SplitSeq(header, ",") {
			if strings.TrimPrefix(strings.TrimSpace(candidate), weak) == etag {
				return true
			}
		}
	}
	return false
}

// A pageCache caches encoded pages of the lists, and single records. It stores each page with the versions of
// the store from before the page was read, so that a page is never older than a write that
// a client knows of. A nil cache caches nothing.
type pageCache struct {
	*Options
	pages   *otter.Cache[pageKey, *encodedPage]
	metrics *metrics
}

// A pageKey is a list and a query in canonical form, or the name of a record and its id. Other forms of a query
// are never a key, so that clients cannot fill the cache with copies of a page.
type pageKey struct{ list, query string }

// An encodedPage is the response to a list query, or a record, and the entry of the cache. Its headers
// are values of http.Header that all responses share. They are arrays and not slices
// because with thousands of pages each pointer is a cache miss of the processor.
type encodedPage struct {
	body     []byte
	length   [1]string // empty if net/http sets Content-Length
	etag     [1]string
	link     [1]string // to the next page, empty on the last page
	position [1]string // of a change that the page has, empty for none
	grows    bool      // a record that is added may belong to it

	transient      bool      // it must not be cached
	added, changed uint64    // the versions of the store before the page was read
	read           time.Time // when the read began
}

// valid reports whether no commit can have altered the page. The removal of changes after its position alters
// it, as an update does.
func (p *encodedPage) valid(added, changed uint64) bool {
	return p.changed == changed && (!p.grows || p.added == added)
}

// newPageCache returns the cache of Options.CacheBytes, or nil for none.
func newPageCache(o *Options, m *metrics) (*pageCache, error) {
	if o.CacheBytes < 0 || o.Versions == nil {
		return nil, nil
	}
	pages, err := otter.New(&otter.Options[pageKey, *encodedPage]{
		MaximumWeight: uint64(cmp.Or(o.CacheBytes, 16<<20)), //nolint:gosec // not negative
		Weigher:       pageWeight,
		Executor:      func(task func()) { task() }, // no goroutine outlives a request
	})
	if err != nil {
		return nil, err
	}
	return &pageCache{o, pages, m}, nil
}

// pageWeight returns the memory of a cache entry in bytes.
func pageWeight(key pageKey, page *encodedPage) uint32 {
	const overhead = 512                                      // of the cache, the structs and the headers
	return uint32(len(key.query) + cap(page.body) + overhead) //nolint:gosec // a few kilobytes
}

// A cacheUse is the use of the cache for one request. It caches nothing if it has no cache.
type cacheUse struct {
	*pageCache
	added, changed uint64    // the versions of the store after the request arrived, or the last that were known
	unavailable    bool      // they are not known: the page is read from the store, unless a stale one may be sent
	checked        time.Time // all commits until then are in the versions, with StaleIfUnavailable
}

// use returns the cache for a request.
func (c *pageCache) use(ctx context.Context) cacheUse {
	if c == nil {
		return cacheUse{}
	}
	var checked time.Time
	if c.StaleIfUnavailable > 0 {
		checked = time.Now().Add(-c.VersionsAge()) // before the versions are read, which may be newer
	}
	added, changed, err := c.Versions(ctx)
	return cacheUse{c, added, changed, err != nil, checked}
}

// useForRecord returns the cache for the request of a single record. A server needs as long to read one as to check the
// versions, so then it is not used.
func (c *pageCache) useForRecord(ctx context.Context) cacheUse {
	if c == nil || c.Remote {
		return cacheUse{}
	}
	return c.use(ctx)
}

// serve sends the page with a key from the cache, or else the one that read returns, which it caches. read is limited
// by the deadline of the request.
func (c cacheUse) serve(to *gin.Context, key pageKey, read func(context.Context) (*encodedPage, error)) error {
	if c.send(to, key) {
		return nil
	}
	ctx, cancel := context.WithDeadline(to.Request.Context(), stateOf(to).deadline)
	defer cancel()
	begun := time.Now()
	page, err := read(ctx)
	if err != nil {
		return err
	}
	page.read = begun
	c.set(key, page)
	writePage(to, page)
	return nil
}

// send sends a page from the cache, and reports whether there is one that may be sent.
func (c cacheUse) send(to *gin.Context, key pageKey) bool {
	if c.pageCache == nil {
		return false
	}
	page, ok := c.pages.GetIfPresent(key)
	switch {
	case !ok:
		return false
	case c.unavailable:
		return c.sendStale(to, page)
	case !page.valid(c.added, c.changed):
		return false
	}
	c.metrics.cacheHits.Inc()
	writePage(to, page)
	return true
}

// sendStale sends a page that was fresh at most StaleIfUnavailable ago, with its Age (RFC 9111, section 5.1).
func (c cacheUse) sendStale(to *gin.Context, page *encodedPage) bool {
	if c.StaleIfUnavailable == 0 {
		return false
	}
	age := time.Since(page.read)
	if page.valid(c.added, c.changed) {
		age = min(age, time.Since(c.checked))
	}
	if age > c.StaleIfUnavailable {
		return false
	}
	c.metrics.cacheStale.Inc()
	to.Header("Age", strconv.Itoa(int(math.Ceil(age.Seconds()))))
	page.write(to)
	return true
}

// set caches a page that was read after use.
func (c cacheUse) set(key pageKey, page *encodedPage) {
	if c.pageCache == nil || c.unavailable {
		return
	}
	c.metrics.cacheMisses.Inc()
	page.added, page.changed = c.added, c.changed
	if !page.transient {
		c.pages.Set(key, page)
	}
}
