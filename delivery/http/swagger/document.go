package swagger

import (
	"bytes"
	"sync/atomic"
)

// A lastDocument caches the file of the last OpenAPI document, because hashing and
// compressing it costs far more than comparing it. It is safe for concurrent use.
type lastDocument struct{ last atomic.Pointer[documentFile] }

type documentFile struct {
	*file
	document []byte
}

// file returns the file of a document, which must not be modified afterwards.
func (d *lastDocument) file(document []byte) *file {
	last := d.last.Load()
	if last == nil || !bytes.Equal(last.document, document) {
		last = &documentFile{newFile("openapi.json", bytes.NewReader(document), int64(len(document))), document}
		d.last.Store(last)
	}
	return last.file
}
