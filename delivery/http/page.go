package http

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

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

// reference is the normal form of a query whose filters are written as &name=value:
// a reference relative to the request, so that it is right under any prefix.
func (q pageQuery) reference(filters string, after int64) string {
	return "?limit=" + strconv.FormatInt(q.Limit, 10) + filters + "&after=" + strconv.FormatInt(after, 10)
}

// A listing is one list, as its handler describes it: where it is kept, what
// narrows it and how its pages are read.
type listing[T, W any] struct {
	name    string
	query   pageQuery
	filters string
	read    func(context.Context) (domain.Page[T], error)
	id      func(T) int64
	wire    func(T) W
}

// writePage answers a page of a list as a bare array, or with 304 where the client
// has it already (RFC 9110, section 13.1.2).
func writePage[T, W any](a *API, c *gin.Context, l listing[T, W]) error {
	page, err := a.pages.page(l.name+l.query.reference(l.filters, l.query.After), func() (*encodedPage, error) {
		page, err := l.read(c.Request.Context())
		if err != nil {
			return nil, err
		}
		return l.encode(page)
	})
	if err != nil {
		return err
	}
	header := c.Writer.Header()
	if page.link != nil {
		header["Link"] = page.link
	}
	header["Etag"] = page.etag
	header["Cache-Control"] = keepAndAsk
	if matches(c.Request.Header["If-None-Match"], page.etag[0]) {
		c.Status(http.StatusNotModified)
		return nil
	}
	c.Data(http.StatusOK, "application/json", page.body)
	return nil
}

// keepAndAsk lets a client keep a page and ask whether it still stands.
var keepAndAsk = []string{"private, no-cache"}

// encode makes the answer of a page. Its link is the one of RFC 8288, its tag a
// hash of all that the client gets.
func (l listing[T, W]) encode(page domain.Page[T]) (*encodedPage, error) {
	records := make([]W, len(page.Items))
	for i, item := range page.Items {
		records[i] = l.wire(item)
	}
	body, err := json.Marshal(records)
	if err != nil {
		return nil, err
	}
	encoded := &encodedPage{body: body}
	sum := sha256.New()
	sum.Write(body)
	if page.More {
		last := page.Items[len(page.Items)-1]
		link := "<" + l.query.reference(l.filters, l.id(last)) + `>; rel="next"`
		sum.Write([]byte(link))
		encoded.link = []string{link}
	}
	encoded.etag = []string{`"` + hex.EncodeToString(sum.Sum(nil)[:16]) + `"`}
	return encoded, nil
}

// matches reports whether an If-None-Match names the tag, compared weakly.
func matches(headers []string, etag string) bool {
	for _, header := range headers {
		for candidate := range strings.SplitSeq(header, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == etag {
				return true
			}
		}
	}
	return false
}
