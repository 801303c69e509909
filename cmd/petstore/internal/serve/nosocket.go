//go:build !unix

package serve

import (
	"context"
	"errors"
	"net"
)

// listenUnix returns an error: this build has no Unix sockets.
func listenUnix(context.Context, string, string) (net.Listener, error) {
	return nil, errors.New("this petstore has no Unix sockets: set an address with a port")
}
