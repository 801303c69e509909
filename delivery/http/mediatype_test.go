package http_test

import "testing"

func TestBodyIsPlainJSON(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	const rex = `{"name":"Rex","categoryId":7}`
	typed := func(header ...string) request { return post(rex, header...) }
	unsupported := refused(415, "unsupported_media_type")
	s.run(t, []testCase{
		{"as published", typed("Content-Type: application/json"), created("")},
		{"in UTF-8", typed("Content-Type: application/json; charset=utf-8"), created("")},
		{"in UTF-8, in capitals", typed("Content-Type: Application/JSON;Charset=UTF-8"), created("")},
		{"in UTF-8, quoted", typed(`Content-Type: application/json; charset="utf-8"`), created("")},
		{"not encoded", typed("Content-Encoding: identity"), created("")},

		{"no type", typed("-Content-Type"), unsupported},
		{"empty type", typed("Content-Type: "), unsupported},
		{"two types", typed("Content-Type: application/json", "Content-Type: application/json"), unsupported},
		{"two types in one header", typed("Content-Type: application/json, application/json"), unsupported},
		{"text", typed("Content-Type: text/plain"), unsupported},
		{"JSON as text", typed("Content-Type: text/json"), unsupported},
		{"a form", typed("Content-Type: application/x-www-form-urlencoded"), unsupported},
		{"a type that only begins alike", typed("Content-Type: application/jsonp"), unsupported},
		{"a structured suffix", typed("Content-Type: application/merge-patch+json"), unsupported},
		{"any type", typed("Content-Type: */*"), unsupported},
		{"no type at all", typed("Content-Type: application"), unsupported},
		{"another charset", typed("Content-Type: application/json; charset=iso-8859-1"), unsupported},
		{"UTF-16", typed("Content-Type: application/json; charset=utf-16"), unsupported},
		{"an empty charset", typed(`Content-Type: application/json; charset=""`), unsupported},
		{"two charsets", typed("Content-Type: application/json; charset=utf-8; charset=utf-16"), unsupported},
		{"another parameter", typed("Content-Type: application/json; version=1"), unsupported},
		{"another parameter beside the charset", typed("Content-Type: application/json; charset=utf-8; version=1"), unsupported},
		{"broken parameters", typed("Content-Type: application/json; charset"), unsupported},

		{"gzip", typed("Content-Encoding: gzip"), unsupported},
		{"deflate", typed("Content-Encoding: deflate"), unsupported},
		{"an unknown encoding", typed("Content-Encoding: x"), unsupported},
		{"identity, then gzip", typed("Content-Encoding: identity", "Content-Encoding: gzip"), unsupported},
		{"identity and gzip", typed("Content-Encoding: identity, gzip"), unsupported},
	})
}

func TestMediaTypeOfARequestWithoutBodyDoesNotMatter(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, get("/v1/pets", "Content-Type: text/plain", "Content-Encoding: gzip", "Accept: text/html"), ok(`[]`))
}
