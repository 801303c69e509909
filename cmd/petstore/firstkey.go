package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/config"
	"example.com/petstore/usecase"
)

// importBootstrapKey has the store know the key of the settings, if there is one.
func importBootstrapKey(ctx context.Context, keys *usecase.Keys, secret string) error {
	if secret == "" {
		return nil
	}
	return keys.Import(ctx, "bootstrap", secret)
}

// printFirstKey prints what a newcomer needs: a key and an address to begin at. A later
// start only says how to make another key, because none can be shown again. While
// stdout blocks it waits until ctx ends. A key that was not printed is an error.
func printFirstKey(ctx context.Context, keys *usecase.Keys, settings config.Config, address net.Addr, stdout io.Writer, log *zap.Logger) error {
	secret, err := keys.CreateFirst(ctx, "first")
	if err != nil {
		return err
	}
	text := "API key:    the store has one already; make another with petstore keys create --name NAME\n"
	if secret != "" {
		text = "API key:    " + secret + " (shown this once)\n"
	}
	scheme := "http"
	if settings.Server.TLSCertFile != "" {
		scheme = "https"
	}
	page := "Swagger UI: %s://%s/swagger/index.html\n"
	if !settings.Docs.Enabled {
		page = "Pets:       %s://%s/v1/pets\n"
	}
	blocked := time.AfterFunc(time.Second, func() { log.Warn("standard output is not read, --first-key has printed nothing yet") })
	defer blocked.Stop()
	err = writeContext(ctx, stdout, text+fmt.Sprintf(page, scheme, localAddress(address)))
	if err != nil && secret != "" {
		return keyNotPrinted(fmt.Errorf("standard output: %w", err))
	}
	return nil
}

// localAddress is an address of this machine for one that stands for all of them.
func localAddress(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address.String()
}

// flushLastUsed writes when keys were last used, until ctx ends.
func flushLastUsed(ctx context.Context, keys *usecase.Keys, log *zap.Logger) error {
	keys.FlushLastUsed(ctx, 5*time.Second, func(err error) { log.Warn("the last use of keys waits", zap.Error(err)) })
	return nil
}
