package http

import (
	"github.com/maypok86/otter/v2"
)

// A pageCache keeps encoded pages of the lists. A page stands while the numbers
// stand that the store had before it was read (see repository.Store.Versions), so
// whoever was told of a write never gets a page from before it.
type pageCache struct {
	versions func() (added, changed uint64)
	pages    *otter.Cache[pageKey, *encodedPage]
	metrics  *metrics
}

// A pageKey is a list and the query of one of its pages in normal form. What a
// client wrote otherwise is never kept: it could fill the cache.
type pageKey struct{ list, query string }

// An encodedPage is the answer to a list: body, and headers in the form of
// http.Header, so that all answers share them. They stand in the page itself, since
// of one out of thousands each pointer leads to memory that no processor has at hand.
type encodedPage struct {
	body   []byte
	length [1]string // of a body that is not short
	etag   [1]string
	link   [1]string // to the next page, empty at the end of the list

	added, changed uint64 // the store's numbers before it was read
}

// stands reports whether nothing has happened since that could alter the page. One
// with a next page cannot be altered by an insert, because ids only grow.
func (p *encodedPage) stands(added, changed uint64) bool {
	return p.changed == changed && (p.link[0] != "" || p.added == added)
}

// newPageCache returns a cache of about maxBytes; below one it keeps nothing.
func newPageCache(versions func() (added, changed uint64), maxBytes int64, m *metrics) (*pageCache, error) {
	if maxBytes < 1 {
		return nil, nil
	}
	pages, err := otter.New(&otter.Options[pageKey, *encodedPage]{
		MaximumWeight: uint64(maxBytes),
		Weigher:       weigh,
		Executor:      func(task func()) { task() }, // no goroutine that outlives a request
	})
	if err != nil {
		return nil, err
	}
	return &pageCache{versions: versions, pages: pages, metrics: m}, nil
}

// weigh is the memory of a page in bytes, that of the cache about it included.
func weigh(key pageKey, page *encodedPage) uint32 {
	const overhead = 512                                      // the entry, the structs and the headers
	return uint32(len(key.query) + cap(page.body) + overhead) //nolint:gosec // some kilobytes
}

// find returns the page that is kept under a key and still stands, or nil.
func (c *pageCache) find(key pageKey) *encodedPage {
	if c == nil {
		return nil
	}
	page, ok := c.pages.GetIfPresent(key)
	if !ok || !page.stands(c.versions()) {
		return nil
	}
	c.metrics.hits.Inc()
	return page
}

// read reads a page and keeps it.
func (c *pageCache) read(key pageKey, read func() (*encodedPage, error)) (*encodedPage, error) {
	if c == nil {
		return read()
	}
	c.metrics.misses.Inc()
	added, changed := c.versions() // before the store is read
	page, err := read()
	if err != nil {
		return nil, err
	}
	page.added, page.changed = added, changed
	c.pages.Set(key, page)
	return page, nil
}
