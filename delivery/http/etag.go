package http

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"example.com/petstore/domain"
	"example.com/petstore/internal/record"
)

// headerETag is a key of http.Header. The methods of http.Header would send the header as Etag, which is the same to HTTP, but not
// to generated clients that keep headers in a map.
const headerETag = "ETag"

// pageETag returns the ETag of a response with a body and the value of its Link header, which may be empty. The ETag
// has 128 bits of a SHA-256, and is the same on every replica. The hash is cryptographic: otherwise a client that may
// write could choose records such that two pages have the same ETag.
func pageETag(body []byte, link string) string {
	hash := sha256.New()
	hash.Write(body) // the body is one JSON value, so the hashed text shows where the link begins
	_, _ = io.WriteString(hash, link)
	return `"` + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:16]) + `"`
}

// ifMatch returns the condition in the header If-Match (RFC 9110, section 13.1.1). An animal matches by its ETag, or by the
// ETag of the list that has this animal alone. Without the header, ifMatch returns nil.
func ifMatch(c *gin.Context) func(domain.Pet) bool {
	tags := c.Request.Header["If-Match"]
	if tags == nil {
		return nil
	}
	return func(pet domain.Pet) bool {
		list, err := record.EncodeAll([]domain.Pet{pet}, record.PetOf)
		return err == nil && etagMatches(tags, pageETag(list[1:len(list)-1], ""), pageETag(list, ""))
	}
}

// etagMatches reports whether If-None-Match or If-Match has one of the ETags, as it was sent or as a proxy that compresses
// rewrites it: nginx makes it weak, Apache and Caddy add the coding. Such a tag matches in If-Match, too, against RFC 9110,
// section 13.1.1: the representations of one ETag of this API are equal before the compression. Headers are split at
// commas, because the ETags of this API have none.
func etagMatches(headers []string, etags ...string) bool {
	for _, header := range headers {
		if header == "*" {
			return true
		}
		for candidate := range strings.SplitSeq(header, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if slices.ContainsFunc(etags, func(etag string) bool { return isVariant(candidate, etag) }) {
				return true
			}
		}
	}
	return false
}

// isVariant reports whether a tag is an ETag, perhaps with the coding that a proxy has added.
func isVariant(tag, etag string) bool {
	coding, ok := strings.CutPrefix(tag, strings.TrimSuffix(etag, `"`))
	return ok && (coding == `"` || coding == `-gzip"` || coding == `-br"` || coding == `-zstd"`)
}
