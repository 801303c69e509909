package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// An object is a JSON object of the document.
type object = map[string]any

// at returns the object at a path of names in o, or nil if there is none.
func at(o object, names ...string) object {
	for _, name := range names {
		o, _ = o[name].(object)
	}
	return o
}

// sorted iterates over the objects in o in the order of their names, so that the same document always has the same first
// error.
func sorted(o object) iter.Seq2[string, object] {
	return func(yield func(string, object) bool) {
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if value, ok := o[name].(object); ok && !yield(name, value) {
				return
			}
		}
	}
}

// operations iterates over the operations of a document. The key is the method and the path.
func operations(doc object) iter.Seq2[string, object] {
	return func(yield func(string, object) bool) {
		for path, item := range sorted(at(doc, "paths")) {
			for method, op := range sorted(item) {
				if !yield(strings.ToUpper(method)+" "+path, op) {
					return
				}
			}
		}
	}
}

// checkOperations checks that each operation has what Swagger UI and generated clients need. A test of delivery/http finds
// a route without an operation.
func checkOperations(doc object) error {
	described := map[any]bool{}
	for _, tag := range doc["tags"].([]any) {
		described[tag.(object)["name"]] = tag.(object)["description"] != nil
	}
	for route, op := range operations(doc) {
		for _, required := range [][2]string{{"operationId", "@ID"}, {"summary", "@Summary"}, {"description", "@Description"}} {
			if op[required[0]] == nil {
				return fmt.Errorf("%s: %s is missing", route, required[1])
			}
		}
		if tags, _ := op["tags"].([]any); len(tags) != 1 || !described[tags[0]] {
			return fmt.Errorf("%s: @Tags must name one tag that doc.go describes", route)
		}
	}
	return nil
}

// parameterOrder is the order of parameters in Swagger UI: first what people use most. swag sorts them by name.
var parameterOrder = []string{"status", "q", "categoryId", "petId", "limit", "sort", "id", "after"}

// orderParameters sorts the parameters of operations by parameterOrder. Others keep their order, behind these.
func orderParameters(doc object) error {
	rank := func(parameter any) int {
		if i := slices.Index(parameterOrder, fmt.Sprint(parameter.(object)["name"])); i >= 0 {
			return i
		}
		return len(parameterOrder)
	}
	for _, op := range operations(doc) {
		parameters, _ := op["parameters"].([]any)
		slices.SortStableFunc(parameters, func(a, b any) int { return rank(a) - rank(b) })
	}
	return nil
}

// addFailures adds to each error response an example of every error that its @Failure names.
func addFailures(doc object) error {
	for route, op := range operations(doc) {
		for status, response := range sorted(at(op, "responses")) {
			if status < "400" || status == "default" {
				continue
			}
			if err := addFailure(at(doc, "components", "examples"), status, response); err != nil {
				return fmt.Errorf("%s: @Failure %s: %w", route, status, err)
			}
		}
	}
	return nil
}

// addFailure adds examples to an error response. The description of the response names the examples. If it is the
// text of the status, such as "Not Found", addFailure adds all examples with this status whose name is their code.
// It replaces the description: by the name of the example if it adds only one, otherwise by the text of the status.
func addFailure(all object, status string, response object) error {
	code, _ := strconv.Atoi(status)
	names := strings.Split(response["description"].(string), ", ")
	if names[0] == http.StatusText(code) {
		names = slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
			value := at(all, name, "value")
			return value["status"] != code || value["code"] != name
		})
	}
	examples := object{}
	for _, name := range names {
		value := at(all, name, "value")
		switch {
		case value == nil:
			return fmt.Errorf("%q is not in the list of codes in overlay.yaml", name)
		case value["status"] != code:
			return fmt.Errorf("%s has the status %v", name, value["status"])
		}
		examples[value["code"].(string)] = object{"$ref": "#/components/examples/" + name}
	}
	response["description"] = http.StatusText(code)
	if len(names) == 1 {
		words := strings.ReplaceAll(names[0], "_", " ")
		response["description"] = strings.ToUpper(words[:1]) + words[1:]
	}
	response["content"] = object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Error"}, "examples": examples}}
	return nil
}

