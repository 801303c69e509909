package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"

	"go.uber.org/zap"

	"example.com/petstore/config"
	"example.com/petstore/delivery/http/server"
)

// listenPublic opens the listener for API clients, with the connection limit and the TLS
// certificate of the settings.
func listenPublic(ctx context.Context, settings config.Server, log *zap.Logger) (net.Listener, error) {
	listener, err := listen(ctx, "server.address", settings.Address)
	if err != nil {
		return nil, err
	}
	listener = server.LazyDeadlines(listener)
	if settings.MaxConnections > 0 {
		listener = server.LimitConnections(listener, settings.MaxConnections)
	}
	if settings.TLSCertFile == "" {
		return listener, nil
	}
	certificate, err := newReloadingCertificate(settings.TLSCertFile, settings.TLSKeyFile, log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server.tls_cert_file and server.tls_key_file: %w", err), listener.Close())
	}
	return tls.NewListener(listener, certificate.tlsConfig()), nil
}

// listen opens a TCP listener on the address of a setting. It returns nil for an empty
// address. An error names the setting.
func listen(ctx context.Context, setting, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	var listenConfig net.ListenConfig
	listener, err := listenConfig.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %s is already in use: stop the process that uses it or set another address", setting, address)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen on %s: %w", setting, address, err)
	}
	return listener, nil
}
