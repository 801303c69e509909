package service

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// The second connection waits for the end of the first one. When a server closes a connection with an
// unread request, the connection is reset and the client may lose the response, unless the server first
// closes its sending side.
func TestConnectionBeyondTheLimitWaitsAndIsNotReset(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, t.TempDir(), "--set", "server.max_connections=1")
	first := dial(t, s)
	_, err := fmt.Fprint(first, "GET /livez HTTP/1.1\r\nHost: shop\r\n\r\n")
	testkit.Check(t, err)
	testkit.Check(t, first.SetReadDeadline(time.Now().Add(10*time.Second)))
	start := make([]byte, 15)
	if _, err := io.ReadFull(first, start); err != nil || string(start) != "HTTP/1.1 200 OK" {
		t.Fatalf("got %q and %v, want 200", start, err)
	}
	second := dial(t, s)
	_, err = fmt.Fprintf(second, "GET /livez HTTP/1.1\r\nHost: shop\r\nX-Large: %s\r\n\r\n", strings.Repeat("x", 60_000))
	testkit.Check(t, err)
	testkit.Check(t, second.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	if response, err := io.ReadAll(second); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("beyond the limit: got %q and %v, want no response", response, err)
	}
	testkit.Check(t, first.Close())
	testkit.Check(t, second.SetReadDeadline(time.Now().Add(10*time.Second)))
	if response, err := io.ReadAll(second); err != nil || !strings.HasPrefix(string(response), "HTTP/1.1 431 ") {
		t.Errorf("after the first was closed: got %.20q and %v, want 431 and the end of the connection", response, err)
	}
}

// dial opens a connection to a server. It is closed when the test ends.
func dial(t *testing.T, s *harness.Server) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Address())
	testkit.Check(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestServeThatCannotListenSaysWhyAndCreatesNoStore(t *testing.T) {
	t.Parallel()
	used, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.Check(t, err)
	defer used.Close()
	dir, address, free := t.TempDir(), used.Addr().String(), harness.FreeAddress(t)
	wildcard := strings.TrimPrefix(free, "127.0.0.1")
	for settings, message := range map[string]string{
		"server.address=" + address: "server.address: " + address +
			" is already in use: stop the process that uses it or set another address",
		"admin.address=" + address: "admin.address: " + address +
			" is already in use: stop the process that uses it or set another address",
		"server.address=" + free + " --set admin.address=" + free: "admin.address: " + free + " overlaps with server.address, " + free +
			": set another port",
		"server.address=" + free + " --set admin.address=" + wildcard: "admin.address: " + wildcard + " overlaps with server.address, " + free +
			": set another port",
	} {
		harness.WantError(t, dir, "serve --first-key --set "+settings, message)
		if _, err := os.Stat(harness.StorePath(dir)); err == nil {
			t.Errorf("%s: a store was created", settings)
		}
	}
}

func TestServeRejectsCertificateThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	writeCertificate(t, dir, 1)
	writeCertificate(t, other, 2)
	harness.WriteFile(t, dir, "empty.crt", "")
	key := filepath.Join(other, "tls.key")
	for settings, reason := range map[string]string{
		"server.tls_cert_file=tls.crt --set server.tls_key_file=" + key: "tls.crt and " + key +
			": tls: private key does not match public key",
		"server.tls_cert_file=empty.crt --set server.tls_key_file=tls.key": "empty.crt and tls.key" +
			": tls: failed to find any PEM data in certificate input",
	} {
		stdout, stderr, code := harness.Run(t, dir, strings.Fields("serve --set server.address=127.0.0.1:0 --set "+settings)...)
		want := "petstore: the configuration is not valid:\n  server.tls_cert_file and server.tls_key_file: " + reason + "\n"
		if code != 2 || stdout != "" || stderr != want {
			t.Errorf("%s: got code %d, stdout %q, stderr %q; want 2 and %q", settings, code, stdout, stderr, want)
		}
	}
}

// writeCertificate writes a certificate for 127.0.0.1 and its private key to tls.crt and
// tls.key in dir.
func writeCertificate(t *testing.T, dir string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testkit.Check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	testkit.Check(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	testkit.Check(t, err)
	harness.WriteFile(t, dir, "tls.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
	harness.WriteFile(t, dir, "tls.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

// tlsFlags are the flags for the certificate of writeCertificate.
var tlsFlags = []string{"--set", "server.tls_cert_file=tls.crt", "--set", "server.tls_key_file=tls.key"}

// A tlsResponse is the part of a response that the tests of TLS check.
type tlsResponse struct {
	status, protocol int
	serial           int64  // the serial number of the certificate
	hsts             string // the header Strict-Transport-Security
}

// oneYear is the Strict-Transport-Security of each response over TLS.
const oneYear = "max-age=31536000"

// getOverTLS requests a path on a new connection. The client accepts any certificate and offers TLS 1.0 to
// maxVersion.
func getOverTLS(s *harness.Server, t *testing.T, path string, maxVersion uint16) (tlsResponse, error) {
	t.Helper()
	request, err := s.Request(t.Context(), http.MethodGet, path, "")
	testkit.Check(t, err)
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: maxVersion},
	}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return tlsResponse{}, err
	}
	response.Body.Close()
	serial := response.TLS.PeerCertificates[0].SerialNumber.Int64()
	return tlsResponse{response.StatusCode, response.ProtoMajor, serial, response.Header.Get("Strict-Transport-Security")}, nil
}

// TestServerRequiresTLS12AndReloadsItsCertificate also expects HSTS in each response, and that the previous
// certificate stays in use while the new one cannot be loaded.
func TestServerRequiresTLS12AndReloadsItsCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeCertificate(t, dir, 1)
	s := harness.Start(t, dir, tlsFlags...)
	for version, served := range map[uint16]bool{tls.VersionTLS13: true, tls.VersionTLS12: true, tls.VersionTLS11: false, tls.VersionTLS10: false} {
		got, err := getOverTLS(s, t, "/v1/pets", version)
		if want := (tlsResponse{200, 2, 1, oneYear}); (err == nil) != served || served && got != want {
			t.Errorf("%s: got %v, %v, want served %t: %v", tls.VersionName(version), got, err, served, want)
		}
	}
	for path, status := range map[string]int{"/readyz": 200, "/": 302, "/openapi.json": 200, "/swagger/none": 404, "/none": 404, "/v1%2Fpets": 404} {
		if got, err := getOverTLS(s, t, path, tls.VersionTLS13); err != nil || got.status != status || got.hsts != oneYear {
			t.Errorf("GET %s: got %v, %v, want %d with HSTS", path, got, err, status)
		}
	}
	if status, _ := harness.Get(t, "http://"+s.Address()+"/livez"); status != http.StatusBadRequest {
		t.Errorf("without TLS: got %d, want 400", status)
	}

	const message = "cannot load the new TLS certificate, the previous one stays in use"
	wantSerial := func(want int64, logged int) {
		t.Helper()
		testkit.WaitUntil(t, fmt.Sprintf("the certificate %d is used after %d errors", want, logged), func() bool {
			got, err := getOverTLS(s, t, "/livez", tls.VersionTLS13)
			testkit.Check(t, err)
			return got.serial == want && strings.Count(s.Log.String(), message) == logged
		})
	}
	writeCertificate(t, dir, 2)
	wantSerial(2, 0)
	harness.WriteFile(t, dir, "tls.key", "hello")
	wantSerial(2, 1)
	testkit.Check(t, os.Remove(filepath.Join(dir, "tls.key")))
	wantSerial(2, 2)
	writeCertificate(t, dir, 3)
	wantSerial(3, 2)
}
