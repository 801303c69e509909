package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"
)

// A keyPair is a certificate and its key in two files, which are read again when a
// client comes and they have changed.
type keyPair struct {
	certFile, keyFile string
	log               *zap.Logger

	mu        sync.Mutex
	looked    time.Time
	cert, key []byte // what the files held then
	pair      *tls.Certificate
}

// lookInterval is how often the files are looked at, at most.
const lookInterval = time.Second

func newKeyPair(certFile, keyFile string, log *zap.Logger) (*keyPair, error) {
	k := &keyPair{certFile: certFile, keyFile: keyFile, log: log, looked: time.Now()}
	return k, k.read()
}

func (k *keyPair) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return k.current(), nil },
	}
}

// current is the newest pair that is one.
func (k *keyPair) current() *tls.Certificate {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.looked) >= lookInterval {
		k.looked = time.Now()
		if err := k.read(); err != nil {
			k.log.Error("the new TLS certificate cannot be used, the old one stays", zap.Error(err))
		}
	}
	return k.pair
}

// read takes the pair from the files. What they held before is no longer read nor
// told, so a broken pair is an error once.
func (k *keyPair) read() error {
	cert, certErr := os.ReadFile(k.certFile)
	key, keyErr := os.ReadFile(k.keyFile)
	if k.pair != nil && bytes.Equal(cert, k.cert) && bytes.Equal(key, k.key) {
		return nil
	}
	k.cert, k.key = cert, key
	if err := errors.Join(certErr, keyErr); err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", k.certFile, k.keyFile, err)
	}
	k.pair = &pair
	return nil
}

// withHSTS tells browsers that came by TLS to do so from now on (RFC 6797).
func withHSTS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		next.ServeHTTP(w, r)
	})
}
