package http

import (
	"net/url"
	"regexp"
	"time"

	"go.uber.org/zap/zapcore"
)

// An accessLogEntry holds the fields of one line of the access log. It has no query and
// no header, which may hold secrets. It is inlined as a single field of the log entry,
// which costs less than a field for each value.
type accessLogEntry struct {
	requestID, method, route string
	path                     string // logged if route is empty
	status                   int
	duration                 time.Duration
	callerField, caller      string
	client, traceID          string
}

// MarshalLogObject implements zapcore.ObjectMarshaler.
func (e *accessLogEntry) MarshalLogObject(encoder zapcore.ObjectEncoder) error {
	encoder.AddString("request_id", e.requestID)
	encoder.AddString("method", e.method)
	encoder.AddString("route", e.route)
	if e.route == "" {
		encoder.AddString("path", e.path)
	}
	encoder.AddInt64("status", int64(e.status))
	encoder.AddDuration("duration", e.duration)
	encoder.AddString(e.callerField, e.caller)
	encoder.AddString("client", e.client)
	if e.traceID != "" {
		encoder.AddString("trace_id", e.traceID)
	}
	return nil
}

// loggedPath returns the first 200 bytes of the escaped path of a URL, which are
// printable ASCII without spaces (RFC 3986, section 3.3), with API keys replaced.
func loggedPath(u *url.URL) string {
	path := u.EscapedPath()
	canonical := (&url.URL{Path: u.Path}).EscapedPath() // which encodes no character of a key
	if apiKeyPattern.MatchString(canonical) {
		path = apiKeyPattern.ReplaceAllLiteralString(canonical, "(hidden)")
	}
	return path[:min(len(path), 200)]
}

// apiKeyPattern matches API keys, including truncated and mistyped ones, and those that follow each other.
var apiKeyPattern = regexp.MustCompile(`petstore_[0-9A-Za-z%_]+`)
