package http

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/gin-gonic/gin"

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
		page, err = cache.load(key, query.read)
	}
	if err == nil {
		writePage(c, page)
	}
	return err
}

// writePage sends a page, or 304 if the client has it (RFC 9110, section 13.1.2).
func writePage(c *gin.Context, page *encodedPage) {
	header := c.Writer.Header()
	if page.link[0] != "" {
		header["Link"] = page.link[:]
	}
	header["Etag"] = page.etag[:]
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
// prefix. Its ETag is a hash of the body and the link.
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
	etag := `"` + strconv.FormatUint(xxhash.Sum64(body)^xxhash.Sum64String(link), 36) + `"`
	both := etag + link // one allocation, for the reason in encodedPage
	encoded.etag[0], encoded.link[0] = both[:len(etag)], both[len(etag):]
	return encoded, nil
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
