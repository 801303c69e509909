package main

import (
	"maps"

	"github.com/getkin/kin-openapi/openapi3"
)

// shareHeaders adds the headers that follow from an answer's status and
// operation; those of a single answer are annotated at its handler.
func shareHeaders(doc *openapi3.T) error {
	doc.Components.Headers = sharedHeaders()
	for _, op := range operations(doc) {
		replayable := op.Parameters.GetByInAndName(openapi3.ParameterInHeader, idempotencyKey) != nil
		for status, response := range op.Responses.Map() {
			names := []string{"X-Request-Id"}
			switch {
			case status == "401":
				names = append(names, "WWW-Authenticate")
			case status == "429", status == "503":
				names = append(names, "Retry-After")
			case status < "300" && replayable:
				names = append(names, "Idempotency-Replayed")
			}
			if op.Deprecated {
				names = append(names, "Deprecation", "Sunset", "Link")
			}
			addHeaders(doc, response.Value, names)
		}
	}
	return nil
}

func addHeaders(doc *openapi3.T, response *openapi3.Response, names []string) {
	// The converter leaves nil where nothing was annotated.
	headers := openapi3.Headers{}
	maps.Copy(headers, response.Headers)
	for _, name := range names {
		component := name
		if name == "Link" {
			component = "Successor-Link"
		}
		headers[name] = &openapi3.HeaderRef{
			Ref:   "#/components/headers/" + component,
			Value: doc.Components.Headers[component].Value,
		}
	}
	response.Headers = headers
}

func sharedHeaders() openapi3.Headers {
	return openapi3.Headers{
		"X-Request-Id": header("string", "abc-123",
			"The request's name in the logs: the client's own if it is 1 to 64 of `A-Za-z0-9._-`, else a new one."),
		"WWW-Authenticate": header("string", `Bearer realm="petstore", error="invalid_token"`,
			"How to authenticate; `error` is there when a key was sent (RFC 6750)."),
		"Retry-After": header("integer", 1,
			"Seconds to wait before the next attempt."),
		"Idempotency-Replayed": header("boolean", true,
			"Present when this is the first answer given again."),
		"Deprecation": header("string", "@1764892800",
			"When the operation was deprecated, in Unix seconds (RFC 9745)."),
		"Sunset": header("string", "Thu, 05 Dec 2030 00:00:00 GMT",
			"When the operation is removed (RFC 8594)."),
		"Successor-Link": header("string", `<../pets>; rel="successor-version"`,
			"The operation to use instead (RFC 8288)."),
	}
}

func header(kind string, example any, description string) *openapi3.HeaderRef {
	return &openapi3.HeaderRef{Value: &openapi3.Header{Parameter: openapi3.Parameter{
		Description: description,
		Schema:      &openapi3.SchemaRef{Value: &openapi3.Schema{Type: &openapi3.Types{kind}}},
		Example:     example,
	}}}
}
