package swagger

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gin-gonic/gin"
)

// A lastDocument serves the OpenAPI document. It keeps the last tail, because hashing and
// compressing it costs far more than comparing it. It is safe for concurrent use.
type lastDocument struct{ last atomic.Pointer[documentTail] }

// A documentTail is the part of the document that does not depend on the request.
type documentTail struct {
	content  []byte
	sum      [sha256.Size]byte
	deflated func() []byte // compresses in the first call
}

func newDocumentTail(content []byte) *documentTail {
	return &documentTail{content, sha256.Sum256(content), sync.OnceValue(func() []byte { return deflate(content) })}
}

// serve sends a document in two parts. tail must not be modified afterwards.
func (d *lastDocument) serve(c *gin.Context, contentType string, head, tail []byte) {
	last := d.last.Load()
	if last == nil || !bytes.Equal(last.content, tail) {
		last = newDocumentTail(tail)
		d.last.Store(last)
	}
	sum := sha256.Sum256(slices.Concat(head, last.sum[:]))
	serve(c, contentType, hex.EncodeToString(sum[:]), inMemory(head, last.content), func() body { return last.gzip(head) })
}

// deflate returns the end of a DEFLATE stream (RFC 1951).
func deflate(content []byte) []byte {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.DefaultCompression) // returns no error for this level
	_, _ = w.Write(content)
	_ = w.Close()
	return out.Bytes()
}

// gzipHeader is the header of gzip (RFC 1952, section 2.3) without a name and a time.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

// gzip returns head and the tail in the format of gzip. head is in blocks that are not
// compressed (RFC 1951, section 3.2.4), before those of the tail.
func (t *documentTail) gzip(head []byte) body {
	before := []byte(gzipHeader)
	for block := range slices.Chunk(head, math.MaxUint16) {
		length := uint16(len(block)) //nolint:gosec // at most MaxUint16
		before = append(before, 0)   // a block that is not compressed and not the last one
		before = binary.LittleEndian.AppendUint16(before, length)
		before = binary.LittleEndian.AppendUint16(before, ^length)
		before = append(before, block...)
	}
	checksum := crc32.Update(crc32.ChecksumIEEE(head), crc32.IEEETable, t.content)
	after := binary.LittleEndian.AppendUint32(nil, checksum)
	after = binary.LittleEndian.AppendUint32(after, uint32(len(head)+len(t.content))) //nolint:gosec // modulo 2^32
	return inMemory(before, t.deflated(), after)
}
