package main

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/domain"
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
			if status != "401" && status != "403" { // which come before the limit
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
	// The converter leaves nil where nothing was annotated.
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
			"The request's name in the logs: the client's own if it is 1 to 64 of `A-Za-z0-9._-`, else a new one."),
		"WWW-Authenticate": header("string", `Bearer realm="petstore", error="invalid_token"`,
			"How to authenticate; `error` is there when a key was sent (RFC 6750)."),
		"Retry-After": header("integer", 1,
			"Seconds to wait before the next attempt."),
		"RateLimit": header("string", `"default";r=50;t=30`,
			"Where a limit is set: the requests that the key has left, and the seconds until it has all of them again (draft-ietf-httpapi-ratelimit-headers)."),
		"RateLimit-Policy": header("string", `"default";q=100;w=60`,
			"Where a limit is set: the requests that a key may make, and in how many seconds (draft-ietf-httpapi-ratelimit-headers)."),
		"Idempotency-Replayed": header("boolean", true,
			"Present when this is the first answer given again."),
		"Deprecation": header("string", fmt.Sprintf("@%d", domain.GetPetDeprecation.Unix()),
			"When the operation was deprecated, in Unix seconds (RFC 9745)."),
		"Sunset": header("string", domain.GetPetSunset.Format(http.TimeFormat),
			"When the operation is removed (RFC 8594)."),
		"ETag": header("string", `"5d41402abc4b2a76b9719d911017c592"`,
			"What the page holds, for `If-None-Match`."),
		"Next-Link": header("string", `<?limit=20&after=20>; rel="next"`,
			"The next page, relative to this request; absent at the end of the list (RFC 8288)."),
		"Successor-Link": header("string", `<../pets>; rel="successor-version"`,
			"The operation to use instead (RFC 8288)."),
	}
}

// isList tells a list by its answer.
func isList(op *openapi3.Operation) bool {
	ok := op.Responses.Value("200")
	return ok != nil && ok.Value.Content[jsonType].Schema.Value.Type.Is(openapi3.TypeArray)
}

// documentLists adds what every list does for a client that has the page already.
func documentLists(doc *openapi3.T) error {
	for _, op := range operations(doc) {
		if !isList(op) {
			continue
		}
		op.AddParameter(&openapi3.Parameter{
			Name: "If-None-Match", In: openapi3.ParameterInHeader,
			Description: "The `ETag` of a page that the client has: an unchanged page is answered with 304.",
			Schema:      openapi3.NewSchemaRef("", openapi3.NewStringSchema()),
		})
		op.AddResponse(http.StatusNotModified, openapi3.NewResponse().WithDescription("The client has this page already"))
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
