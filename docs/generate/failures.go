package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/domain"
)

// A failure is a code of the closed list with its status and an example of its message.
type failure struct {
	code    string
	status  int
	message string
}

// failures returns the closed list. not_found and method_not_allowed, which no operation
// returns, complete the list.
func failures() []failure {
	return []failure{
		{"invalid_json", 400, "the body must be one JSON object"},
		{"validation_failed", 400, ""}, // see addFailure
		{"invalid_parameter", 400, "limit must be at most 100"},
		{"invalid_idempotency_key", 400, "Idempotency-Key must be 1 to 255 visible ASCII characters"},
		{"missing_api_key", 401, "an API key is required: send the header Authorization: Bearer <API_KEY>"},
		{"invalid_api_key", 401, "the API key is not valid"},
		{"forbidden", 403, "this API key may only read: use one that was created without --read-only"},
		{"not_found", 404, "there is no resource at this path"},
		{"pet_not_found", 404, "there is no pet with the id 42"},
		{"order_not_found", 404, "there is no order with the id 42"},
		{"method_not_allowed", 405, "this path does not support the method DELETE, see the header Allow"},
		{"request_timeout", 408, "the body was not received in time"},
		{"pet_not_available", 409, "the pet with the id 42 is not available"},
		{"order_state_conflict", 409, "the order with the id 42 is cancelled and cannot become delivered"},
		{"idempotency_in_progress", 409, "the first request with this Idempotency-Key has no result yet, try again"},
		{"operation_removed", 410, "this operation was removed on " + domain.GetPetSunset.Format(time.DateOnly) + ": list the pets with a status instead"},
		{"body_too_large", 413, "the body must not be larger than 65536 bytes"},
		{"unsupported_media_type", 415, "the body must be application/json"},
		{"idempotency_key_reused", 422, "this Idempotency-Key was used before for a different request"},
		{"rate_limited", 429, "too many requests, try again later"},
		{"internal_error", 500, "an internal error occurred: quote the X-Request-Id of this response when you report it"},
		{"unavailable", 503, "the service is temporarily unavailable, try again"},
	}
}

// impliedCodes returns the codes that follow from the parameters and the body of an
// operation. They are not annotated.
func impliedCodes(op *openapi3.Operation) []string {
	codes := []string{"missing_api_key", "invalid_api_key", "forbidden", "rate_limited", "internal_error", "unavailable"}
	if op.RequestBody != nil {
		codes = append(codes, "invalid_json", "validation_failed", "request_timeout", "body_too_large", "unsupported_media_type")
	}
	if slices.ContainsFunc(op.Parameters, func(p *openapi3.ParameterRef) bool { return p.Value.In == openapi3.ParameterInQuery }) {
		codes = append(codes, "invalid_parameter")
	}
	if op.Parameters.GetByInAndName(openapi3.ParameterInHeader, idempotencyKey) != nil {
		codes = append(codes, "invalid_idempotency_key", "idempotency_in_progress", "idempotency_key_reused")
	}
	if op.Deprecated {
		codes = append(codes, "operation_removed")
	}
	return codes
}

// annotatedCodes returns the codes of the @Failure lines. It returns an error for a code
// that is unknown or has another status.
func annotatedCodes(op *openapi3.Operation) ([]string, error) {
	var codes []string
	for status, response := range sorted(op.Responses.Map()) {
		if status < "400" {
			continue
		}
		for code := range strings.SplitSeq(*response.Value.Description, ",") {
			code = strings.TrimSpace(code)
			i := slices.IndexFunc(failures(), func(f failure) bool { return f.code == code })
			if i < 0 {
				return nil, fmt.Errorf("@Failure %s: %q is not in the list of codes", status, code)
			}
			if want := failures()[i].status; strconv.Itoa(want) != status {
				return nil, fmt.Errorf("@Failure %s: %s has the status %d", status, code, want)
			}
			codes = append(codes, code)
		}
	}
	return codes, nil
}

// addFailures adds the error responses of every operation, with an example for each code.
func addFailures(doc *openapi3.T) error {
	for route, op := range operations(doc) {
		codes, err := annotatedCodes(op)
		if err != nil {
			return fmt.Errorf("%s: %w", route, err)
		}
		codes = append(codes, impliedCodes(op)...)
		for _, f := range failures() {
			if f.code == "forbidden" && strings.HasPrefix(route, http.MethodGet) { // by a rule of an embedder
				f.message = "the caller may not do this"
			}
			if slices.Contains(codes, f.code) {
				addFailure(doc, op, f)
			}
		}
	}
	return nil
}

// addFailure adds a failure as an example of the response with its status.
func addFailure(doc *openapi3.T, op *openapi3.Operation, f failure) {
	if f.code == "validation_failed" {
		required := op.RequestBody.Value.Content[jsonType].Schema.Value.Required
		f.message = strings.Join(required, " is required; ") + " is required"
	}
	errorContent(doc, op, f.status).Examples[f.code] = &openapi3.ExampleRef{Value: openapi3.NewExample(map[string]any{
		"code": f.code, "message": f.message, "status": f.status,
	})}
}

// errorContent returns the content of an error response, which it adds if necessary.
func errorContent(doc *openapi3.T, op *openapi3.Operation, status int) *openapi3.MediaType {
	key := strconv.Itoa(status)
	if op.Responses.Value(key) == nil {
		op.Responses.Set(key, &openapi3.ResponseRef{Value: openapi3.NewResponse()})
	}
	response := op.Responses.Value(key).Value
	if media := response.Content[jsonType]; media != nil && media.Examples != nil {
		return media
	}
	body := refTo(doc, "Error")
	response.WithDescription(http.StatusText(status)).WithJSONSchemaRef(&body)
	response.Content[jsonType].Examples = openapi3.Examples{}
	return response.Content[jsonType]
}

// addErrorCodes adds the closed list to the schema Error. It is not an enum: the contract
// has a string without one, and oasdiff reports each value of a new enum as a breaking
// change.
func addErrorCodes(doc *openapi3.T) error {
	body := doc.Components.Schemas["Error"]
	if body == nil || body.Value.Properties["code"] == nil {
		return errors.New("no @Failure has the type of the schema Error")
	}
	var codes []string
	for _, f := range failures() {
		codes = append(codes, f.code)
	}
	body.Value.Properties["code"] = &openapi3.SchemaRef{Value: &openapi3.Schema{
		Type:        &openapi3.Types{openapi3.TypeString},
		Description: "The error code, for programs: `" + strings.Join(codes, "`, `") + "`.",
		Example:     "validation_failed",
		Extensions:  map[string]any{"x-extensible-enum": codes},
	}}
	delete(doc.Components.Schemas, "Code")
	return nil
}
