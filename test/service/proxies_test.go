package service

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/test/testkit"
	"example.com/petstore/test/harness"
)

// compressingProxies are configurations of proxies that compress JSON, by the command that runs them. DIR is a folder, ADDRESS
// the address of the proxy, and SERVICE that of petstore.
var compressingProxies = map[string]string{
	"nginx -p DIR -c FILE": `daemon off; master_process off; error_log stderr crit; pid DIR/pid;
		events { worker_connections 64; }
		http { access_log off; client_body_temp_path DIR/a; proxy_temp_path DIR/b; fastcgi_temp_path DIR/c;
		uwsgi_temp_path DIR/d; scgi_temp_path DIR/e;
		gzip on; gzip_types application/json; gzip_proxied any;
		server { listen ADDRESS; location / { proxy_pass http://SERVICE; } } }`,
	"apache2 -X -f FILE": `ServerName petstore
		Listen ADDRESS
		PidFile DIR/pid
		DefaultRuntimeDir DIR
		ErrorLog /dev/stderr
		LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
		LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
		LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so
		LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so
		LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
		LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
		AddOutputFilterByType DEFLATE application/json
		ProxyPass / http://SERVICE/`,
	"caddy run --adapter caddyfile --config FILE": `{
			admin off
		}
		http://ADDRESS {
			encode gzip
			reverse_proxy SERVICE
		}`,
}

// A proxy that compresses rewrites the ETag. A client can only send what it got.
func TestConditionsMatchBehindAProxyThatCompresses(t *testing.T) {
	t.Parallel()
	for command, configuration := range compressingProxies {
		name, _, _ := strings.Cut(command, " ")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, address := t.TempDir(), harness.FreeAddress(t)
			s := harness.Start(t, dir)
			s.AddPet(t, strings.Repeat("🐶", 200)) // a short response would not be compressed
			use := strings.NewReplacer("DIR", dir, "FILE", filepath.Join(dir, "configuration"), "ADDRESS", address, "SERVICE", s.Address())
			harness.WriteFile(t, dir, "configuration", use.Replace(configuration))
			proxy := harness.Launch(t, proxyCommand(t.Context(), dir, strings.Fields(use.Replace(command))), address)
			proxy.Key = s.Key
			testkit.WaitUntil(t, name+" passes requests on", func() bool { return proxy.IsReady(t.Context()) })
			const list, animal = "/v1/pets?id=1", "/v1/pets/1"
			wantStatus := func(want int, method, path, body, condition, tag string) {
				t.Helper()
				if status, response, err := proxy.Do(t.Context(), method, path, body, condition, tag); status != want || err != nil {
					t.Errorf("%s %s with %s %s: got %d %.200s and %v, want %d", method, path, condition, tag, status, response, err, want)
				}
			}
			tag := compressedTag(t, proxy, http.MethodGet, list, "")
			wantStatus(http.StatusNotModified, http.MethodGet, list, "", "If-None-Match", tag)
			wantStatus(http.StatusOK, http.MethodPatch, animal, `{"categoryId":8}`, "If-Match", tag)
			wantStatus(http.StatusPreconditionFailed, http.MethodPatch, animal, `{"categoryId":9}`, "If-Match", tag)
			tag = compressedTag(t, proxy, http.MethodPatch, animal, `{}`)
			wantStatus(http.StatusNoContent, http.MethodDelete, animal, "", "If-Match", tag)
		})
	}
}

// proxyCommand returns the command of a proxy, which is not in the PATH of every user. Caddy writes into its HOME.
func proxyCommand(ctx context.Context, home string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if cmd.Err != nil {
		cmd = exec.CommandContext(ctx, "/usr/sbin/"+args[0], args[1:]...)
	}
	cmd.Env = []string{"HOME=" + home}
	return cmd
}

// compressedTag sends a request and returns the ETag of the response, which must be compressed.
func compressedTag(t *testing.T, proxy *harness.Server, method, path, body string) string {
	t.Helper()
	request, err := proxy.Request(t.Context(), method, path, body, "Accept-Encoding", "gzip")
	testkit.Check(t, err)
	response, err := harness.Client.Do(request)
	testkit.Check(t, err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%s %s: got %s with the header %v, want a compressed response", method, path, response.Status, response.Header)
	}
	return response.Header.Get("ETag")
}
