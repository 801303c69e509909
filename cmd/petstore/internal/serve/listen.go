package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/config"
	"example.com/petstore/internal/server"
)

// listenPublic opens the listener for API clients, with the connection limit and the TLS certificate of the settings. If
// systemd has passed a socket, it is used instead of the address of the settings.
func listenPublic(ctx context.Context, settings config.Server, log *zap.Logger) (net.Listener, error) {
	listener, err := inherited()
	if listener == nil && err == nil {
		listener, err = listen(ctx, "server.address", settings.Address, settings.SocketMode, nil)
	}
	if err != nil {
		return nil, err
	}
	if settings.MaxConnections > 0 {
		listener = server.LimitConnections(listener, settings.MaxConnections)
	}
	if settings.TLSCertFile == "" {
		return listener, nil
	}
	certificate, err := newReloadingCertificate(settings.TLSCertFile, settings.TLSKeyFile, log)
	if err != nil {
		invalid := &config.InvalidError{Problems: []string{"server.tls_cert_file and server.tls_key_file: " + err.Error()}}
		return nil, errors.Join(invalid, listener.Close())
	}
	return tls.NewListener(listener, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.latest(), nil },
	}), nil
}

// listen opens a listener on an address, which is host:port or a Unix socket. mode is the mode of the socket. For
// an empty address listen returns nil. setting is the name of the setting, for errors. public is the address of the
// public listener, or nil if this is the public listener.
func listen(ctx context.Context, setting, address, mode string, public net.Addr) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	open := new(net.ListenConfig).Listen
	network, name := config.NetworkOf(address)
	if network == "unix" {
		open = func(ctx context.Context, _, path string) (net.Listener, error) { return listenUnix(ctx, path, mode) }
	}
	listener, err := open(ctx, network, name)
	if errors.Is(err, syscall.EADDRINUSE) && overlaps(address, public) {
		return nil, fmt.Errorf("%s: %s overlaps with server.address, %s: set another port", setting, address, public)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %s is already in use: stop the process that uses it or set another address", setting, address)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen on %s: %w", setting, address, err)
	}
	return listener, nil
}

// overlaps reports whether address and public have the same port, and the same IP address or a wildcard address. If
// public is nil, they do not overlap.
func overlaps(address string, public net.Addr) bool {
	a, err := net.ResolveTCPAddr("tcp", address)
	b, ok := public.(*net.TCPAddr)
	return err == nil && ok && a.Port == b.Port && (a.IP == nil || a.IP.IsUnspecified() || b.IP.IsUnspecified() || a.IP.Equal(b.IP))
}

// A reloadingCertificate is a TLS certificate and its private key in two files. If the files have changed, a TLS
// handshake loads them again. A reloadingCertificate is safe for concurrent use.
type reloadingCertificate struct {
	certFile, keyFile string
	log               *zap.Logger

	mu              sync.Mutex
	checked         time.Time
	certPEM, keyPEM []byte // contents of the files when they were last read
	certificate     *tls.Certificate
}

// certificateCheckInterval is the minimum interval between two checks of the files.
const certificateCheckInterval = time.Second

// newReloadingCertificate loads the certificate. It returns an error if a file cannot be read, or if certificate
// and key do not match.
func newReloadingCertificate(certFile, keyFile string, log *zap.Logger) (*reloadingCertificate, error) {
	c := &reloadingCertificate{certFile: certFile, keyFile: keyFile, log: log, checked: time.Now()}
	return c, c.reload()
}

// latest loads the certificate again if the files have changed, and returns the last certificate that was loaded without
// an error.
func (c *reloadingCertificate) latest() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) >= certificateCheckInterval {
		c.checked = time.Now()
		if err := c.reload(); err != nil {
			c.log.Error("cannot load the new TLS certificate, the previous one stays in use", zap.Error(err))
		}
	}
	return c.certificate
}

// reload loads the certificate if the contents of the files have changed since the last call. For invalid files it
// returns an error only once.
func (c *reloadingCertificate) reload() error {
	certPEM, certErr := os.ReadFile(c.certFile)
	keyPEM, keyErr := os.ReadFile(c.keyFile)
	if c.certificate != nil && bytes.Equal(certPEM, c.certPEM) && bytes.Equal(keyPEM, c.keyPEM) {
		return nil
	}
	c.certPEM, c.keyPEM = certPEM, keyPEM
	if err := errors.Join(certErr, keyErr); err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", c.certFile, c.keyFile, err)
	}
	c.certificate = &certificate
	return nil
}

// withHSTS adds Strict-Transport-Security to every response over TLS. Without TLS, RFC 6797, section 7.2, forbids it.
func withHSTS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}
