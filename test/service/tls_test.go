package service

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
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

// tlsFlags name the certificate of writeCertificate.
var tlsFlags = []string{"--set", "server.tls_cert_file=tls.crt", "--set", "server.tls_key_file=tls.key"}

// startServerWithTLS starts a server with a certificate with the serial number 1 in dir.
func startServerWithTLS(t *testing.T) (s *harness.Server, dir string) {
	t.Helper()
	dir = t.TempDir()
	writeCertificate(t, dir, 1)
	s = harness.Start(t, dir, tlsFlags...)
	if !strings.HasPrefix(s.URL, "https://") {
		t.Fatalf("got the URL %s, want https", s.URL)
	}
	return s, dir
}

// A tlsResponse is the part of a response that the tests of TLS check.
type tlsResponse struct {
	status, protocol int
	serial           int64  // of the certificate
	hsts             string // Strict-Transport-Security
}

// getOverTLS requests a path on a new connection of a client that accepts any certificate and offers TLS 1.0 to maxVersion.
func getOverTLS(s *harness.Server, t *testing.T, path string, maxVersion uint16) (tlsResponse, error) {
	t.Helper()
	request, err := s.Request(t.Context(), http.MethodGet, path, "")
	harness.Check(t, err)
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: maxVersion},
	}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
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
		got, err := getOverTLS(s, t, "/v1/pets", version)
		if (err == nil) != served {
			t.Errorf("%s: got %v, want served %t", tls.VersionName(version), err, served)
		}
		if want := (tlsResponse{200, 2, 1, "max-age=31536000"}); served && got != want {
			t.Errorf("%s: got %v, want %v", tls.VersionName(version), got, want)
		}
	}
	for path, status := range map[string]int{"/readyz": 200, "/": 302, "/openapi.json": 200, "/swagger/none": 404, "/none": 404, "/v1%2Fpets": 404} {
		if got, err := getOverTLS(s, t, path, tls.VersionTLS13); err != nil || got.status != status || got.hsts != "max-age=31536000" {
			t.Errorf("GET %s: got %v, %v, want %d with HSTS", path, got, err, status)
		}
	}
	if status, _ := harness.Get(t, "http"+strings.TrimPrefix(s.URL, "https")+"/livez"); status != http.StatusBadRequest {
		t.Errorf("without TLS: got %d, want 400", status)
	}
	s.Stop(t)
	if got, err := getOverTLS(harness.Start(t, t.TempDir()), t, "/livez", tls.VersionTLS13); err != nil || got.hsts != "" {
		t.Errorf("a server without TLS: got %v, %v, want no HSTS", got, err)
	}
}

func TestStartingServerSendsHSTS(t *testing.T) {
	t.Parallel()
	dir, address := harness.NewStore(t), harness.FreeAddress(t)
	writeCertificate(t, dir, 1)
	defer harness.LockStore(t, harness.StorePath(dir))()
	s := harness.Launch(t, harness.Command(t.Context(), dir, append([]string{"serve", "--set", "server.address=" + address}, tlsFlags...)...), address)
	s.URL = "https://" + address
	harness.Eventually(t, "a response during the start has HSTS", func() bool {
		got, err := getOverTLS(s, t, "/v1/pets", tls.VersionTLS13)
		return err == nil && got.status == http.StatusServiceUnavailable && got.hsts == "max-age=31536000"
	})
}

func TestChangedCertificateIsLoadedWithoutRestart(t *testing.T) {
	t.Parallel()
	s, dir := startServerWithTLS(t)
	serial := func() int64 {
		got, err := getOverTLS(s, t, "/livez", tls.VersionTLS13)
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

func TestServeRejectsCertificateOfAnotherKey(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	writeCertificate(t, dir, 1)
	writeCertificate(t, other, 2)
	key := filepath.Join(other, "tls.key")
	harness.WantError(t, dir, "serve --set server.tls_cert_file=tls.crt --set server.tls_key_file="+key,
		"server.tls_cert_file and server.tls_key_file: tls.crt and "+key+": tls: private key does not match public key")
	if _, err := os.Stat(harness.StorePath(dir)); err == nil {
		t.Error("a store was created")
	}
}
