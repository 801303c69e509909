package http

import (
	"context"

	"github.com/maypok86/otter/v2"
)

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
	body   []byte
	length [1]string // empty if net/http sets Content-Length
	etag   [1]string
	link   [1]string // to the next page, empty on the last page

	added, changed uint64 // the versions of the store before the page was read
}

// valid reports whether no commit can have altered the page. An insert does not alter a
// page that has a next one, because ids grow.
func (p *encodedPage) valid(added, changed uint64) bool {
	return p.changed == changed && (p.link[0] != "" || p.added == added)
}

// newPageCache returns a cache of about maxBytes, or nil if maxBytes is below 1.
func newPageCache(versions func(context.Context) (added, changed uint64, err error), maxBytes int64, m *metrics) (*pageCache, error) {
	if maxBytes < 1 {
		return nil, nil
	}
	pages, err := otter.New(&otter.Options[pageKey, *encodedPage]{
		MaximumWeight: uint64(maxBytes),
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
	c.pages.Set(key, page)
	return page, nil
}
