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

// JSON decodes a JSON object and validates the tags of T. The fields of T are pointers, nil if the
// member is absent. name is the name of raw in error messages. The error is an ErrInvalid
// (invalid_json, validation_failed).
func JSON[T any](raw []byte, name string) (object T, err error) {
	d := objectDecoder{target: reflect.ValueOf(&object).Elem()}
	if err := d.decode(raw, name); err != nil {
		return object, err
	}
	return object, Validate(&object, domain.CodeValidationFailed, d.violations)
}

const codeInvalidJSON domain.Code = "invalid_json"

// InvalidJSON returns the error for a body that is not one JSON object.
func InvalidJSON(message string, cause error) error {
	return &domain.Error{Kind: domain.ErrInvalid, Code: codeInvalidJSON, Message: message, Cause: cause}
}

// An objectDecoder decodes a JSON object into a struct and collects the members whose
// type is wrong.
type objectDecoder struct {
	target     reflect.Value // the struct
	violations []domain.Violation
}

var errNotObject = errors.New("not a JSON object")

// decode decodes one I-JSON object (RFC 7493): its names are unique, its text is valid
// UTF-8 without noncharacters, and nothing follows it.
func (d *objectDecoder) decode(raw []byte, name string) error {
	err := json.Unmarshal(raw, d)
	var syntax *jsontext.SyntacticError
	switch {
	case len(raw) == 0:
		return InvalidJSON(name+" is empty: send a JSON object", nil)
	case errors.As(err, &syntax):
		return InvalidJSON(fmt.Sprintf("%s is not valid JSON: %v at byte %d", name, syntax.Err, syntax.ByteOffset), err)
	case err != nil:
		return InvalidJSON(name+" must be one JSON object", err)
	case hasNoncharacter(raw):
		return InvalidJSON(name+" must not contain a noncharacter such as U+FFFF", nil)
	}
	return nil
}

// hasNoncharacter reports whether a string in valid JSON contains a noncharacter.
func hasNoncharacter(raw []byte) bool {
	// Every noncharacter begins with one of these bytes; most bodies have none.
	if !slices.ContainsFunc(raw, func(c byte) bool { return c == '\\' || c >= 0xef }) {
		return false
	}
	for source := jsontext.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := source.ReadToken()
		if err != nil {
			return false // the end
		}
		if token.Kind() == '"' && strings.ContainsFunc(token.String(), domain.IsNoncharacter) {
			return true
		}
	}
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. It ignores members without a field.
func (d *objectDecoder) UnmarshalJSONFrom(source *jsontext.Decoder) error {
	if source.PeekKind() != '{' {
		return cmp.Or(source.SkipValue(), errNotObject)
	}
	if _, err := source.ReadToken(); err != nil {
		return err
	}
	for source.PeekKind() != '}' {
		name, err := source.ReadToken()
		if err != nil {
			return err
		}
		field, known := d.field(name.String())
		value, err := source.ReadValue()
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		if rule := decodeMember(value, d.target.FieldByIndex(field.index)); rule != "" {
			d.violations = append(d.violations, domain.Violation{Field: field.name, Rule: rule})
		}
	}
	_, err := source.ReadToken()
	return err
}

func (d *objectDecoder) field(name string) (field, bool) {
	for _, f := range fieldsOf(d.target.Type(), "json") {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// decodeMember decodes the value of a member into a field, which is a pointer to an int64
// or to a string. It returns the rule that the value breaks, or "".
func decodeMember(member jsontext.Value, field reflect.Value) (rule string) {
	if member.Kind() == 'n' {
		return "must not be null"
	}
	value := reflect.New(field.Type().Elem())
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
