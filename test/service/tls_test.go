package service

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

	"example.com/petstore/test/harness"
)

// writeCertificate writes a certificate for 127.0.0.1 and its private key to tls.crt and
// tls.key in dir.
func writeCertificate(t *testing.T, dir string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	harness.Check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	harness.Check(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	harness.Check(t, err)
	harness.WriteFile(t, dir, "tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
	harness.WriteFile(t, dir, "tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

// startServerWithTLS starts a server with a certificate with the serial number 1 in dir.
func startServerWithTLS(t *testing.T) (s *harness.Server, dir string) {
	t.Helper()
	dir = t.TempDir()
	writeCertificate(t, dir, 1)
	s = harness.Start(t, dir, "--set", "server.tls_cert_file=tls.crt", "--set", "server.tls_key_file=tls.key")
	if !strings.HasPrefix(s.URL, "https://") {
		t.Fatalf("got the URL %s, want https", s.URL)
	}
	return s, dir
}

// insecureClient returns a client that accepts any certificate and offers TLS 1.0 to
// maxVersion.
func insecureClient(t *testing.T, maxVersion uint16) *http.Client {
	t.Helper()
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: maxVersion},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// A tlsResponse is the part of a response that the tests of TLS check.
type tlsResponse struct {
	status, protocol int
	serial           int64  // of the certificate
	hsts             string // Strict-Transport-Security
}

// listOverTLS requests the pets on a new connection.
func listOverTLS(s *harness.Server, t *testing.T, maxVersion uint16) (tlsResponse, error) {
	t.Helper()
	request, err := s.Request(t.Context(), http.MethodGet, "/v1/pets", "")
	harness.Check(t, err)
	response, err := insecureClient(t, maxVersion).Do(request)
	if err != nil {
		return tlsResponse{}, err
	}
	defer response.Body.Close()
	got := tlsResponse{status: response.StatusCode, protocol: response.ProtoMajor, hsts: response.Header.Get("Strict-Transport-Security")}
	if response.TLS != nil {
		got.serial = response.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	return got, nil
}

func TestServerRequiresTLS12(t *testing.T) {
	t.Parallel()
	s, _ := startServerWithTLS(t)
	for version, served := range map[uint16]bool{tls.VersionTLS13: true, tls.VersionTLS12: true, tls.VersionTLS11: false, tls.VersionTLS10: false} {
		got, err := listOverTLS(s, t, version)
		if (err == nil) != served {
			t.Errorf("%s: got %v, want served %t", tls.VersionName(version), err, served)
		}
		if want := (tlsResponse{200, 2, 1, "max-age=31536000"}); served && got != want {
			t.Errorf("%s: got %v, want %v", tls.VersionName(version), got, want)
		}
	}
	if status, _ := harness.Get(t, "http"+strings.TrimPrefix(s.URL, "https")+"/livez"); status != http.StatusBadRequest {
		t.Errorf("without TLS: got %d, want 400", status)
	}
	s.Stop(t)
	if got, err := listOverTLS(harness.Start(t, t.TempDir()), t, tls.VersionTLS13); err != nil || got.hsts != "" {
		t.Errorf("a server without TLS: got %v, %v, want no HSTS", got, err)
	}
}

// TestEveryResponseOverTLSHasHSTS locks the store at first, to include responses during the
// start.
func TestEveryResponseOverTLSHasHSTS(t *testing.T) {
	t.Parallel()
	dir, address, client := harness.NewStore(t), harness.FreeAddress(t), insecureClient(t, tls.VersionTLS13)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	send := func(method, path string) (status int, hsts string, err error) {
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
	writeCertificate(t, dir, 1)
	release, done := harness.LockStore(t, harness.StorePath(dir)), make(chan struct{})
	defer func() { <-done }()
	go func() {
		defer close(done)
		defer release()
		for _, path := range []string{"/livez", "/v1/pets"} {
			status, hsts, err := 0, "", errors.New("no request was sent")
			for deadline := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(deadline); {
				status, hsts, err = send(http.MethodGet, path)
			}
			if err != nil || hsts != "max-age=31536000" || status != map[string]int{"/livez": 200, "/v1/pets": 503}[path] {
				t.Errorf("during the start, GET %s: got %d, %q, %v", path, status, hsts, err)
			}
		}
	}()
	harness.Start(t, dir, "--set", "server.address="+address, "--set", "server.tls_cert_file=tls.crt", "--set", "server.tls_key_file=tls.key")
	for request, want := range map[string]int{
		"GET /livez": 200, "GET /readyz": 200, "GET /": 302, "GET /openapi.json": 200, "GET /swagger/index.html": 200, "GET /swagger/none": 404,
		"GET /v1/pets": 401, "GET /v1/pets/1": 401, "DELETE /v1/pets": 405, "OPTIONS /v1/pets": 204, "GET /none": 404, "GET /v1%2Fpets": 404,
	} {
		method, path, _ := strings.Cut(request, " ")
		if status, hsts, err := send(method, path); err != nil || status != want || hsts != "max-age=31536000" {
			t.Errorf("%s: got %d, %q, %v, want %d", request, status, hsts, err, want)
		}
	}
}

func TestChangedCertificateIsLoadedWithoutRestart(t *testing.T) {
	t.Parallel()
	s, dir := startServerWithTLS(t)
	serial := func() int64 {
		got, err := listOverTLS(s, t, tls.VersionTLS13)
		harness.Check(t, err)
		return got.serial
	}
	if got := serial(); got != 1 {
		t.Fatalf("got the certificate %d, want 1", got)
	}
	writeCertificate(t, dir, 2)
	harness.Eventually(t, "the second certificate is used", func() bool { return serial() == 2 })

	const message = "cannot load the new TLS certificate, the previous one stays in use"
	for logged, invalidKey := range []string{"hello", ""} {
		if invalidKey == "" {
			harness.Check(t, os.Remove(filepath.Join(dir, "tls.key")))
		} else {
			harness.WriteFile(t, dir, "tls.key", invalidKey)
		}
		harness.Eventually(t, "the log has the error", func() bool {
			return serial() == 2 && strings.Count(s.Log.String(), message) == logged+1
		})
	}
	writeCertificate(t, dir, 3)
	harness.Eventually(t, "the third certificate is used", func() bool { return serial() == 3 })
	if got := strings.Count(s.Log.String(), message); got != 2 {
		t.Errorf("got %d log entries about two invalid certificates, want 2", got)
	}
}

func TestServeRejectsMissingCertificateFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout, stderr, code := harness.Run(t, dir, "serve", "--set", "server.tls_cert_file=none.crt", "--set", "server.tls_key_file=none.key", "--set", "log.level=loud")
	if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 4 {
		t.Errorf("got code %d, stdout %q, stderr %s; want 2 and four lines", code, stdout, stderr)
	}
	if _, err := os.Stat(harness.StorePath(dir)); err == nil {
		t.Error("a store was created")
	}
}

func TestServeRejectsCertificateOfAnotherKey(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	writeCertificate(t, dir, 1)
	writeCertificate(t, other, 2)
	key := filepath.Join(other, "tls.key")
	_, stderr, code := harness.Run(t, dir, "serve", "--set", "server.tls_cert_file=tls.crt", "--set", "server.tls_key_file="+key)
	want := "petstore: server.tls_cert_file and server.tls_key_file: tls.crt and " + key + ": tls: private key does not match public key\n"
	if code != 1 || stderr != want {
		t.Errorf("got code %d, %s; want 1, %s", code, stderr, want)
	}
	if _, err := os.Stat(harness.StorePath(dir)); err == nil {
		t.Error("a store was created")
	}
}
