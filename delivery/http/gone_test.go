package http

import (
	"context"
	"net/http/httptest"
	"runtime"
	"testing"
	"unsafe"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"example.com/petstore/domain"
)

func TestClientWhoLeftIsNoFaultOfOurs(t *testing.T) {
	t.Parallel()
	core, log := observer.New(zap.InfoLevel)
	a := &API{log: zap.New(core)}
	ctx, leave := context.WithCancel(t.Context())
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequestWithContext(ctx, "GET", "/v1/pets", nil)
	leave()
	a.fail(c, domain.Unavailable(context.Canceled))
	if log.Len() != 0 {
		t.Errorf("the log tells %v", log.All())
	}
	a.fail(c, domain.Unavailable(context.DeadlineExceeded))
	if log.Len() != 1 {
		t.Error("a fault of ours is not told")
	}
}

// A query is a part of the request's first line, which may be 30 kB long.
func TestKnownQueryHoldsNoRequestLine(t *testing.T) {
	t.Parallel()
	b := newQueryBinder[listPetsQuery]()
	ended := make(chan struct{})
	func() {
		line := new([1 << 20]byte)
		copy(line[:], "status=sold")
		runtime.AddCleanup(line, func(ended chan struct{}) { close(ended) }, ended)
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = httptest.NewRequestWithContext(t.Context(), "GET", "/v1/pets", nil)
		c.Request.URL.RawQuery = unsafe.String(&line[0], len("status=sold"))
		if query, err := b.bind(c); err != nil || query.values.Status != domain.PetSold {
			t.Fatal(query, err)
		}
	}()
	for {
		runtime.GC()
		select {
		case <-ended:
			return
		case <-t.Context().Done():
			t.Fatal("the line is still held")
		default:
		}
	}
}
