package http

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

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
	x := &requestState{deadline: deadline{Context: ctx, at: time.Now().Add(time.Hour)}}
	c.Request = httptest.NewRequestWithContext(x, "GET", "/v1/pets", nil)
	leave()
	a.Fail(c, domain.Unavailable(context.Canceled))
	if log.Len() != 0 {
		t.Errorf("the log tells %v", log.All())
	}
	a.Fail(c, domain.Unavailable(context.DeadlineExceeded))
	if log.Len() != 1 {
		t.Error("a fault of ours is not told")
	}
}
