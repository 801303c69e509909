package http

import (
	"fmt"
	"net/http"
	"net/url"

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

// A filter is a parameter that narrows a list; an empty value does not.
type filter struct{ name, value string }

// linkNext tells where the list goes on behind an id: a reference relative to the
// request, so that it is right under any prefix (RFC 8288).
func linkNext(c *gin.Context, q pageQuery, after int64, filters ...filter) {
	query := fmt.Sprintf("limit=%d", q.Limit)
	for _, f := range filters {
		if f.value != "" {
			query += "&" + f.name + "=" + url.QueryEscape(f.value)
		}
	}
	c.Header("Link", fmt.Sprintf(`<?%s&after=%d>; rel="next"`, query, after))
}

// writePage answers the records of a page as a bare array.
func writePage[T, W any](c *gin.Context, page domain.Page[T], wire func(T) W) error {
	records := make([]W, len(page.Items))
	for i, item := range page.Items {
		records[i] = wire(item)
	}
	return writeJSON(c, http.StatusOK, records)
}
