package http

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/domain"
)

// bindBody reads the JSON object of a body into a struct whose fields are
// pointers, nil where the member is absent, and validates its tags. The checks
// come in the published order: media type, size, JSON, values.
func bindBody[T any](c *gin.Context) (body T, err error) {
	if err := checkMediaType(c.Request.Header); err != nil {
		return body, err
	}
	raw, err := readBody(c)
	if err != nil {
		return body, readError(err)
	}
	o := object{target: reflect.ValueOf(&body).Elem()}
	if err := o.parse(raw); err != nil {
		return body, err
	}
	return body, validate(&body, domain.CodeValidationFailed, o.broken)
}

// checkMediaType wants application/json, in UTF-8 and not encoded any further.
func checkMediaType(header http.Header) error {
	types := header.Values("Content-Type")
	if len(types) != 1 {
		return unsupported("send the header Content-Type: application/json")
	}
	if types[0] != "application/json" { // which nearly all send
		if err := checkParameters(types[0]); err != nil {
			return err
		}
	}
	for _, encoding := range header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(encoding), "identity") {
			return unsupported("the body must not be encoded")
		}
	}
	return nil
}

func checkParameters(mediaType string) error {
	media, parameters, err := mime.ParseMediaType(mediaType)
	charset, given := parameters["charset"]
	switch {
	case err != nil || media != "application/json":
		return unsupported("the body must be application/json")
	case given && !strings.EqualFold(charset, "utf-8"), len(parameters) > 1, len(parameters) == 1 && !given:
		return unsupported("application/json takes no parameter but charset=utf-8")
	}
	return nil
}

func unsupported(message string) error {
	return &domain.Error{Kind: errMediaType, Code: codeUnsupportedMediaType, Message: message}
}

func invalidJSON(message string, cause error) error {
	return &domain.Error{Kind: domain.ErrInvalid, Code: codeInvalidJSON, Message: message, Cause: cause}
}

// An object is a JSON object on its way into a struct.
type object struct {
	target reflect.Value
	broken []domain.Violation
}

var errNotObject = errors.New("no JSON object")

// parse reads one I-JSON object (RFC 7493): unique names, valid UTF-8, nothing behind it.
func (o *object) parse(raw []byte) error {
	err := json.Unmarshal(raw, o)
	var syntax *jsontext.SyntacticError
	switch {
	case len(raw) == 0:
		return invalidJSON("the body is empty: send a JSON object", nil)
	case errors.As(err, &syntax):
		return invalidJSON(fmt.Sprintf("the body is not valid JSON: %v at byte %d", syntax.Err, syntax.ByteOffset), err)
	case err != nil:
		return invalidJSON("the body must be one JSON object", err)
	}
	return nil
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. Members that no field has are ignored.
func (o *object) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return cmp.Or(d.SkipValue(), errNotObject)
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		field, known := o.field(name.String())
		value, err := d.ReadValue()
		if err != nil {
			return err
		}
		if !known {
			continue
		}
		if rule := decodeMember(value, o.target.FieldByIndex(field.index)); rule != "" {
			o.broken = append(o.broken, domain.Violation{Field: field.name, Rule: rule})
		}
	}
	_, err := d.ReadToken()
	return err
}

func (o *object) field(name string) (field, bool) {
	for _, f := range fieldsOf(o.target.Type(), "json") {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// decodeMember decodes a member into a field, or tells the rule that it breaks.
func decodeMember(member jsontext.Value, into reflect.Value) (rule string) {
	if member.Kind() == 'n' {
		return "must not be null"
	}
	value := reflect.New(into.Type().Elem())
	into.Set(value)
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

const integerRule = "must be an integer of 64 bits, without fraction or exponent"

// notFoundByID is the error for a path id that is no number and so names nothing.
func notFoundByID(record string, code domain.Code) error {
	return &domain.Error{Kind: domain.ErrNotFound, Code: code, Message: "there is no " + record + " with this id"}
}
