package http

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/domain"
)

// bindBody decodes the JSON object in the body of a request and validates the tags of T.
// The fields of T are pointers, nil if the member is absent. Errors are those of the first
// check that fails: media type, size, JSON, values.
func bindBody[T any](c *gin.Context) (body T, err error) {
	if err := checkMediaType(c.Request.Header); err != nil {
		return body, err
	}
	raw, err := readBody(c)
	if err != nil {
		return body, readError(err)
	}
	return decodeObject[T](raw, "the body")
}

// decodeObject decodes a JSON object and validates the tags of T, as bindBody does. name is
// the name of raw in error messages.
func decodeObject[T any](raw []byte, name string) (object T, err error) {
	d := objectDecoder{target: reflect.ValueOf(&object).Elem()}
	if err := d.decode(raw, name); err != nil {
		return object, err
	}
	return object, validate(&object, domain.CodeValidationFailed, d.violations)
}

// checkMediaType returns an errUnsupportedMediaType unless the body is application/json in UTF-8
// without a content coding.
func checkMediaType(header http.Header) error {
	types := header.Values("Content-Type")
	if len(types) != 1 {
		return unsupportedMediaType("send the header Content-Type: application/json")
	}
	if types[0] != "application/json" { // parsing is slow, and nearly all requests need none
		if err := checkContentType(types[0]); err != nil {
			return err
		}
	}
	for _, encoding := range header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(encoding), "identity") {
			return unsupportedMediaType("the body must not have a Content-Encoding")
		}
	}
	return nil
}

// checkContentType returns an errUnsupportedMediaType unless the media type is application/json with
// no parameter but charset=utf-8.
func checkContentType(contentType string) error {
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	charset, hasCharset := parameters["charset"]
	switch {
	case err != nil || mediaType != "application/json":
		return unsupportedMediaType("the body must be application/json")
	case hasCharset && !strings.EqualFold(charset, "utf-8"), len(parameters) > 1, len(parameters) == 1 && !hasCharset:
		return unsupportedMediaType("the only parameter that application/json may have is charset=utf-8")
	}
	return nil
}

func unsupportedMediaType(message string) error {
	return &domain.Error{Kind: errUnsupportedMediaType, Code: codeUnsupportedMediaType, Message: message}
}

func invalidJSON(message string, cause error) error {
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
		return invalidJSON(name+" is empty: send a JSON object", nil)
	case errors.As(err, &syntax):
		return invalidJSON(fmt.Sprintf("%s is not valid JSON: %v at byte %d", name, syntax.Err, syntax.ByteOffset), err)
	case err != nil:
		return invalidJSON(name+" must be one JSON object", err)
	case hasNoncharacter(raw):
		return invalidJSON(name+" must not contain a noncharacter such as U+FFFF", nil)
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
		number, ok := parseInt64(string(member))
		if !ok {
			return integerRule
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
