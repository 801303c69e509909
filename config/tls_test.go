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
	"strconv"
	"testing"
)

func TestTLSFilesAreAPair(t *testing.T) {
	t.Parallel()
	const (
		certKey, keyKey = "server.tls_cert_file", "server.tls_key_file"
		pair            = "must be the certificate of the key in server.tls_key_file, both in PEM: tls: "
		missing         = "must name a file that can be read: no such file or directory"
	)
	cert, key := writePair(t)
	_, other := writePair(t)
	none, text := filepath.Join(t.TempDir(), "none.pem"), writeConfig(t, "hello")
	invalid := func(key, path, remedy string) Problem {
		return problem(key, strconv.Quote(path), "command line", remedy)
	}
	for name, test := range map[string]struct {
		cert, key string
		want      []Problem
	}{
		"both":           {cert, key, nil},
		"neither":        {"", "", nil},
		"no key":         {cert, "", []Problem{invalid(keyKey, "", "must be set together with server.tls_cert_file = "+strconv.Quote(cert)+" (command line)")}},
		"no certificate": {"", key, []Problem{invalid(certKey, "", "must be set together with server.tls_key_file = "+strconv.Quote(key)+" (command line)")}},
		"missing both":   {none, none, []Problem{invalid(certKey, none, missing), invalid(keyKey, none, missing)}},
		"missing key":    {cert, none, []Problem{invalid(keyKey, none, missing)}},
		"no PEM":         {text, key, []Problem{invalid(certKey, text, pair+"failed to find any PEM data in certificate input")}},
		"of another key": {cert, other, []Problem{invalid(certKey, cert, pair+"private key does not match public key")}},
		"exchanged":      {key, cert, []Problem{invalid(certKey, key, pair+`failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := Options{Overrides: map[string]string{certKey: test.cert, keyKey: test.key}}
			if test.want != nil {
				checkProblems(t, options, test.want...)
			} else if _, err := Load(options); err != nil {
				t.Error(err)
			}
		})
	}
}

// writePair writes the files of a new certificate and its key.
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
