package binding

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/domain"
)

// JSON decodes a JSON object into a T and validates the tags of T. The fields of T must be pointers; a field is nil
// if its member is absent. A member may be null only if its field is a pointer to a pointer: the field then points to
// nil. Unknown members are ignored, but a member whose name is nearly the name of a field is a violation. name is the
// noun for raw in error messages. The error is an ErrInvalid (invalid_json, validation_failed).
func JSON[T any](raw []byte, name string) (T, error) { return decodeObject[T](raw, name, false) }

// StrictJSON is like JSON, but rejects unknown members.
func StrictJSON[T any](raw []byte, name string) (T, error) { return decodeObject[T](raw, name, true) }

func decodeObject[T any](raw []byte, name string, strict bool) (object T, err error) {
	d := objectDecoder{target: reflect.ValueOf(&object).Elem(), name: name, strict: strict}
	if err := unmarshal(raw, &d, name, "object"); err != nil {
		return object, err
	}
	return object, Validate(&object, domain.CodeValidationFailed, d.violations)
}

// JSONArray decodes a JSON array of objects, and validates the tags of T. It decodes each object as JSON does. The
// field of a violation has the index of the element, such as [3].name. An array that is empty, or has more elements
// than a request may have, is one violation.
func JSONArray[T any](raw []byte, name string) ([]T, error) {
	var d arrayDecoder[T]
	if err := unmarshal(raw, &d, name, "array"); err != nil {
		return nil, err
	}
	if err := domain.ValidateBatch(len(d.objects)); err != nil {
		return nil, err
	}
	return d.objects, domain.Invalid(domain.CodeValidationFailed, d.violations...)
}

const codeInvalidJSON domain.Code = "invalid_json"

// InvalidJSON returns the ErrInvalid (invalid_json) for a body that is not valid JSON, or of the wrong kind.
func InvalidJSON(message string, cause error) error {
	return &domain.Error{Kind: domain.ErrInvalid, Code: codeInvalidJSON, Message: message, Cause: cause}
}

// unmarshal decodes one value of I-JSON (RFC 7493). Names in an object must be unique, text must be valid UTF-8 without
// noncharacters, and nothing may follow the value. kind is "object" or "array", for error messages.
func unmarshal(raw []byte, target json.UnmarshalerFrom, name, kind string) error {
	err := json.Unmarshal(raw, target)
	syntax, malformed := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case len(raw) == 0:
		return InvalidJSON(name+" is empty: send a JSON "+kind, nil)
	case malformed:
		return InvalidJSON(fmt.Sprintf("%s is not valid JSON: %v at byte %d", name, syntax.Err, syntax.ByteOffset), err)
	case err != nil:
		return InvalidJSON(name+" must be one JSON "+kind, err)
	case hasNoncharacter(raw):
		return InvalidJSON(name+" must not contain a noncharacter such as U+FFFF", nil)
	}
	return nil
}

// An arrayDecoder decodes a JSON array of objects, and collects the violations of all objects.
type arrayDecoder[T any] struct {
	objects    []T
	violations []domain.Violation
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (d *arrayDecoder[T]) UnmarshalJSONFrom(source *jsontext.Decoder) error {
	if source.PeekKind() != '[' {
		return cmp.Or(source.SkipValue(), errUnexpected)
	}
	if _, err := source.ReadToken(); err != nil {
		return err
	}
	for source.PeekKind() != ']' {
		if len(d.objects) > domain.MaxLimit {
			if err := source.SkipValue(); err != nil {
				return err
			}
			continue
		}
		element := fmt.Sprintf("[%d]", len(d.objects))
		d.objects = append(d.objects, *new(T))
		object := &d.objects[len(d.objects)-1]
		decoder := objectDecoder{target: reflect.ValueOf(object).Elem(), name: element}
		err := decoder.UnmarshalJSONFrom(source)
		switch {
		case errors.Is(err, errUnexpected):
			d.violations = append(d.violations, domain.Violation{Field: element, Rule: "must be a JSON object"})
		case err != nil:
			return err
		default:
			for _, v := range violationsOf(object, decoder.violations) {
				d.violations = append(d.violations, domain.Violation{Field: element + "." + v.Field, Rule: v.Rule})
			}
		}
	}
	_, err := source.ReadToken()
	return err
}

// An objectDecoder decodes a JSON object into a struct, and collects a violation for each member whose name or type is
// wrong.
type objectDecoder struct {
	target     reflect.Value // the struct
	name       string        // the noun for the object in error messages
	strict     bool          // whether unknown members are violations
	violations []domain.Violation
}

// errUnexpected is the error of a decoder for a JSON value of another kind, such as a number instead of an object.
var errUnexpected = errors.New("another kind of JSON value")

// hasNoncharacter reports whether a string in valid JSON contains a noncharacter.
func hasNoncharacter(raw []byte) bool {
	// A noncharacter is an escape with a backslash, or begins with a byte of 0xef or more. Most bodies have neither.
	if !slices.ContainsFunc(raw, func(c byte) bool { return c == '\\' || c >= 0xef }) {
		return false
	}
	for source := jsontext.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := source.ReadToken()
		if err != nil {
			return false // io.EOF, because raw is valid
		}
		if token.Kind() == '"' && strings.ContainsFunc(token.String(), domain.IsNoncharacter) {
			return true
		}
	}
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (d *objectDecoder) UnmarshalJSONFrom(source *jsontext.Decoder) error {
	if source.PeekKind() != '{' {
		return cmp.Or(source.SkipValue(), errUnexpected)
	}
	if _, err := source.ReadToken(); err != nil {
		return err
	}
	for source.PeekKind() != '}' {
		token, err := source.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		value, err := source.ReadValue()
		if err != nil {
			return err
		}
		d.decodeMember(name, value)
	}
	_, err := source.ReadToken()
	return err
}

func (d *objectDecoder) decodeMember(name string, value jsontext.Value) {
	fields := fieldsOf(d.target.Type(), "json")
	for _, f := range fields {
		if f.name == name {
			d.report(f.name, decodeValue(value, d.target.FieldByIndex(f.index)))
			return
		}
	}
	for _, f := range fields {
		if IsNearly(name, f.name) {
			d.report(f.name, fmt.Sprintf("must be spelt %s, not %q", f.name, name))
			return
		}
	}
	if d.strict && !reported(d.violations, d.name) {
		d.report(d.name, fmt.Sprintf("has the unknown member %.100q: remove it or correct its name", name))
	}
}

// report adds a violation unless rule is empty. It adds at most one for each field, which limits their number.
func (d *objectDecoder) report(field, rule string) {
	if rule != "" && !reported(d.violations, field) {
		d.violations = append(d.violations, domain.Violation{Field: field, Rule: rule})
	}
}

// decodeValue decodes the value of a member into a field. The field is a pointer to an int64 or a string, or a pointer to
// such a pointer. decodeValue returns the rule that the value violates, or "".
func decodeValue(member jsontext.Value, field reflect.Value) (rule string) {
	value := reflect.New(field.Type().Elem())
	if value.Elem().Kind() == reflect.Pointer {
		field.Set(value)
		if member.Kind() == 'n' {
			return ""
		}
		return decodeValue(member, value.Elem())
	}
	if member.Kind() == 'n' {
		return "must not be null"
	}
	field.Set(value)
	if value.Elem().Kind() == reflect.Int64 {
		number, ok := ParseInt64(string(member))
		if !ok {
			return IntegerRule
		}
		value.Elem().SetInt(number)
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, member)
	if err != nil {
		return "must be a string"
	}
	value.Elem().SetString(string(text))
	return ""
}
