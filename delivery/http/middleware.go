package http

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
	"go.uber.org/zap"
)

// middleware is what every request of the API goes through, in this order.
func (a *API) middleware() []gin.HandlerFunc {
	all := []gin.HandlerFunc{a.trace, a.begin, a.recoverPanic, a.cors}
	return slices.DeleteFunc(all, func(h gin.HandlerFunc) bool { return h == nil })
}

// recoverPanic answers a panic as an internal error, unless the answer has begun:
// then nothing but the end of the connection can tell the client.
func (a *API) recoverPanic(c *gin.Context) {
	defer func() {
		recovered := recover()
		if recovered == nil {
			return
		}
		if err, is := recovered.(error); is && errors.Is(err, http.ErrAbortHandler) {
			panic(recovered) //nolint:forbidigo // net/http's own way to end a connection
		}
		a.log.Error("panic", zap.String("request_id", exchangeOf(c).id[0]), zap.Any("panic", recovered), zap.Stack("stack"))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's own way to end a connection
		}
		a.fail(c, fmt.Errorf("panic: %v", recovered))
	}()
	c.Next()
}
