package http

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
	"example.com/petstore/internal/binding"
	"example.com/petstore/internal/record"
)

// A listChangesQuery has the parameters of listChanges.
type listChangesQuery struct {
	// Maximum number of changes to return.
	Limit int64 `form:"limit" validate:"min=1,max=100" default:"20"`
	// Return the changes after this position. Without it: from the oldest change that is kept.
	After int64 `form:"after" validate:"min=0" format:"int64"`
}

// listChanges sends a page of the changes, or a stream of them.
//
//	@Summary		List changes
//	@Description	Returns the changes of animals, orders and categories in the order in which they were made. A page has no gaps: a change that is made
//	@Description	later has a higher `seq`. The Link header has the address of the next page, also on an empty page: request it again later.
//	@Description	With `Accept: text/event-stream`, unless `Accept` prefers JSON, the response is an endless stream of server-sent events:
//	@Description	`id` is `seq`, `event` is `type` and `data` is the change. At first, and after 15 seconds without an event, it has a comment
//	@Description	with an `id`.
//	@Description	The stream begins after the position in the header `Last-Event-ID`, or else in `after`. To begin, read all pages of a list
//	@Description	and then the changes after the Changes-Position of its first page.
//	@ID				listChanges
//	@Tags			Changes
//	@Param			query	query	listChangesQuery	false	"page"
//	@Success		200		{array}	record.Change			"A page of changes, in ascending order of `seq`"
//	@Failure		400	{object}	errorBody	"invalid_parameter"
//	@Failure		410	{object}	errorBody	"changes_expired"
//	@Failure		401,403,429,500,503	{object}	errorBody
//	@Router			/changes [get]
func (a *API) listChanges(c *gin.Context) error {
	decoded, err := binding.Query[listChangesQuery](queryOf(c))
	if err != nil {
		return err
	}
	query := pageQuery{Limit: decoded.Limit, After: decoded.After}
	if prefersEvents(c.Request.Header["Accept"]) {
		if query.After, err = lastEventID(c.Request.Header, query.After); err != nil {
			return err
		}
		return a.streamChanges(c, query.After)
	}
	page, err := a.changes.List(c.Request.Context(), query.pageRequest())
	if err != nil {
		return err
	}
	body, err := record.EncodeAll(page.Items, record.RecordedChangeOf)
	if err != nil {
		return err
	}
	c.Header("Link", "<?"+query.canonical("", page.Next)+`>; rel="next"`)
	writeBody(c, http.StatusOK, body)
	return nil
}

// prefersEvents reports whether the header Accept has text/event-stream with a weight above 0 that is at least the
// weight of JSON (RFC 9110, section 12.5.1).
func prefersEvents(accept []string) bool {
	var events, json float64
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		mediaType, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight, err := strconv.ParseFloat(parameters["q"], 64)
		if err != nil {
			weight = 1
		}
		switch mediaType {
		case eventStream:
			events = weight
		case "application/json", "application/*", "*/*":
			json = max(json, weight)
		}
	}
	return events > 0 && events >= json
}

// lastEventID returns the position in the header Last-Event-ID, which a client sends when it connects again. Without the
// header it returns after. The error is an ErrInvalid (invalid_parameter).
func lastEventID(header http.Header, after int64) (int64, error) {
	values := header["Last-Event-Id"]
	if len(values) == 0 {
		return after, nil
	}
	position, ok := binding.ParseInt64(values[0])
	if !ok || position < 0 || len(values) > 1 {
		return 0, domain.Invalid(domain.CodeInvalidParameter, domain.Violation{Field: "Last-Event-ID", Rule: "must be one integer of at least 0"})
	}
	return position, nil
}
