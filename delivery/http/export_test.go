package http

import (
	"time"

	"golang.org/x/time/rate"
)

// SetStreamTimes sets the interval at which streams of changes check their authorization, and the timeout
// of streams.
func (a *API) SetStreamTimes(check, timeout time.Duration) {
	a.streams.check, a.streams.timeout = check, timeout
}

// StreamCheckInterval is the interval at which the authorization of a stream is checked.
const StreamCheckInterval = streamCheckInterval

// SetStreamPages sets how many pages of a backlog the streams of a caller send per second.
func (a *API) SetStreamPages(pages rate.Limit) { a.streams.backlogs.limit = pages }

// PageETag returns the ETag of a page with a body and a link.
var PageETag = pageETag

// These functions and errors have tests of their own.
var (
	RequestID               = requestID
	CheckMediaType          = checkMediaType
	ErrUnsupportedMediaType = errUnsupportedMediaType
	PrefersEvents           = prefersEvents
)
