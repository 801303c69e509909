package http

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/maypok86/otter/v2"
)

// A pageCache caches encoded pages of lists, and single records. It stores each page with the versions of the store
// from before the page was read. A later commit increases the versions, so a page that is sent as fresh includes every
// write that this process has acknowledged. It may lack a write of another process that the versions do not include yet
// (see Options.Versions). A nil pageCache caches nothing.
type pageCache struct {
	*Options
	pages   *otter.Cache[pageKey, *encodedPage]
	metrics *metrics
}

// A pageKey identifies a page: kind is "pets", "orders" or "inventory", and query is in canonical form; or kind is
// "pet" or "order", and query is the id. Other forms of a query are never keys, so that clients cannot fill the cache
// with copies of a page.
type pageKey struct{ kind, query string }

// newPageCache returns a cache of Options.CacheBytes, or nil if the options disable it.
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
	added, changed uint64    // the versions of the store after the request arrived; if unavailable, the last known versions
	unavailable    bool      // the versions could not be read: a stale page may be sent, otherwise the page is read from the store
	checked        time.Time // the versions include all commits before this time; set only with StaleIfUnavailable
}

// use returns the cache for a request. It reads the versions of the store, for which it may query the database.
func (c *pageCache) use(ctx context.Context) cacheUse {
	if c == nil {
		return cacheUse{}
	}
	var checked time.Time
	if c.StaleIfUnavailable > 0 {
		checked = time.Now().Add(-c.VersionsAge()) // called before Versions: the versions may be newer, but not older
	}
	added, changed, err := c.Versions(ctx)
	return cacheUse{c, added, changed, err != nil, checked}
}

// useForRecord returns the cache for a request of a single record. With a database server it returns no cache, because
// reading the versions takes as long as reading the record. (With repository.Options.MaxStaleness, not every request reads
// the versions, but records are not cached then either.)
func (c *pageCache) useForRecord(ctx context.Context) cacheUse {
	if c != nil && c.Remote {
		return cacheUse{}
	}
	return c.use(ctx)
}

// serve sends the page with a key from the cache. If the cache has no page that may be sent, serve calls read, whose
// context has the deadline of the request. It caches and sends the page that read returns.
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

// send sends the page with a key from the cache. It reports false if the cache has no page that may be sent.
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

// sendStale sends a page that was fresh at most StaleIfUnavailable ago, with its Age (RFC 9111, section 5.1). It reports
// false if the page is older.
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

// set caches a page that was read after the call of use. It caches no transient page, and nothing while the versions are
// not known.
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
