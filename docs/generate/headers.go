package main

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/domain"
)

// shareHeaders adds the headers that follow from the status and the operation of a
// response. The other headers are annotated at the handlers.
func shareHeaders(doc *openapi3.T) error {
	doc.Components.Headers = sharedHeaders()
	for route, op := range operations(doc) {
		replayable := op.Parameters.GetByInAndName(openapi3.ParameterInHeader, idempotencyKey) != nil
		for status, response := range op.Responses.Map() {
			names := []string{"X-Request-Id"}
			switch {
			case status == "401", status == "403" && !strings.HasPrefix(route, http.MethodGet): // a read-only key may GET
				names = append(names, "WWW-Authenticate")
			case status == "429", status == "503":
				names = append(names, "Retry-After")
			case status < "300" && replayable:
				names = append(names, "Idempotency-Replayed")
			}
			if status != "401" { // which is sent before the rate limit
				names = append(names, "RateLimit", "RateLimit-Policy")
			}
			if op.Deprecated {
				names = append(names, "Deprecation", "Sunset", "Successor-Link")
			}
			if isList(op) && status < "400" {
				names = append(names, "ETag", "Next-Link")
			}
			addHeaders(doc, response.Value, names)
		}
	}
	return nil
}

func addHeaders(doc *openapi3.T, response *openapi3.Response, names []string) {
	// nil if no header is annotated
	headers := openapi3.Headers{}
	maps.Copy(headers, response.Headers)
	for _, component := range names {
		name := component
		if strings.HasSuffix(component, "-Link") {
			name = "Link"
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
			"The id of the request in the log: that of the request if it is 1 to 64 characters of `A-Za-z0-9._-`, else a new one."),
		"WWW-Authenticate": header("string", `Bearer realm="petstore", error="invalid_token"`,
			"How to authenticate; with `error` if a key was sent: `invalid_token`, or `insufficient_scope` if the key may only read (RFC 6750)."),
		"Retry-After": header("integer", 1,
			"The seconds to wait before a retry."),
		"RateLimit": header("string", `"default";r=50;t=30`,
			"If a rate limit is set: the remaining requests of the key, and the seconds in which it can make no more than these (draft-ietf-httpapi-ratelimit-headers)."),
		"RateLimit-Policy": header("string", `"default";q=100;w=60`,
			"If a rate limit is set: the number of requests that a key may make, and the window in seconds (draft-ietf-httpapi-ratelimit-headers)."),
		"Idempotency-Replayed": header("boolean", true,
			"Present if this is the response to an earlier request with the same Idempotency-Key."),
		"Deprecation": header("string", fmt.Sprintf("@%d", domain.GetPetDeprecation.Unix()),
			"The time at which the operation was deprecated, in Unix seconds (RFC 9745)."),
		"Sunset": header("string", domain.GetPetSunset.Format(http.TimeFormat),
			"The time at which the operation is removed (RFC 8594)."),
		"ETag": header("string", `"5d41402abc4b2a76b9719d911017c592"`,
			"The version of the page, for `If-None-Match`."),
		"Next-Link": header("string", `<?limit=20&after=20>; rel="next"`,
			"The next page, relative to the URL of the request; absent on the last page (RFC 8288)."),
		"Successor-Link": header("string", `<../pets>; rel="successor-version"`,
			"The operation that replaces this one (RFC 8288)."),
	}
}

// isList reports whether the successful response of an operation is an array.
func isList(op *openapi3.Operation) bool {
	ok := op.Responses.Value("200")
	return ok != nil && ok.Value.Content[jsonType].Schema.Value.Type.Is(openapi3.TypeArray)
}

// addConditionalGets adds If-None-Match and the response 304 to every list.
func addConditionalGets(doc *openapi3.T) error {
	for _, op := range operations(doc) {
		if !isList(op) {
			continue
		}
		op.AddParameter(&openapi3.Parameter{
			Name: "If-None-Match", In: openapi3.ParameterInHeader,
			Description: "The `ETag` of an earlier response. If the page is unchanged, the response is 304.",
			Schema:      openapi3.NewSchemaRef("", openapi3.NewStringSchema()),
		})
		op.AddResponse(http.StatusNotModified, openapi3.NewResponse().WithDescription("The page is unchanged"))
	}
	return nil
}

func header(kind string, example any, description string) *openapi3.HeaderRef {
	return &openapi3.HeaderRef{Value: &openapi3.Header{Parameter: openapi3.Parameter{
		Description: description,
		Schema:      &openapi3.SchemaRef{Value: &openapi3.Schema{Type: &openapi3.Types{kind}}},
		Example:     example,
	}}}
}