// shareSchemas replaces copies of shared schemas by references. swag copies enums and the arrays in responses. For a
// field with a description, swag wraps the reference in an allOf, which shareSchemas removes.
func shareSchemas(doc object) error {
	schemas := at(doc, "components", "schemas")
	names := map[string]string{}
	for name, schema := range sorted(schemas) {
		if values := enumOrItems(schema); values != "" {
			names[values] = name
		}
	}
	share := func(o object) (object, error) {
		if values := enumOrItems(o); values != "" {
			if names[values] == "" && o["items"] != nil { // an array of a parameter, which has no schema of its own
				return o, nil
			}
			if names[values] == "" {
				return nil, fmt.Errorf("no schema has the values %s: add one, or correct the tag enums", values)
			}
			return object{"$ref": "#/components/schemas/" + names[values]}, nil
		}
		if allOf, _ := o["allOf"].([]any); len(allOf) == 1 {
			return allOf[0].(object), nil
		}
		return o, nil
	}
	_, err := replaceObjects(doc["paths"], share)
	for _, schema := range sorted(schemas) {
		_, inProperties := replaceObjects(schema["properties"], share)
		err = errors.Join(err, inProperties)
	}
	return err
}

// enumOrItems returns the values of an enum, or the schema of the items of an array, as a text. For any other
// schema it returns "".
func enumOrItems(schema object) string {
	if schema["nullable"] == true { // its enum has null, too
		return ""
	}
	for _, member := range []string{"enum", "items"} {
		if schema[member] != nil {
			return fmt.Sprint(schema[member])
		}
	}
	return ""
}

// replaceObjects replaces every object in value by the result of replacement, the innermost objects first. It
// returns the new value.
func replaceObjects(value any, replacement func(object) (object, error)) (any, error) {
	var err error
	switch value := value.(type) {
	case []any:
		for i := range value {
			if value[i], err = replaceObjects(value[i], replacement); err != nil {
				return nil, err
			}
		}
	case object:
		for name := range value {
			if value[name], err = replaceObjects(value[name], replacement); err != nil {
				return nil, err
			}
		}
		return replacement(value)
	}
	return value, nil
}

// shareRepeated makes a component of every parameter and response that occurs more than once. The component of a
// parameter has the name of the parameter, the component of a response has its description without spaces as its
// name.
func shareRepeated(doc object) error {
	type use struct {
		kind, name, text string
		value            object
		replace          func(ref object)
	}
	var uses []use
	count := map[string]int{} // how often each parameter or response occurs, by its JSON
	add := func(kind, name string, value object, replace func(ref object)) {
		text, _ := json.Marshal(value) // cannot fail, because value was decoded
		uses = append(uses, use{kind, name, string(text), value, replace})
		count[string(text)]++
	}
	for _, op := range operations(doc) {
		parameters, _ := op["parameters"].([]any)
		for i, parameter := range parameters {
			p := parameter.(object)
			add("parameters", p["name"].(string), p, func(ref object) { parameters[i] = ref })
		}
		responses := at(op, "responses")
		for status, response := range sorted(responses) {
			name := pascalCase(response["description"].(string))
			add("responses", name, response, func(ref object) { responses[status] = ref })
		}
	}
	components := at(doc, "components")
	components["parameters"], components["responses"] = object{}, object{}
	texts := map[string]string{} // the JSON of each component, by kind and name
	for _, u := range uses {
		if count[u.text] == 1 {
			continue
		}
		path := u.kind + "/" + u.name
		if other, taken := texts[path]; taken && other != u.text {
			return fmt.Errorf("two components are %s: describe one of them differently in overlay.yaml", path)
		}
		texts[path] = u.text
		at(components, u.kind)[u.name] = u.value
		u.replace(object{"$ref": "#/components/" + path})
	}
	return nil
}

// pascalCase returns a text such as "Pet not found" as a name: PetNotFound.
func pascalCase(text string) (name string) {
	for word := range strings.FieldsSeq(text) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}
