package harness

import (
	"bytes"
	"strings"
	"sync"
)

// A Buffer is a buffer that is safe for concurrent use.
type Buffer struct {
	WithoutAccessLog bool // a log that would be large after a long run

	mu   sync.Mutex
	text strings.Builder
	rest []byte // an incomplete line
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.WithoutAccessLog {
		return b.text.Write(p)
	}
	b.rest = append(b.rest, p...)
	for {
		line, rest, found := bytes.Cut(b.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		if !bytes.HasPrefix(line, []byte("{")) || !bytes.Contains(line, []byte(`"msg":"request"`)) {
			b.text.Write(append(line, '\n'))
		}
		b.rest = rest
	}
}

// String returns what was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String() + string(b.rest)
}
