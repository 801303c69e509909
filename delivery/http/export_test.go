package http

import (
	"time"

	"golang.org/x/time/rate"
)

// SetStreamTimes sets how often the streams of changes check their authorization, and their timeout.
func (a *API) SetStreamTimes(check, timeout time.Duration) {
	if a.streams != nil {
		a.streams.check, a.streams.timeout = check, timeout
	}
}

// StreamCheckInterval is how often the authorization of a stream is checked.
const StreamCheckInterval = streamCheckInterval

// SetStreamPages sets how many pages of a backlog the streams of a caller send in a second.
func (a *API) SetStreamPages(pages rate.Limit) { a.streams.backlogs.limit = pages }

// PageETag returns the ETag of a page with a body and a link.
var PageETag = pageETag

// Functions and errors that are tested alone.
var (
	RequestID               = requestID
	CheckMediaType          = checkMediaType
	ErrUnsupportedMediaType = errUnsupportedMediaType
	PrefersEvents           = prefersEvents
)
