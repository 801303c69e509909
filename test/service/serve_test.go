package service

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"example.com/petstore/test/harness"
)

func TestFirstKeyPrintsAURLThatExists(t *testing.T) {
	t.Parallel()
	for _, enabled := range []string{"true", "false"} {
		s := harness.Start(t, t.TempDir(), "--set", "docs.enabled="+enabled)
		s.WantStatus(t, strings.TrimPrefix(s.Page, s.URL), http.StatusOK)
	}
}

func TestAddressInUseCreatesNoStore(t *testing.T) {
	t.Parallel()
	used, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	harness.Check(t, err)
	defer used.Close()
	for _, setting := range []string{"server.address", "admin.address"} {
		dir := t.TempDir()
		harness.WantError(t, dir, "serve --first-key --set "+setting+"="+used.Addr().String(),
			fmt.Sprintf("%s: %s is already in use: stop the process that uses it or set another address", setting, used.Addr()))
		if _, err := os.Stat(harness.StorePath(dir)); err == nil {
			t.Error("a store was created")
		}
	}
}
