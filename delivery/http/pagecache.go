package http

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/maypok86/otter/v2"

	"example.com/petstore/domain"
)

// A pageCache caches encoded pages of lists, and single records. It stores each page with the numbers of the store from
// before the page was read, so a page that is sent as fresh includes every write that was acknowledged (see
// Service.Numbers).
type pageCache struct {
	*Service
	stale    time.Duration                       // Options.StaleIfUnavailable
	pages    *otter.Cache[pageKey, *encodedPage] // nil if the options disable the cache
	metrics  *metrics
	position atomic.Pointer[positionHeader] // the last one that was sent
}

// A pageKey identifies a page: kind is "pets", "orders", "categories" or "inventory", and query is in canonical form; or kind is
// "pet" or "order", and query is the id. Other forms of a query are never keys, so that clients cannot fill the cache
// with copies of a page.
type pageKey struct{ kind, query string }

// newPageCache returns a cache of Options.CacheBytes. If the options disable it, it caches nothing.
func newPageCache(s *Service, o *Options, m *metrics) (*pageCache, error) {
	c := &pageCache{Service: s, stale: o.StaleIfUnavailable, metrics: m}
	if o.CacheBytes < 0 {
		return c, nil
	}
	var err error
	c.pages, err = otter.New(&otter.Options[pageKey, *encodedPage]{
		MaximumWeight: uint64(cmp.Or(o.CacheBytes, 16<<20)), //nolint:gosec // not negative
		Weigher:       pageWeight,
		Executor:      func(task func()) { task() }, // no goroutine outlives a request
	})
	return c, err
}

// pageWeight returns the memory of a cache entry in bytes.
func pageWeight(key pageKey, page *encodedPage) uint32 {
	const overhead = 512                                      // of the cache, the structs and the headers
	return uint32(len(key.query) + cap(page.body) + overhead) //nolint:gosec // a few kilobytes
}

// A cacheUse is the use of the cache for one request.
type cacheUse struct {
	*pageCache
	disabled    bool           // the request neither reads nor fills the cache
	numbers     domain.Numbers // of the store after the request arrived; if unavailable, the last known ones
	unavailable bool           // the numbers could not be read: a stale page may be sent, otherwise the page is read from the store
	checked     time.Time      // the numbers include all commits before this time; set only with a stale time
}

// use returns the cache for a request. It reads the numbers of the store, for which it may query the database.
func (c *pageCache) use(ctx context.Context) cacheUse {
	var checked time.Time
	if c.stale > 0 {
		checked = time.Now().Add(-c.NumbersAge()) // called before Numbers: the numbers may be newer, but not older
	}
	numbers, err := c.Numbers(ctx)
	return cacheUse{c, c.pages == nil, numbers, err != nil, checked}
}

// useForRecord returns the cache for a request of a single record. With a database server it returns no cache, because
// reading the numbers takes as long as reading the record.
func (c *pageCache) useForRecord(ctx context.Context) cacheUse {
	if c.Remote {
		return cacheUse{pageCache: c, disabled: true}
	}
	return c.use(ctx)
}

// serve sends the page with a key from the cache. If the cache has no page that may be sent, serve calls read, and caches
// and sends the page that read returns.
func (c cacheUse) serve(to *gin.Context, key pageKey, read func(context.Context) (*encodedPage, error)) error {
	if c.send(to, key) {
		return nil
	}
	begun := time.Now()
	page, err := read(to.Request.Context())
	if err != nil {
		return err
	}
	page.read, page.numbers = begun, c.numbers
	if !c.disabled && !c.unavailable { // otherwise it is not known which commits the page includes
		c.metrics.cacheMisses.Inc()
		c.pages.Set(key, page)
	}
	c.writeFresh(to, page)
	return nil
}

// send sends the page with a key from the cache. It reports false if the cache has no page that may be sent.
func (c cacheUse) send(to *gin.Context, key pageKey) bool {
	if c.disabled {
		return false
	}
	page, ok := c.pages.GetIfPresent(key)
	switch {
	case !ok:
		return false
	case c.unavailable:
		return c.sendStale(to, page)
	case !c.numbers.Validates(page.numbers, page.grows):
		return false
	}
	c.metrics.cacheHits.Inc()
	c.writeFresh(to, page)
	return true
}

// writeFresh sends a page with the position of the changes that it includes: the numbers were read before the page, or have
// validated it. Counts, and pages that are not compared with numbers, have a position of their own.
func (c cacheUse) writeFresh(to *gin.Context, page *encodedPage) {
	position := c.numbers.Position
	if page.exact || position == 0 {
		position = page.position
	}
	if position != 0 && !c.unavailable {
		to.Writer.Header()["Changes-Position"] = c.positionHeader(position)
	}
	writePage(to, page)
}

// A positionHeader is the value of the header Changes-Position.
type positionHeader struct {
	position int64
	header   []string
}

// positionHeader returns the header for a position. Until the next change, all responses share one.
func (c *pageCache) positionHeader(position int64) []string {
	last := c.position.Load()
	if last == nil || last.position != position {
		last = &positionHeader{position, []string{strconv.FormatInt(position, 10)}}
		c.position.Store(last)
	}
	return last.header
}

// sendStale sends a page that was fresh at most Options.StaleIfUnavailable ago, with its Age (RFC 9111, section 5.1). It reports
// false if the page is older.
func (c cacheUse) sendStale(to *gin.Context, page *encodedPage) bool {
	if c.stale == 0 {
		return false
	}
	age := time.Since(page.read)
	if c.numbers.Validates(page.numbers, page.grows) {
		age = min(age, time.Since(c.checked))
	}
	if age > c.stale {
		return false
	}
	c.metrics.cacheStale.Inc()
	to.Header("Age", strconv.Itoa(int(math.Ceil(age.Seconds()))))
	page.write(to)
	return true
}
