package main

import (
	"errors"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"
)

// checkOperations requires what Swagger UI and generated clients need.
func checkOperations(doc *openapi3.T) error {
	if len(doc.Servers) != 1 {
		return errors.New("@BasePath is missing in doc.go")
	}
	for route, op := range operations(doc) {
		if err := checkOperation(doc, op); err != nil {
			return fmt.Errorf("%s: %w", route, err)
		}
	}
	return nil
}

func checkOperation(doc *openapi3.T, op *openapi3.Operation) error {
	switch {
	case op.OperationID == "":
		return errors.New("@ID is missing")
	case op.Summary == "":
		return errors.New("@Summary is missing")
	case op.Description == "":
		return errors.New("@Description is missing")
	case len(op.Tags) != 1:
		return errors.New("@Tags must name one tag")
	case doc.Tags.Get(op.Tags[0]) == nil || doc.Tags.Get(op.Tags[0]).Description == "":
		return fmt.Errorf("tag %s is not described in doc.go", op.Tags[0])
	}
	return nil
}

// requireAPIKey makes every operation require an API key.
func requireAPIKey(doc *openapi3.T) error {
	const name = "bearerAuth"
	doc.Components.SecuritySchemes = openapi3.SecuritySchemes{name: {Value: &openapi3.SecurityScheme{
		Type:   "http",
		Scheme: "bearer",
		Description: "An API key, sent as `Authorization: Bearer KEY`. The operator of the service issues one with " +
			"`petstore keys create --name NAME`. It begins with `petstore_` and is shown once. With `--read-only` it may only read.",
	}}}
	doc.Security = openapi3.SecurityRequirements{{name: {}}}
	return nil
}

// shareParameters defines the parameter Idempotency-Key once, and references it elsewhere.
func shareParameters(doc *openapi3.T) error {
	for _, op := range operations(doc) {
		for _, p := range op.Parameters {
			if p.Value.Name == idempotencyKey {
				p.Ref, p.Value = "#/components/parameters/"+idempotencyKey, idempotencyParameter()
				doc.Components.Parameters = openapi3.ParametersMap{idempotencyKey: {Value: p.Value}}
			}
		}
	}
	return nil
}

const idempotencyKey = "Idempotency-Key"

// idempotencyParameter returns the parameter Idempotency-Key. It has no example, which
// Swagger UI would send with every request.
func idempotencyParameter() *openapi3.Parameter {
	return &openapi3.Parameter{
		Name: idempotencyKey,
		In:   openapi3.ParameterInHeader,
		Description: "Makes retries safe: for 24 hours, a request with the same key and the same body changes nothing and gets " +
			"the first response; one with a different body is rejected. Use a new key, such as a UUID, for each operation: " +
			"1 to 255 visible ASCII characters, bare or as a quoted string.",
		Schema: &openapi3.SchemaRef{Value: &openapi3.Schema{
			Type:      &openapi3.Types{openapi3.TypeString},
			Pattern:   `^([!#-~][!-~]{0,254}|"([!#-\[\]-~]|\\["\\]){1,255}")$`,
			MinLength: 1,
			MaxLength: openapi3.Ptr[uint64](512),
		}},
	}
}
