package main

import (
	"iter"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

const jsonType = "application/json"

// sorted iterates over a map in the order of its keys, so that the first error is always
// the same.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// operations iterates over the operations, each with its method and path.
func operations(doc *openapi3.T) iter.Seq2[string, *openapi3.Operation] {
	return func(yield func(string, *openapi3.Operation) bool) {
		for path, item := range sorted(doc.Paths.Map()) {
			for method, op := range sorted(item.Operations()) {
				if !yield(method+" "+path, op) {
					return
				}
			}
		}
	}
}

// schemaRefs iterates over all references to schemas, each with a name for messages: those
// of the properties of the shared schemas, and of parameters, bodies and headers. The loop
// body may replace a reference.
func schemaRefs(doc *openapi3.T) iter.Seq2[string, *openapi3.SchemaRef] {
	return func(yield func(string, *openapi3.SchemaRef) bool) {
		for name, schema := range sorted(doc.Components.Schemas) {
			if !properties(name, schema, yield) {
				return
			}
		}
		for route, op := range operations(doc) {
			for name, schema := range sorted(operationSchemas(route, op)) {
				if !yield(name, schema) || !properties(name, schema, yield) {
					return
				}
			}
		}
	}
}

// properties yields the references of the properties and items of a schema.
func properties(path string, schema *openapi3.SchemaRef, yield func(string, *openapi3.SchemaRef) bool) bool {
	if schema.Ref != "" {
		return true
	}
	for name, property := range sorted(schema.Value.Properties) {
		if !yield(path+"."+name, property) || !properties(path+"."+name, property, yield) {
			return false
		}
	}
	items := schema.Value.Items
	return items == nil || yield(path+"[]", items) && properties(path+"[]", items, yield)
}

// operationSchemas returns the references of an operation, by name.
func operationSchemas(route string, op *openapi3.Operation) map[string]*openapi3.SchemaRef {
	found := map[string]*openapi3.SchemaRef{}
	for _, p := range op.Parameters {
		found[route+" "+p.Value.In+" "+p.Value.Name] = p.Value.Schema
	}
	if op.RequestBody != nil {
		found[route+" body"] = op.RequestBody.Value.Content[jsonType].Schema
	}
	for status, response := range op.Responses.Map() {
		if media := response.Value.Content[jsonType]; media != nil {
			found[route+" "+status] = media.Schema
		}
		for name, header := range response.Value.Headers {
			found[route+" "+status+" "+name] = header.Value.Schema
		}
	}
	return found
}
