package http

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
	"example.com/petstore/internal/binding"
	"example.com/petstore/internal/record"
)

// serveQuery sends the response to a query: the cached page, or the page that read returns. list is the name of the
// list in the keys of the cache. The query is looked up before it is parsed, see cachedQuery.
func serveQuery[Q cachedQuery](a *API, c *gin.Context, list string, read func(context.Context, Q) (*encodedPage, error)) error {
	cache, raw := a.pages.use(c.Request.Context()), queryOf(c)
	var query Q
	if cache.send(c, pageKey{list, query.likelyKey(raw)}) {
		return nil
	}
	query, err := binding.Query[Q](raw)
	if err != nil {
		return err
	}
	return cache.serve(c, pageKey{list, query.key()}, func(ctx context.Context) (*encodedPage, error) { return read(ctx, query) })
}

// serveRecord sends the record with the id in the path: the cached record, or the record that find finds. name is "pet"
// or "order". notFound is the code of the error if there is none.
func serveRecord[T any, R record.Record](
	a *API, c *gin.Context, name string, notFound domain.Code, find func(context.Context, int64) (domain.Page[T], error), recordOf func(T) R,
) error {
	id, err := pathID(c, name, notFound)
	if err != nil {
		return err
	}
	missing := func() error {
		return &domain.Error{Kind: domain.ErrNotFound, Code: notFound, Message: fmt.Sprintf("there is no %s with the id %d", name, id)}
	}
	if id < 1 {
		return missing()
	}
	key := pageKey{name, strconv.FormatInt(id, 10)}
	return a.pages.useForRecord(c.Request.Context()).serve(c, key, func(ctx context.Context) (*encodedPage, error) {
		found, err := find(ctx, id)
		if err != nil {
			return nil, err
		}
		if len(found.Items) == 0 {
			return nil, missing()
		}
		body, err := recordOf(found.Items[0]).AppendJSON(nil)
		if err != nil {
			return nil, err
		}
		page := newEncodedPage(body, "")
		page.position = found.Position
		return page, nil
	})
}

// An encodedPage is the response to a cachedQuery, or a single record. It is the entry of the cache. All responses with
// the page share its headers, which are values of http.Header. They are arrays and not slices, because with thousands
// of pages each pointer is a cache miss of the processor.
type encodedPage struct {
	body     []byte
	length   [1]string // Content-Length, empty if net/http sets it
	etag     [1]string
	link     [1]string // Link to the next page, empty on the last page
	grows    bool      // a record that is added later may belong to the page
	position int64     // if not 0, the page includes the changes up to this position
	exact    bool      // the page includes no later changes

	numbers domain.Numbers // of the store before the page was read
	read    time.Time      // when the read began
}

// encodePage encodes a page as an array. The link to the next page (RFC 8288) is relative to the URL of the request,
// so it is right under any prefix.
func encodePage[T any, R record.Listed](page domain.Page[T], recordOf func(T) R, q listQuery) (*encodedPage, error) {
	body, err := record.EncodeAll(page.Items, recordOf)
	if err != nil {
		return nil, err
	}
	var link string
	if page.More {
		link = "<?" + q.next(page.Next) + `>; rel="next"`
	}
	encoded := newEncodedPage(body, link)
	if request := q.pageRequest(); request.Newest { // a new record may get an id between the first record and After
		encoded.grows = request.After == 0 || len(page.Items) == 0 || recordOf(page.Items[0]).RecordID() < request.After-1
	} else {
		encoded.grows = !page.More
	}
	return encoded, nil
}

// newEncodedPage returns a page with a body and the value of its Link header. If link is empty, the page has no Link.
func newEncodedPage(body []byte, link string) *encodedPage {
	encoded := &encodedPage{body: body}
	if len(body) > minContentLength {
		encoded.length[0] = strconv.Itoa(len(body))
	}
	etag := pageETag(body, link)
	both := etag + link // one allocation, because each is a cache miss of the processor (see encodedPage)
	encoded.etag[0], encoded.link[0] = both[:len(etag)], both[len(etag):]
	return encoded
}

// minContentLength is the size in bytes above which net/http does not set Content-Length.
const minContentLength = 2 << 10

// writePage sends a page, or 304 if the client has it (RFC 9110, section 13.1.2).
func writePage(c *gin.Context, page *encodedPage) {
	header := c.Writer.Header()
	header[headerETag] = page.etag[:]
	header["Cache-Control"] = cacheRevalidate
	if etagMatches(c.Request.Header["If-None-Match"], page.etag[0]) {
		page.setLink(header)
		c.Status(http.StatusNotModified)
		return
	}
	page.write(c)
}

// cacheRevalidate lets a client cache a page, and makes it revalidate the page before each use.
var cacheRevalidate = []string{"private, no-cache"}

// setLink sets the header that fresh and stale pages have.
func (p *encodedPage) setLink(header http.Header) {
	if p.link[0] != "" {
		header["Link"] = p.link[:]
	}
}

// write sends a page with the status 200. The caller has set ETag and Cache-Control if the page is fresh.
func (p *encodedPage) write(c *gin.Context) {
	header := c.Writer.Header()
	p.setLink(header)
	if len(p.body) > minContentLength {
		header["Content-Length"] = p.length[:]
	}
	writeBody(c, http.StatusOK, p.body)
}
