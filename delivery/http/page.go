package http

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

// pageQuery are the parameters that every list has.
type pageQuery struct {
	// Maximum number of records to return.
	Limit int64 `form:"limit" validate:"min=1,max=100" default:"20"`
	// Start behind the record with this id.
	After int64 `form:"after" format:"int64"`
}

func (q pageQuery) request() domain.PageRequest {
	return domain.PageRequest{After: q.After, Limit: int(q.Limit)}
}

// normal is the normal form of a query, equal for all that mean the same. Its filters
// are written as &name=value.
func (q pageQuery) normal(filters string, after int64) string {
	return "limit=" + strconv.FormatInt(q.Limit, 10) + filters + "&after=" + strconv.FormatInt(after, 10)
}

// firstPage is the normal form of the empty query.
var firstPage = pageQuery{Limit: domain.DefaultLimit}.normal("", 0)

// A parsedQuery is a query in normal form, with the way to read its page.
type parsedQuery struct {
	normal string
	read   func() (*encodedPage, error)
}

// servePage answers the page of a list that the query of a request asks for. A kept
// page is found without binding when the query is in normal form, as that of every
// link is: no other is a key.
func (a *API) servePage(c *gin.Context, list string, bind func(raw string) (parsedQuery, error)) error {
	raw := cmp.Or(c.Request.URL.RawQuery, firstPage)
	page := a.pages.find(pageKey{list, raw})
	if page != nil {
		writePage(c, page)
		return nil
	}
	query, err := bind(raw)
	if err != nil {
		return err
	}
	key := pageKey{list, query.normal}
	if query.normal != raw {
		page = a.pages.find(key)
	}
	if page == nil {
		page, err = a.pages.read(key, query.read)
	}
	if err == nil {
		writePage(c, page)
	}
	return err
}

// writePage answers a page of a list as a bare array, or with 304 where the client
// has it already (RFC 9110, section 13.1.2).
func writePage(c *gin.Context, page *encodedPage) {
	header := c.Writer.Header()
	if page.link[0] != "" {
		header["Link"] = page.link[:]
	}
	header["Etag"] = page.etag[:]
	header["Cache-Control"] = cacheRevalidate
	if matches(c.Request.Header["If-None-Match"], page.etag[0]) {
		c.Status(http.StatusNotModified)
		return
	}
	if len(page.body) > minContentLength {
		header["Content-Length"] = page.length[:]
	}
	writeBody(c, http.StatusOK, page.body)
}

// cacheRevalidate lets a client keep a page and ask whether it still stands.
var cacheRevalidate = []string{"private, no-cache"}

// encodePage makes the answer of a page: its records as they go over the wire, and
// the query of the page behind the last of them. The link is the one of RFC 8288,
// relative to the request and so right under any prefix, and the tag a hash of all
// that the client gets.
func encodePage[T any, R record](page domain.Page[T], recordOf func(T) R, behind func(T) string) (*encodedPage, error) {
	body, err := encodeAll(page.Items, recordOf)
	if err != nil {
		return nil, err
	}
	encoded := &encodedPage{body: body}
	if len(body) > minContentLength {
		encoded.length[0] = strconv.Itoa(len(body))
	}
	var link string
	if page.More {
		link = "<?" + behind(page.Items[len(page.Items)-1]) + `>; rel="next"`
	}
	etag := `"` + strconv.FormatUint(xxhash.Sum64(body)^xxhash.Sum64String(link), 36) + `"`
	both := etag + link // side by side, for the reason of encodedPage
	encoded.etag[0], encoded.link[0] = both[:len(etag)], both[len(etag):]
	return encoded, nil
}

// minContentLength is up to how many bytes net/http finds the length of a body by itself.
const minContentLength = 2 << 10

// matches reports whether an If-None-Match names the tag, compared weakly. Tags of
// others may hold commas, ours do not.
func matches(headers []string, etag string) bool {
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
