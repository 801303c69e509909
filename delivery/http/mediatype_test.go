package http_test

import "testing"

func TestBodyMustHaveJSONMediaType(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	post := func(header ...string) request { return postPet(newRex, header...) }
	unsupported := rejected(415, "unsupported_media_type")
	s.run(t, []testCase{
		{"JSON", post("Content-Type: application/json"), created("")},
		{"UTF-8", post("Content-Type: application/json; charset=utf-8"), created("")},
		{"UTF-8 in upper case", post("Content-Type: Application/JSON;Charset=UTF-8"), created("")},
		{"UTF-8 quoted", post(`Content-Type: application/json; charset="utf-8"`), created("")},
		{"identity", post("Content-Encoding: identity"), created("")},

		{"no type", post("-Content-Type"), unsupported},
		{"empty type", post("Content-Type: "), unsupported},
		{"two types", post("Content-Type: application/json", "Content-Type: application/json"), unsupported},
		{"two types in one header", post("Content-Type: application/json, application/json"), unsupported},
		{"text", post("Content-Type: text/plain"), unsupported},
		{"JSON as text", post("Content-Type: text/json"), unsupported},
		{"a form", post("Content-Type: application/x-www-form-urlencoded"), unsupported},
		{"a type with JSON as prefix", post("Content-Type: application/jsonp"), unsupported},
		{"a structured suffix", post("Content-Type: application/merge-patch+json"), unsupported},
		{"any type", post("Content-Type: */*"), unsupported},
		{"no subtype", post("Content-Type: application"), unsupported},
		{"another charset", post("Content-Type: application/json; charset=iso-8859-1"), unsupported},
		{"UTF-16", post("Content-Type: application/json; charset=utf-16"), unsupported},
		{"an empty charset", post(`Content-Type: application/json; charset=""`), unsupported},
		{"two charsets", post("Content-Type: application/json; charset=utf-8; charset=utf-16"), unsupported},
		{"another parameter", post("Content-Type: application/json; version=1"), unsupported},
		{"another parameter after the charset", post("Content-Type: application/json; charset=utf-8; version=1"), unsupported},
		{"invalid parameters", post("Content-Type: application/json; charset"), unsupported},

		{"gzip", post("Content-Encoding: gzip"), unsupported},
		{"deflate", post("Content-Encoding: deflate"), unsupported},
		{"an unknown encoding", post("Content-Encoding: x"), unsupported},
		{"identity, then gzip", post("Content-Encoding: identity", "Content-Encoding: gzip"), unsupported},
		{"identity and gzip", post("Content-Encoding: identity, gzip"), unsupported},
	})
}

func TestMediaTypeIsIgnoredWithoutBody(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.expect(t, get("/v1/pets", "Content-Type: text/plain", "Content-Encoding: gzip", "Accept: text/html"), ok(`[]`))
}
