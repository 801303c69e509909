package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/config"
)

func newHealthcheck(in *invocation) *cobra.Command {
	var live bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask the running service whether it is ready",
		Long: `Request /readyz, or /livez with --live, of the service that runs with the same settings.
The exit status is 0 if the response is 200. Else it is 1, and the error says why. It is
for the HEALTHCHECK of a container, whose image needs neither a shell nor curl.

The request is sent to server.address, to this machine if that is a wildcard address such
as :8080. With TLS, the certificate is not verified, because it is for the host name that
clients use. Set server.address and the certificate in the environment or in a file: the
command does not see the --set of serve.`,
		Example: "  petstore healthcheck\n  petstore healthcheck --live --timeout 1s",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := in.loadConfig()
			if err != nil {
				return err
			}
			path, state := "/readyz", "ready"
			if live {
				path, state = "/livez", "alive"
			}
			if err := requestHealth(cmd.Context(), settings.Server, path, timeout); err != nil {
				return fmt.Errorf("the service at %s is not %s: %w", settings.Server.Address, state, err)
			}
			return in.printResult("the service at %s is %s", settings.Server.Address, state)
		},
	}
	cmd.Flags().BoolVar(&live, "live", false, "request /livez: whether the process runs, also while it starts or the store is not available")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Second, "wait for the response for `DURATION`")
	return cmd
}

// requestHealth sends GET path to the service, and returns nil if the response is 200.
func requestHealth(ctx context.Context, s config.Server, path string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no response within %s", timeout))
	defer cancel()
	scheme := "http"
	if s.TLSCertFile != "" {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://localhost"+path, http.NoBody)
	if err != nil {
		return err
	}
	transport := &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return dialService(ctx, s.Address) },
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the answer is about the service, and no secret is sent
	}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	var body struct{ Message string }
	_ = json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&body) // another program may send anything
	return errors.New(strings.TrimSuffix(response.Status+": "+body.Message, ": "))
}

// dialService connects to the service that listens on address: for a wildcard address on this machine, for :PORT by IPv4
// or, where that fails, by IPv6.
func dialService(ctx context.Context, address string) (net.Conn, error) {
	network, name := config.NetworkOf(address)
	conn, err := new(net.Dialer).DialContext(ctx, network, name)
	if err != nil && strings.HasPrefix(name, ":") {
		if conn, err := new(net.Dialer).DialContext(ctx, "tcp6", name); err == nil {
			return conn, nil
		}
	}
	return conn, err
}
