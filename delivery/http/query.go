package http

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
)

// queryOf returns the query of a request without Options.IgnoredParameters. The rest is as the client has spelt it.
func queryOf(c *gin.Context) string {
	query, ignored := c.Request.URL.RawQuery, stateOf(c).ignored
	if query == "" || len(ignored) == 0 {
		return query
	}
	parameters := slices.DeleteFunc(strings.Split(query, "&"), func(parameter string) bool {
		escaped, _, _ := strings.Cut(parameter, "=")
		name, err := url.QueryUnescape(escaped)
		return err == nil && slices.Contains(ignored, name)
	})
	return strings.Join(parameters, "&")
}

// pageQuery has the parameters of every list.
type pageQuery struct {
	// Maximum number of records to return.
	Limit int64 `form:"limit" validate:"min=1,max=100" default:"20"`
	// Return records with an id greater than this one, with `sort=-id` less than this one.
	After int64 `form:"after" validate:"min=0" format:"int64"`
	// Order of the records: `id` is ascending, `-id` newest first.
	Sort string `form:"sort" validate:"omitempty,oneof=id -id" enums:"id,-id"`
}

func (q pageQuery) pageRequest() domain.PageRequest {
	return domain.PageRequest{After: q.After, Limit: int(q.Limit), Newest: q.Sort == newest}
}

// newest is the order of records with descending ids.
const newest = "-id"

// canonical returns the canonical form of a query, which is the same for all spellings of the query. filters are the
// other parameters, each as &name=value. after replaces q.After.
func (q pageQuery) canonical(filters string, after int64) string {
	if q.Sort == newest {
		filters += "&sort=" + newest
	}
	if after != 0 {
		filters += "&after=" + strconv.FormatInt(after, 10)
	}
	return limitParameter(q.Limit) + filters
}

func (pageQuery) likelyKey(raw string) string { return withLimit(raw) }

func limitParameter(limit int64) string { return "limit=" + strconv.FormatInt(limit, 10) }

var defaultLimit = limitParameter(domain.DefaultLimit)

// withLimit returns a query with the default limit unless it has a limit.
func withLimit(raw string) string {
	switch {
	case raw == "":
		return defaultLimit
	case strings.Contains(raw, "limit="):
		return raw
	}
	return defaultLimit + "&" + raw
}

// parameter returns a parameter in canonical form, as &name=value with its values sorted and separated by commas. Commas
// are encoded, because parsers of the header Link split at commas. Without values, parameter returns "".
func parameter[T cmp.Ordered](name string, values ...T) string {
	if len(values) == 0 {
		return ""
	}
	texts := make([]string, len(values))
	for i, value := range slices.Sorted(slices.Values(values)) {
		texts[i] = fmt.Sprint(value)
	}
	return "&" + name + "=" + strings.Join(texts, "%2C")
}

// optional returns the values of an optional parameter: one value, or none if value is nil.
func optional[T any](value *T) []T {
	if value == nil {
		return nil
	}
	return []T{*value}
}

// A cachedQuery is a query whose response is cached. All its spellings have the same key, its canonical form. likelyKey
// returns the key of a query that is spelt as in a Link header or as people do, without parsing it. For other spellings
// it returns a string that is the key of no query.
type cachedQuery interface {
	key() string
	likelyKey(raw string) string
}

// A listQuery is the query of a list. next returns the query for the page after an id.
type listQuery interface {
	next(after int64) string
	pageRequest() domain.PageRequest
}
