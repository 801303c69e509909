package http

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"reflect"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/domain"
)

// maxBody is the size of the largest body in bytes.
const maxBody = 64 << 10

// bindBody reads the JSON object of a body into a struct whose fields are
// pointers, nil where the member is absent, and validates its tags. The checks
// come in the published order: media type, size, JSON, values.
func bindBody[T any](c *gin.Context) (body T, err error) {
	if err := checkMediaType(c.Request.Header); err != nil {
		return body, err
	}
	raw, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody))
	if err != nil {
		return body, readError(err)
	}
	members, err := parseObject(raw)
	if err != nil {
		return body, err
	}
	var broken []domain.Violation
	for field, value := range fields(&body, "json") {
		member, given := members[field.name]
		if !given {
			continue
		}
		if rule := decodeMember(member, value); rule != "" {
			broken = append(broken, domain.Violation{Field: field.name, Rule: rule})
		}
	}
	return body, validate(&body, domain.CodeValidationFailed, broken)
}

// checkMediaType wants application/json, in UTF-8 and not encoded any further.
func checkMediaType(header http.Header) error {
	unsupported := func(message string) error {
		return &domain.Error{Kind: errMediaType, Code: codeUnsupportedMediaType, Message: message}
	}
	types := header.Values("Content-Type")
	if len(types) != 1 {
		return unsupported("send the header Content-Type: application/json")
	}
	media, parameters, err := mime.ParseMediaType(types[0])
	charset, given := parameters["charset"]
	switch {
	case err != nil || media != "application/json":
		return unsupported("the body must be application/json")
	case given && !strings.EqualFold(charset, "utf-8"), len(parameters) > 1, len(parameters) == 1 && !given:
		return unsupported("application/json takes no parameter but charset=utf-8")
	}
	for _, encoding := range header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(encoding), "identity") {
			return unsupported("the body must not be encoded")
		}
	}
	return nil
}

// readError is the answer to a body that could not be read to its end.
func readError(err error) error {
	var tooLarge *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &tooLarge):
		return &domain.Error{
			Kind: errBodyTooLarge, Code: codeBodyTooLarge,
			Message: fmt.Sprintf("the body must not be larger than %d bytes", tooLarge.Limit),
		}
	case errors.As(err, &network) && network.Timeout():
		return &domain.Error{Kind: errTimeout, Code: codeRequestTimeout, Message: "the body did not arrive in time", Cause: err}
	default:
		return invalidJSON("the body did not arrive whole", err)
	}
}

func invalidJSON(message string, cause error) error {
	return &domain.Error{Kind: domain.ErrInvalid, Code: codeInvalidJSON, Message: message, Cause: cause}
}

// parseObject reads one I-JSON object (RFC 7493): unique names, valid UTF-8,
// nothing behind it.
func parseObject(raw []byte) (map[string]jsontext.Value, error) {
	var members map[string]jsontext.Value
	err := json.Unmarshal(raw, &members)
	var syntax *jsontext.SyntacticError
	switch {
	case len(raw) == 0:
		return nil, invalidJSON("the body is empty: send a JSON object", nil)
	case errors.As(err, &syntax):
		return nil, invalidJSON(fmt.Sprintf("the body is not valid JSON: %v at byte %d", syntax.Err, syntax.ByteOffset), err)
	case err != nil || members == nil:
		return nil, invalidJSON("the body must be one JSON object", err)
	}
	return members, nil
}

// decodeMember decodes a member into a field, or tells the rule that it breaks.
func decodeMember(member jsontext.Value, into reflect.Value) (rule string) {
	if member.Kind() == 'n' {
		return "must not be null"
	}
	if json.Unmarshal(member, into.Addr().Interface()) == nil {
		return ""
	}
	if into.Type().Elem().Kind() == reflect.Int64 {
		return integerRule
	}
	return "must be a string"
}

const integerRule = "must be an integer of 64 bits, without fraction or exponent"

// noSuch is the error for a path id that is no number and so names nothing.
func noSuch(record string, code domain.Code) error {
	return &domain.Error{Kind: domain.ErrNotFound, Code: code, Message: "there is no " + record + " with this id"}
}
