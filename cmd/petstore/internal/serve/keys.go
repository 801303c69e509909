package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/config"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/usecase"
)

// importBootstrapKey stores the API key of auth.bootstrap_key, unless it is empty or already stored. If ctx ends,
// the error is the cause of ctx, such as the error of a listener.
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

// printFirstKey creates an API key if the store has never had one, and prints it; otherwise it prints how to create
// another. It also prints the URL of Swagger UI, or of the pets if the documentation is disabled, or the path of a Unix
// socket. It waits until standard output accepts the text or ctx ends. If a new key could not be printed, it returns an
// error.
func (o Options) printFirstKey(ctx context.Context, keys *usecase.Keys, settings config.Config, address net.Addr, log *zap.Logger) error {
	secret, err := keys.CreateFirst(ctx, "first")
	if err != nil {
		return err
	}
	text := "API key:    the store has one; to create another, run " + o.createKey() + "\n"
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
	if address.Network() == "unix" {
		text += "Socket:     " + address.String() + "\n"
	} else {
		text += fmt.Sprintf(format, scheme, localAddress(address))
	}
	written := make(chan error, 1)
	go func() {
		_, err := io.WriteString(o.Stdout, text)
		written <- err
	}()
	select {
	case err = <-written:
	case <-ctx.Done():
		err = errors.New("the write is blocked")
	}
	if err != nil && secret != "" {
		return KeyNotPrinted(fmt.Errorf("standard output: %w", err))
	}
	return nil
}

// createKey returns the command that creates an API key.
func (o Options) createKey() string { return o.Program + " keys create --name NAME" }

// warnWithoutKey logs a warning if no API key of the store is valid.
func (o Options) warnWithoutKey(ctx context.Context, keys *usecase.Keys, log *zap.Logger) {
	all, err := keys.List(ctx)
	usable := func(key apikey.Key) bool { return key.Usable(time.Now()) }
	if err == nil && !slices.ContainsFunc(all, usable) {
		log.Warn("no API key of the store is valid: run " + o.createKey())
	}
}

// localAddress returns the address at which clients on this machine reach the listener. For a listener on all interfaces
// its host is localhost.
func localAddress(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address.String()
}

// KeyNotPrinted returns the error for a key that was created, but could not be printed because of err.
func KeyNotPrinted(err error) error {
	const text = "the API key was created but not printed: %v: revoke it, it is the last one that petstore keys list shows"
	return fmt.Errorf(text, err.Error()) // not wrapped: cli.Run would not print a broken pipe
}
