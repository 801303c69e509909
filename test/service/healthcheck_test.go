package service

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

func TestHealthcheckSaysWhetherTheServiceIsReady(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeCertificate(t, dir, 1)
	plain := harness.Start(t, dir)
	secure := harness.Start(t, dir, append(tlsFlags, "--set", "database.dsn=secure.db")...)
	_, port, _ := net.SplitHostPort(plain.Address())
	v6 := harness.Start(t, t.TempDir(), "--set", "server.address=[::1]:0")
	_, v6Port, _ := net.SplitHostPort(v6.Address())
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	testkit.Check(t, err)
	defer silent.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	unused := harness.FreeAddress(t)
	for _, test := range []struct {
		address string
		args    []string
		problem string // "" for success
	}{
		{plain.Address(), nil, ""},
		{":" + port, nil, ""},
		{"0.0.0.0:" + port, nil, ""},
		{":" + v6Port, nil, ""}, // as on a machine without 127.0.0.1
		{secure.Address(), tlsFlags, ""},
		{secure.Address(), nil, "400 Bad Request"},
		{unused, nil, "dial tcp " + unused + ": connect: connection refused"},
		{other.Listener.Addr().String(), nil, "404 Not Found"},
		{silent.Addr().String(), []string{"--timeout", "100ms"}, "no response within 100ms"},
	} {
		for _, flag := range []string{"", "--live"} {
			state := map[string]string{"": "ready", "--live": "alive"}[flag]
			args := slices.Concat([]string{"healthcheck", "--set", "server.address=" + test.address}, test.args, strings.Fields(flag))
			stdout, stderr, code := harness.Run(t, dir, args...)
			wantOut, wantErr, wantCode := fmt.Sprintf("the service at %s is %s\n", test.address, state), "", 0
			if test.problem != "" {
				wantOut, wantErr, wantCode = "", fmt.Sprintf("petstore: the service at %s is not %s: %s\n", test.address, state, test.problem), 1
			}
			if stdout != wantOut || stderr != wantErr || code != wantCode {
				t.Errorf("%v: got %d, %q, %q; want %d, %q, %q", args, code, stdout, stderr, wantCode, wantOut, wantErr)
			}
		}
	}
}
