package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
)

func TestTLSFilesAreAPair(t *testing.T) {
	t.Parallel()
	const (
		certKey, keyKey = "server.tls_cert_file", "server.tls_key_file"
		pair            = "must be the certificate of the key in server.tls_key_file, both in PEM: tls: "
		unreadable      = wantReadable + "no such file or directory"
	)
	cert, key := writePair(t)
	_, other := writePair(t)
	none, text := filepath.Join(t.TempDir(), "none.pem"), write(t, "hello")
	fault := func(key, path, remedy string) Fault { return Fault{key, show(path), fromFlags, remedy} }
	for name, test := range map[string]struct {
		cert, key string
		want      []Fault
	}{
		"both":           {cert, key, nil},
		"neither":        {"", "", nil},
		"no key":         {cert, "", []Fault{fault(keyKey, "", "must be set when server.tls_cert_file is")}},
		"no certificate": {"", key, []Fault{fault(certKey, "", "must be set when server.tls_key_file is")}},
		"missing both":   {none, none, []Fault{fault(certKey, none, unreadable), fault(keyKey, none, unreadable)}},
		"missing key":    {cert, none, []Fault{fault(keyKey, none, unreadable)}},
		"no PEM":         {text, key, []Fault{fault(certKey, text, pair+"failed to find any PEM data in certificate input")}},
		"of another key": {cert, other, []Fault{fault(certKey, cert, pair+"private key does not match public key")}},
		"exchanged":      {key, cert, []Fault{fault(certKey, key, pair+`failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := Options{Overrides: map[string]string{certKey: test.cert, keyKey: test.key}}
			if test.want != nil {
				checkFaults(t, options, test.want...)
			} else if _, err := Load(options); err != nil {
				t.Error(err)
			}
		})
	}
}

// writePair makes the files of a key and a certificate of it.
func writePair(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	certFile, keyFile = filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}
