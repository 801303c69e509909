package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/config"
	"example.com/petstore/usecase"
)

// importBootstrapKey stores the API key of auth.bootstrap_key, unless it is stored already
// or empty. If ctx ends, the error is its cause, such as a listener that failed.
func importBootstrapKey(ctx context.Context, keys *usecase.Keys, secret string) error {
	if secret == "" {
		return nil
	}
	err := keys.Import(ctx, "bootstrap", secret)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted while storing the bootstrap key: %w", context.Cause(ctx))
	}
	return err
}

// printFirstKey creates an API key if the store has none, and prints it and the URL of
// Swagger UI, or of the pets if the documentation is disabled. If the store has a key it
// prints how to create another. It waits until stdout accepts the text or ctx ends. A key
// that could not be printed is an error.
func printFirstKey(ctx context.Context, keys *usecase.Keys, settings config.Config, address net.Addr, stdout io.Writer, log *zap.Logger) error {
	secret, err := keys.CreateFirst(ctx, "first")
	if err != nil {
		return err
	}
	text := "API key:    the store has one; to create another, run petstore keys create --name NAME\n"
	if secret != "" {
		text = "API key:    " + secret + " (shown only once)\n"
	}
	scheme := "http"
	if settings.Server.TLSCertFile != "" {
		scheme = "https"
	}
	format := "Swagger UI: %s://%s/swagger/index.html\n"
	if !settings.Docs.Enabled {
		format = "Pets:       %s://%s/v1/pets\n"
	}
	warningTimer := time.AfterFunc(time.Second, func() { log.Warn("standard output blocks, the output of --first-key is not printed yet") })
	defer warningTimer.Stop()
	err = WriteContext(ctx, stdout, text+fmt.Sprintf(format, scheme, localAddress(address)))
	if err != nil && secret != "" {
		return KeyNotPrinted(fmt.Errorf("standard output: %w", err))
	}
	return nil
}

// localAddress returns an address at which this machine reaches the listener: localhost
// if it listens on all interfaces.
func localAddress(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address.String()
}

// WriteContext writes text to out. It returns an error if ctx ends before the write does,
// as when out is a full pipe. The write then goes on in the background.
func WriteContext(ctx context.Context, out io.Writer, text string) error {
	done := make(chan error, 1)
	go func() {
		_, err := io.WriteString(out, text)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done: // select chooses at random if both are ready
		return err
	default:
		return errors.New("the write is blocked")
	}
}

// KeyNotPrinted returns the error for a key that was created but not printed because
// of err.
func KeyNotPrinted(err error) error {
	return fmt.Errorf("the API key was created but not printed: %v: revoke it, it is the last one that petstore keys list shows", err) //nolint:errorlint // cli.Run would not print an errNoReader
}
