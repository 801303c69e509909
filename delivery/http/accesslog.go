package http

import (
	"net/url"
	"regexp"
	"time"

	"go.uber.org/zap/zapcore"
)

// access is the line of a request: one field of the log that writes itself, which
// costs less than a field for each of its parts. It tells the route, or the path of a
// request that matches none, never the query or a header, where secrets may stand.
type access struct {
	requestID, method, route string
	path                     string // where route is empty
	status                   int
	took                     time.Duration
	keyID, client, traceID   string
}

// MarshalLogObject implements zapcore.ObjectMarshaler.
func (l *access) MarshalLogObject(line zapcore.ObjectEncoder) error {
	line.AddString("request_id", l.requestID)
	line.AddString("method", l.method)
	line.AddString("route", l.route)
	if l.route == "" {
		line.AddString("path", l.path)
	}
	line.AddInt64("status", int64(l.status))
	line.AddDuration("duration", l.took)
	line.AddString("key_id", l.keyID)
	line.AddString("client", l.client)
	if l.traceID != "" {
		line.AddString("trace_id", l.traceID)
	}
	return nil
}

// loggedPath returns at most the first 200 bytes of the escaped path of a URL, which
// are printable ASCII without spaces (RFC 3986, section 3.3), with API keys hidden.
func loggedPath(u *url.URL) string {
	path := u.EscapedPath()
	return anyKey.ReplaceAllLiteralString(path[:min(len(path), 200)], "(hidden)")
}

// anyKey matches API keys, also those that are cut off or mistyped.
var anyKey = regexp.MustCompile(`petstore_[0-9A-Za-z%]+`)
