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
// member is absent. A member whose name differs from the name of a field only in the case of letters
// is rejected. Other members that T does not have are rejected if strict, else ignored. name is the
// name of raw in error messages. The error is an ErrInvalid (invalid_json, validation_failed).
func JSON[T any](raw []byte, name string, strict bool) (object T, err error) {
	d := objectDecoder{target: reflect.ValueOf(&object).Elem(), name: name, strict: strict}
	if err := d.decode(raw); err != nil {
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
// name or type is wrong.
type objectDecoder struct {
	target     reflect.Value // the struct
	name       string        // of the object in error messages
	strict     bool          // rejects members without a field
	violations []domain.Violation
}

var errNotObject = errors.New("not a JSON object")

// decode decodes one I-JSON object (RFC 7493): its names are unique, its text is valid
// UTF-8 without noncharacters, and nothing follows it.
func (d *objectDecoder) decode(raw []byte) error {
	err := json.Unmarshal(raw, d)
	var syntax *jsontext.SyntacticError
	switch {
	case len(raw) == 0:
		return InvalidJSON(d.name+" is empty: send a JSON object", nil)
	case errors.As(err, &syntax):
		return InvalidJSON(fmt.Sprintf("%s is not valid JSON: %v at byte %d", d.name, syntax.Err, syntax.ByteOffset), err)
	case err != nil:
		return InvalidJSON(d.name+" must be one JSON object", err)
	case hasNoncharacter(raw):
		return InvalidJSON(d.name+" must not contain a noncharacter such as U+FFFF", nil)
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

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (d *objectDecoder) UnmarshalJSONFrom(source *jsontext.Decoder) error {
	if source.PeekKind() != '{' {
		return cmp.Or(source.SkipValue(), errNotObject)
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
	for _, f := range fieldsOf(d.target.Type(), "json") {
		switch {
		case f.name == name:
			d.report(f.name, decodeValue(value, d.target.FieldByIndex(f.index)))
			return
		case strings.EqualFold(f.name, name):
			d.report(f.name, fmt.Sprintf("must be spelt %s, not %q", f.name, name))
			return
		}
	}
	if d.strict {
		d.report(d.name, fmt.Sprintf("has the unknown member %.100q: remove it or correct its name", name))
	}
}

// report adds a violation unless rule is empty. One for each field limits their number.
func (d *objectDecoder) report(field, rule string) {
	if rule != "" && !reported(d.violations, field) {
		d.violations = append(d.violations, domain.Violation{Field: field, Rule: rule})
	}
}

// decodeValue decodes the value of a member into a field, which is a pointer to an int64
// or to a string. It returns the rule that the value breaks, or "".
func decodeValue(member jsontext.Value, field reflect.Value) (rule string) {
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
