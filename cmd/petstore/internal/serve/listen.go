package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"example.com/petstore/config"
	"example.com/petstore/delivery/http/server"
)

// listenPublic opens the listener for API clients, with the connection limit and the TLS
// certificate of the settings.
func listenPublic(ctx context.Context, settings config.Server, log *zap.Logger) (net.Listener, error) {
	listener, err := listen(ctx, "server.address", settings.Address, settings.SocketMode, nil)
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

// listen opens a listener on the address of a setting, host:port or a Unix socket with a mode. It returns nil for
// an empty address. An error names the setting. public is the address of server.address, or nil.
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

// listenUnix opens a Unix socket, which Close removes. It replaces the socket of a process that was killed, to which
// connections are refused, but no other file. mode is that of the file, in octal digits.
func listenUnix(ctx context.Context, path, mode string) (net.Listener, error) {
	var listenConfig net.ListenConfig
	listener, err := listenConfig.Listen(ctx, "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if file, err := os.Lstat(path); err == nil && file.Mode().Type() != fs.ModeSocket { // connections to it are refused, too
			return nil, errors.New("the file is not a socket: name another path")
		}
		conn, dialErr := new(net.Dialer).DialContext(ctx, "unix", path)
		if dialErr == nil {
			_ = conn.Close()
		}
		if errors.Is(dialErr, syscall.ECONNREFUSED) {
			if err := os.Remove(path); err != nil {
				return nil, err
			}
			listener, err = listenConfig.Listen(ctx, "unix", path)
		}
	}
	if err != nil {
		return nil, err
	}
	bits, err := strconv.ParseUint(mode, 8, 32)
	if err == nil {
		err = os.Chmod(path, fs.FileMode(bits))
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// overlaps reports whether an address has the port of public, if that is not nil, and an IP address of it.
func overlaps(address string, public net.Addr) bool {
	a, err := net.ResolveTCPAddr("tcp", address)
	b, ok := public.(*net.TCPAddr)
	return err == nil && ok && a.Port == b.Port && (a.IP == nil || a.IP.IsUnspecified() || b.IP.IsUnspecified() || a.IP.Equal(b.IP))
}

// A reloadingCertificate is a TLS certificate and its private key in two files. A TLS
// handshake loads them again if they have changed. It is safe for concurrent use.
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

// newReloadingCertificate loads the certificate. It returns an error if the files are
// unreadable or do not match.
func newReloadingCertificate(certFile, keyFile string, log *zap.Logger) (*reloadingCertificate, error) {
	c := &reloadingCertificate{certFile: certFile, keyFile: keyFile, log: log, checked: time.Now()}
	return c, c.reload()
}

// latest returns the certificate that was last loaded without an error.
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

// reload loads the certificate if the files have changed since the last call. So it
// returns the error of invalid files once.
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

// withHSTS adds Strict-Transport-Security to every response over TLS (RFC 6797, section
// 7.2 forbids it without TLS).
func withHSTS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}
