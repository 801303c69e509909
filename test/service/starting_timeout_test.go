package service

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"example.com/petstore/test/harness"
)

// net/http waits for the rest of a body before it sends a response, until the read deadline.
func TestStartingServerAppliesTheRequestTimeout(t *testing.T) {
	t.Parallel()
	dir, address := harness.NewStore(t), harness.FreeAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	release := harness.LockStore(t, harness.StorePath(dir))
	result := make(chan error, 1)
	go func() {
		defer release()
		result <- postHalf(ctx, address)
	}()
	harness.Start(t, dir, "--set", "server.address="+address, "--set", "server.request_timeout=1s", "--set", "server.write_timeout=3s")
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// postHalf sends a request with half of its body as soon as a server listens, and returns
// an error unless the status of the response is 503.
func postHalf(ctx context.Context, address string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	for err != nil && ctx.Err() == nil {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := fmt.Fprint(conn, "POST /v1/pets HTTP/1.1\r\nHost: petstore\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		return err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		return fmt.Errorf("got the status %d, want 503", res.StatusCode)
	}
	return nil
}
