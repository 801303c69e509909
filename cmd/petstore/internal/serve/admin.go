package serve

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"example.com/petstore/config"
	"example.com/petstore/internal/server"
)

// adminHandler returns the handler of the admin listener: metrics, profiles and the log level.
// It omits pprof's /debug/pprof/cmdline, because a command line may contain secrets.
func adminHandler(settings config.Admin, metrics prometheus.Gatherer, level zap.AtomicLevel) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /log/level", level)
	mux.Handle("PUT /log/level", setLogLevel(level))
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return rejectOtherHosts(settings.Address, mux)
}

// setLogLevel returns a handler that sets level to the level in the request: a form or JSON, as zap.AtomicLevel
// accepts it. It rejects levels above error, which would hide errors.
func setLogLevel(level zap.AtomicLevel) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := struct {
			Level string `json:"level"`
		}{r.FormValue("level")}
		if body.Level == "" {
			_ = json.NewDecoder(r.Body).Decode(&body) // an error leaves body empty
		}
		to, err := zapcore.ParseLevel(body.Level)
		if err != nil || body.Level == "" || to > zapcore.ErrorLevel {
			http.Error(w, `{"error":"level must be debug, info, warn or error"}`, http.StatusBadRequest)
			return
		}
		level.SetLevel(to)
		_ = json.NewEncoder(w).Encode(map[string]zapcore.Level{"level": to}) // fails only if the client has disconnected
	}
}

// rejectOtherHosts rejects requests whose Host is neither an IP address, nor localhost, nor the host of address. It
// prevents DNS rebinding: otherwise a web page whose host name resolves to this listener could read all responses.
//
// Two kinds of listeners accept every Host: a Unix socket, because no web page can reach it, and a listener on all
// interfaces, because the settings do not contain the names of the machine.
func rejectOtherHosts(address string, next http.Handler) http.Handler {
	network, name := config.NetworkOf(address)
	configured, _, _ := net.SplitHostPort(name) // the settings are validated
	if ip, err := netip.ParseAddr(configured); network == "unix" || configured == "" || err == nil && ip.IsUnspecified() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		if _, err := netip.ParseAddr(host); err != nil && !strings.EqualFold(host, "localhost") && !strings.EqualFold(host, configured) {
			http.Error(w, "the Host of the request is neither an IP address, localhost nor the host of admin.address: "+
				"use the IP address, or set admin.address to the name", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// serveAdmin serves adminHandler until ctx ends. It does nothing if listener is nil.
func serveAdmin(
	ctx context.Context, listener net.Listener, settings config.Config, metrics prometheus.Gatherer, level zap.AtomicLevel, log *zap.Logger,
) error {
	if listener == nil {
		return nil
	}
	log.Info("serving metrics and profiles", zap.Stringer("address", listener.Addr()))
	t := serverTimeouts(settings.Server)
	// A profile takes as long as the client chooses, so there is no write timeout; it does not delay the shutdown.
	t.Write, t.Delay, t.Shutdown = 0, 0, 100*time.Millisecond
	if err := server.Serve(ctx, listener, adminHandler(settings.Admin, metrics, level), t, log); ctx.Err() == nil {
		return err
	}
	return nil // an interrupted profile is not an error
}
