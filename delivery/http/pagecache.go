package http

import (
	"github.com/maypok86/otter/v2"
)

// WithPageCache caches encoded pages of the lists in about maxBytes of memory. versions
// returns numbers that increase with the commits to the store (see
// repository.Store.Versions), by which a stale page is recognised. By default no page is
// cached.
func WithPageCache(versions func() (added, changed uint64), maxBytes int64) Option {
	return func(a *API) { a.versions, a.cacheBytes = versions, maxBytes }
}

// A pageCache caches encoded pages of the lists. It stores each page with the versions of
// the store from before the page was read, so that a page is never older than a write that
// a client knows of. A nil cache caches nothing.
type pageCache struct {
	versions func() (added, changed uint64)
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
func newPageCache(versions func() (added, changed uint64), maxBytes int64, m *metrics) (*pageCache, error) {
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

// get returns the cached page, or nil if there is none or it is stale.
func (c *pageCache) get(key pageKey) *encodedPage {
	if c == nil {
		return nil
	}
	page, ok := c.pages.GetIfPresent(key)
	if !ok || !page.valid(c.versions()) {
		return nil
	}
	c.metrics.cacheHits.Inc()
	return page
}

// load calls read and caches the page that it returns.
func (c *pageCache) load(key pageKey, read func() (*encodedPage, error)) (*encodedPage, error) {
	if c == nil {
		return read()
	}
	c.metrics.cacheMisses.Inc()
	added, changed := c.versions() // before read
	page, err := read()
	if err != nil {
		return nil, err
	}
	page.added, page.changed = added, changed
	c.pages.Set(key, page)
	return page, nil
}
