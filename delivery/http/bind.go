package http

import (
	"mime"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"example.com/petstore/delivery/internal/binding"
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
	return binding.JSON[T](raw, "the body")
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

// pathID returns the id in the path parameter petId or orderId of a record "pet" or
// "order". For an id that is not an int64 the error is an ErrNotFound with the code: no
// record has such an id.
func pathID(c *gin.Context, record string, notFound domain.Code) (int64, error) {
	id, ok := binding.ParseInt64(c.Param(record + "Id"))
	if !ok {
		return 0, &domain.Error{Kind: domain.ErrNotFound, Code: notFound, Message: "there is no " + record + " with this id"}
	}
	return id, nil
}

// idempotencyKey returns the key of the header Idempotency-Key, or the zero key without
// one. The header may occur once. Its value is the key or a quoted string (RFC 9651,
// section 3.3.3) of it. The error is an ErrInvalid (invalid_idempotency_key).
func idempotencyKey(c *gin.Context) (domain.IdempotencyKey, error) {
	values := c.Request.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return domain.IdempotencyKey{}, nil
	}
	if len(values) > 1 {
		return domain.IdempotencyKey{}, domain.Invalid(
			domain.CodeInvalidIdempotencyKey, domain.Violation{Field: "Idempotency-Key", Rule: "must be given once"},
		)
	}
	key := domain.IdempotencyKey{Caller: stateOf(c).caller, Value: values[0]}
	if strings.HasPrefix(key.Value, `"`) {
		key.Value = unquote(key.Value)
	}
	return key, key.Validate()
}

// unquote returns the content of a quoted string, or "" if it is malformed.
func unquote(quoted string) string {
	var content strings.Builder
	for i := 1; i < len(quoted); i++ {
		switch b := quoted[i]; b {
		case '"':
			if i == len(quoted)-1 {
				return content.String()
			}
			return ""
		case '\\':
			i++
			if i == len(quoted) || (quoted[i] != '"' && quoted[i] != '\\') {
				return ""
			}
			content.WriteByte(quoted[i])
		default:
			content.WriteByte(b)
		}
	}
	return ""
}
