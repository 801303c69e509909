package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

const schemas = "#/components/schemas/"

func refTo(doc *openapi3.T, name string) openapi3.SchemaRef {
	return openapi3.SchemaRef{Ref: schemas + name, Value: doc.Components.Schemas[name].Value}
}

// removeLeftovers takes out what swag and the conversion leave of Swagger 2.0.
func removeLeftovers(doc *openapi3.T) error {
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

// nameSchemas calls domain.PetStatus simply PetStatus. Every other type has to
// say its published name.
func nameSchemas(doc *openapi3.T) error {
	const prefix = vocabulary + "."
	for name, schema := range sorted(doc.Components.Schemas) {
		short, ours := strings.CutPrefix(name, prefix)
		if !ours && strings.Contains(name, ".") {
			return fmt.Errorf("type %s needs a published name: // @name behind its closing brace", name)
		}
		delete(doc.Components.Schemas, name)
		doc.Components.Schemas[short] = schema
	}
	for at, use := range uses(doc) {
		if err := unwrap(use); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if name, ours := strings.CutPrefix(use.Ref, schemas+prefix); ours {
			*use = refTo(doc, name)
		}
		if name, ours := strings.CutPrefix(use.Ref, schemas); ours && doc.Components.Schemas[name] == nil {
			return fmt.Errorf("%s: there is no schema %s", at, name)
		}
	}
	return nil
}

// unwrap takes a reference out of the allOf that swag puts around it when the
// field has tags of its own.
func unwrap(use *openapi3.SchemaRef) error {
	if use.Ref != "" || len(use.Value.AllOf) != 1 {
		return nil
	}
	enum, shared := use.Value.Enum, use.Value.AllOf[0]
	if enum != nil && !slices.Equal(enum, shared.Value.Enum) {
		return fmt.Errorf("the tag enums has %v, its type %v", enum, shared.Value.Enum)
	}
	*use = *shared
	return nil
}

// shareEnums lets every closed set of words be a schema with a name, and
// everything that has these words refer to it.
func shareEnums(doc *openapi3.T) error {
	about := map[string]string{
		"PetStatus":   "Whether an animal can be bought. An animal that was added without a status has none.",
		"OrderStatus": "Where an order stands: `placed`, then either `delivered` or `cancelled`.",
	}
	names := map[string]string{}
	for name, schema := range sorted(doc.Components.Schemas) {
		if len(schema.Value.Enum) > 0 {
			schema.Value.Extensions = nil
			schema.Value.Description = cmp.Or(about[name], schema.Value.Description)
			names[fmt.Sprint(schema.Value.Enum)] = name
		}
	}
	for at, use := range uses(doc) {
		if use.Ref != "" || len(use.Value.Enum) == 0 {
			continue
		}
		name, ok := names[fmt.Sprint(use.Value.Enum)]
		if !ok {
			return fmt.Errorf("%s: no type of %s has the values %v: give a wire field that type", at, vocabulary, use.Value.Enum)
		}
		*use = refTo(doc, name)
	}
	return nil
}

// nameLists gives the arrays that operations answer a name: Pets for many Pet.
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

// setFormats restores what swag drops at a field with tags: ids are int64,
// moments are RFC 3339.
func setFormats(doc *openapi3.T) error {
	for at, use := range uses(doc) {
		switch {
		case use.Ref != "" || use.Value.Format != "":
		case use.Value.Type.Is("integer") && (strings.HasSuffix(at, "Id") || strings.HasSuffix(at, ".id")):
			use.Value.Format = "int64"
		case use.Value.Type.Is("string") && strings.HasSuffix(at, "At"):
			use.Value.Format = "date-time"
		}
	}
	return nil
}

// exampleIDs gives a path parameter such as petId the example of the id of a Pet, so that
// the page has a value to send.
func exampleIDs(doc *openapi3.T) error {
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

// tellBoundsInWords writes the bounds of a request's strings into their
// description: the contract names none, and a bound added to a request's schema
// counts as a breaking change.
func tellBoundsInWords(doc *openapi3.T) error {
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
