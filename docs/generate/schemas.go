package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/domain"
)

const schemas = "#/components/schemas/"

// refTo returns a reference to a shared schema.
func refTo(doc *openapi3.T, name string) openapi3.SchemaRef {
	return openapi3.SchemaRef{Ref: schemas + name, Value: doc.Components.Schemas[name].Value}
}

// removeSwagger2Leftovers removes the extensions of Swagger 2.0 that the conversion leaves.
func removeSwagger2Leftovers(doc *openapi3.T) error {
	for route, op := range operations(doc) {
		for _, p := range op.Parameters {
			p.Value.Extensions = nil
		}
		if op.RequestBody == nil {
			continue
		}
		op.RequestBody.Value.Extensions = nil
		if op.RequestBody.Value.Content[jsonType] == nil {
			return fmt.Errorf("%s: the body is not %s", route, jsonType)
		}
	}
	return nil
}

// nameSchemas renames domain.PetStatus to PetStatus. It returns an error for any other type
// without a published name.
func nameSchemas(doc *openapi3.T) error {
	const prefix = types + "."
	for name, schema := range sorted(doc.Components.Schemas) {
		short, inTypes := strings.CutPrefix(name, prefix)
		if !inTypes && strings.Contains(name, ".") {
			return fmt.Errorf("type %s needs a published name: // @name after its closing brace", name)
		}
		delete(doc.Components.Schemas, name)
		doc.Components.Schemas[short] = schema
	}
	for path, ref := range schemaRefs(doc) {
		if err := unwrapAllOf(ref); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if name, ok := strings.CutPrefix(ref.Ref, schemas+prefix); ok {
			*ref = refTo(doc, name)
		}
		if name, ok := strings.CutPrefix(ref.Ref, schemas); ok && doc.Components.Schemas[name] == nil {
			return fmt.Errorf("%s: there is no schema %s", path, name)
		}
	}
	return nil
}

// unwrapAllOf removes the allOf in which swag wraps the reference of a field with tags.
func unwrapAllOf(ref *openapi3.SchemaRef) error {
	if ref.Ref != "" || len(ref.Value.AllOf) != 1 {
		return nil
	}
	enum, shared := ref.Value.Enum, ref.Value.AllOf[0]
	if enum != nil && !slices.Equal(enum, shared.Value.Enum) {
		return fmt.Errorf("the tag enums has %v, its type has %v", enum, shared.Value.Enum)
	}
	*ref = *shared
	return nil
}

// shareEnums replaces each enum with a reference to the shared schema that has the same
// values.
func shareEnums(doc *openapi3.T) error {
	descriptions := map[string]string{
		"PetStatus":   "The status of an animal. An animal that was added without a status has none.",
		"OrderStatus": "The status of an order: `placed`, then either `delivered` or `cancelled`.",
	}
	names := map[string]string{}
	for name, schema := range sorted(doc.Components.Schemas) {
		if len(schema.Value.Enum) > 0 {
			schema.Value.Extensions = nil
			schema.Value.Description = cmp.Or(descriptions[name], schema.Value.Description)
			names[fmt.Sprint(schema.Value.Enum)] = name
		}
	}
	for path, ref := range schemaRefs(doc) {
		if ref.Ref != "" || len(ref.Value.Enum) == 0 {
			continue
		}
		name, ok := names[fmt.Sprint(ref.Value.Enum)]
		if !ok {
			return fmt.Errorf("%s: no type of %s has the values %v: add one, or correct the tag enums", path, types, ref.Value.Enum)
		}
		*ref = refTo(doc, name)
	}
	return nil
}

// nameLists names the arrays in responses: Pets for an array of Pet.
func nameLists(doc *openapi3.T) error {
	for _, op := range operations(doc) {
		for _, response := range sorted(op.Responses.Map()) {
			media := response.Value.Content[jsonType]
			if media == nil || media.Schema.Ref != "" || media.Schema.Value.Items == nil {
				continue
			}
			if item, ok := strings.CutPrefix(media.Schema.Value.Items.Ref, schemas); ok {
				doc.Components.Schemas[item+"s"] = media.Schema
				list := refTo(doc, item+"s")
				media.Schema = &list
			}
		}
	}
	return nil
}

// setPathExamples sets the example of a path parameter such as petId to that of the id of a
// Pet, so that Swagger UI has a value to send.
func setPathExamples(doc *openapi3.T) error {
	for _, op := range operations(doc) {
		for _, p := range op.Parameters {
			for name, record := range doc.Components.Schemas {
				id := record.Value.Properties["id"]
				if id != nil && p.Value.In == openapi3.ParameterInPath && strings.EqualFold(p.Value.Name, name+"Id") {
					p.Value.Example = id.Value.Example
				}
			}
		}
	}
	return nil
}

// describeLengths moves the length limits of strings in requests to their descriptions: the
// contract has none, and a limit that is added to a schema is a breaking change.
func describeLengths(doc *openapi3.T) error {
	for _, op := range operations(doc) {
		if op.RequestBody == nil {
			continue
		}
		for _, property := range op.RequestBody.Value.Content[jsonType].Schema.Value.Properties {
			p := property.Value
			if property.Ref != "" || p.MaxLength == nil {
				continue
			}
			if !strings.Contains(p.Description, strconv.FormatUint(*p.MaxLength, 10)) {
				p.Description = strings.TrimSpace(fmt.Sprintf("%s %d to %d characters.", p.Description, p.MinLength, *p.MaxLength))
			}
			p.MinLength, p.MaxLength = 0, nil
		}
	}
	return nil
}

// addNamePattern adds the pattern of the name of a NewPet, which swag cannot express.
func addNamePattern(doc *openapi3.T) error {
	name := doc.Components.Schemas["NewPet"].Value.Properties["name"]
	if name == nil {
		return errors.New("the schema NewPet has no name")
	}
	name.Value.Pattern = domain.PetNamePattern
	return nil
}
