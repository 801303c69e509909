package http_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestSpanHasNoUnknownMethod(t *testing.T) {
	t.Parallel()
	s, exporter := newTracedServer(t)
	for method, name := range map[string]string{strings.Repeat("X", 10_000): "HTTP", "DELETE": "DELETE"} {
		exporter.Reset()
		s.expect(t, newRequest(method, "/nowhere"), rejected(404, "not_found"))
		spans := exporter.GetSpans()
		if len(spans) != 1 || spans[0].Name != name {
			t.Fatalf("got %d spans, %.100v, want one with the name %s", len(spans), spans, name)
		}
		if method != name && strings.Contains(fmt.Sprint(spans[0].Attributes), method) {
			t.Errorf("the method is in the attributes %.1000v", spans[0].Attributes)
		}
	}
}
