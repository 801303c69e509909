package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"

	"go.uber.org/zap"
	"golang.org/x/net/netutil"

	"example.com/petstore/config"
	"example.com/petstore/delivery/http/server"
)

// listenPublic opens the listener that clients reach, with its cap and its TLS.
func listenPublic(ctx context.Context, settings config.Server, log *zap.Logger) (net.Listener, error) {
	listener, err := listen(ctx, "server.address", settings.Address)
	if err != nil {
		return nil, err
	}
	listener = server.LazyDeadlines(listener)
	if settings.MaxConnections > 0 {
		listener = netutil.LimitListener(listener, settings.MaxConnections)
	}
	if settings.TLSCertFile == "" {
		return listener, nil
	}
	pair, err := newKeyPair(settings.TLSCertFile, settings.TLSKeyFile, log)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return tls.NewListener(listener, pair.config()), nil
}

// listen opens the listener of a setting, or none for an empty address. Its error
// names the setting and the remedy.
func listen(ctx context.Context, setting, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %s is taken by another process: end that one or set another address", setting, address)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen on %s: %w", setting, address, err)
	}
	return listener, nil
}
