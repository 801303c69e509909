package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certify writes a certificate for this machine with a serial number, and its key.
func certify(t *testing.T, folder string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	put(t, folder, "tls.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	put(t, folder, "tls.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

func put(t *testing.T, folder, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func startWithTLS(t *testing.T) (s *process, folder string) {
	t.Helper()
	folder = t.TempDir()
	certify(t, folder, 1)
	s = start(t, folder, "--set", "server.tls_cert_file=tls.crt", "--set", "server.tls_key_file=tls.key")
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatalf("the UI is said to be at %s", s.url)
	}
	return s, folder
}

// trusting is a client that takes any certificate.
func trusting(t *testing.T, version uint16) *http.Client {
	t.Helper()
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: version},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// A handshake is what a client learns of a server by an answer.
type handshake struct {
	status, protocol int
	serial           int64 // of the certificate
	strict           string
}

// list asks for the pets over a connection of its own.
func (s *process) list(t *testing.T, version uint16) (handshake, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/pets", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key)
	response, err := trusting(t, version).Do(request)
	if err != nil {
		return handshake{}, err
	}
	defer response.Body.Close()
	h := handshake{status: response.StatusCode, protocol: response.ProtoMajor, strict: response.Header.Get("Strict-Transport-Security")}
	if response.TLS != nil {
		h.serial = response.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	return h, nil
}

func TestTLSIsModern(t *testing.T) {
	t.Parallel()
	s, _ := startWithTLS(t)
	for version, served := range map[uint16]bool{tls.VersionTLS13: true, tls.VersionTLS12: true, tls.VersionTLS11: false, tls.VersionTLS10: false} {
		got, err := s.list(t, version)
		if (err == nil) != served {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if want := (handshake{200, 2, 1, "max-age=31536000"}); served && got != want {
			t.Errorf("%s: got %v, want %v", tls.VersionName(version), got, want)
		}
	}
	if status, _ := fetch(t, "http"+strings.TrimPrefix(s.url, "https")+"/livez"); status != http.StatusBadRequest {
		t.Errorf("without TLS: %d", status)
	}
	stop(t, s)
}

// Another process locks the store, so that the server responds before it is open.
func TestEveryResponseOverTLSCarriesHSTS(t *testing.T) {
	t.Parallel()
	folder, address, client := t.TempDir(), freeAddress(t), trusting(t, tls.VersionTLS13)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ask := func(method, path string) (status int, strict string, err error) {
		request, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+path, http.NoBody)
		if err != nil {
			return 0, "", err
		}
		response, err := client.Do(request)
		if err != nil {
			return 0, "", err
		}
		defer response.Body.Close()
		return response.StatusCode, response.Header.Get("Strict-Transport-Security"), nil
	}
	certify(t, folder, 1)
	if _, stderr, code := output(t, folder, "migrate", "up"); code != 0 {
		t.Fatal(stderr)
	}
	release, done := lock(t, database(folder)), make(chan struct{})
	defer func() { <-done }()
	go func() {
		defer close(done)
		defer release()
		for _, path := range []string{"/livez", "/v1/pets"} {
			status, strict, err := 0, "", errors.New("not asked yet")
			for deadline := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(deadline); {
				status, strict, err = ask(http.MethodGet, path)
			}
			if err != nil || strict != "max-age=31536000" || status != map[string]int{"/livez": 200, "/v1/pets": 503}[path] {
				t.Errorf("while it started, %s: got %d, %q, %v", path, status, strict, err)
			}
		}
	}()
	start(t, folder, "--set", "server.address="+address, "--set", "server.tls_cert_file=tls.crt", "--set", "server.tls_key_file=tls.key")
	for request, want := range map[string]int{
		"GET /livez": 200, "GET /readyz": 200, "GET /": 302, "GET /openapi.json": 200, "GET /swagger/index.html": 200, "GET /swagger/none": 404,
		"GET /v1/pets": 401, "GET /v1/pets/1": 401, "DELETE /v1/pets": 405, "OPTIONS /v1/pets": 204, "GET /none": 404, "GET /v1%2Fpets": 404,
	} {
		method, path, _ := strings.Cut(request, " ")
		if status, strict, err := ask(method, path); err != nil || status != want || strict != "max-age=31536000" {
			t.Errorf("%s: got %d, %q, %v, want %d", request, status, strict, err, want)
		}
	}
}

func TestNewCertificateNeedsNoRestart(t *testing.T) {
	t.Parallel()
	s, folder := startWithTLS(t)
	serial := func() int64 {
		got, err := s.list(t, tls.VersionTLS13)
		if err != nil {
			t.Fatal(err)
		}
		return got.serial
	}
	if got := serial(); got != 1 {
		t.Fatalf("got the certificate %d", got)
	}
	certify(t, folder, 2)
	until(t, "the second certificate is shown", func() bool { return serial() == 2 })

	const complaint = "the new TLS certificate cannot be used, the old one stays"
	for complaints, broken := range []string{"hello", ""} {
		if broken == "" {
			if err := os.Remove(filepath.Join(folder, "tls.key")); err != nil {
				t.Fatal(err)
			}
		} else {
			put(t, folder, "tls.key", []byte(broken))
		}
		until(t, "the log complains", func() bool {
			return serial() == 2 && strings.Count(s.log.String(), complaint) == complaints+1
		})
	}
	certify(t, folder, 3)
	until(t, "the third certificate is shown", func() bool { return serial() == 3 })
	if got := strings.Count(s.log.String(), complaint); got != 2 {
		t.Errorf("the log complains %d times of two broken pairs", got)
	}
}

func TestServeWithoutTLSIsNotStrict(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	if got, err := s.list(t, tls.VersionTLS13); err != nil || got.strict != "" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestBadCertificateIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	stdout, stderr, code := output(t, folder, "serve", "--set", "server.tls_cert_file=none.crt", "--set", "server.tls_key_file=none.key", "--set", "log.level=loud")
	if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 4 {
		t.Errorf("code %d, stdout %q, stderr %s", code, stdout, stderr)
	}
	if _, err := os.Stat(database(folder)); err == nil {
		t.Error("a store was created")
	}
}
