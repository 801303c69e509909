package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/gin-gonic/gin"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"example.com/petstore/config"
	rest "example.com/petstore/delivery/http"
	"example.com/petstore/delivery/http/swagger"
	"example.com/petstore/docs"
	"example.com/petstore/usecase"
)

func newServe(in *invocation) *cobra.Command {
	var firstKey bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer requests until told to stop",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := in.settings()
			if err != nil {
				return err
			}
			return serve(cmd.Context(), settings, firstKey, in.stdout, in.stderr)
		},
	}
	cmd.Flags().BoolVar(&firstKey, "first-key", false, "issue an API key when the store has none, and print it")
	return cmd
}

// serve runs the service until ctx ends. The listeners come before the store, so
// that a taken port leaves nothing behind.
func serve(ctx context.Context, settings config.Config, firstKey bool, stdout, stderr io.Writer) (err error) {
	log, err := newLog(settings.Log, stderr)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, "server.address", settings.Server.Address)
	if err != nil {
		return err
	}
	defer listener.Close()
	var admin net.Listener
	if settings.Admin.Address != "" {
		if admin, err = listen(ctx, "admin.address", settings.Admin.Address); err != nil {
			return err
		}
		defer admin.Close()
	}

	store, err := open(ctx, settings.Database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	keys := usecase.NewKeys(store, store.Keys(), clock)
	api, err := rest.New(
		rest.Services{
			Pets:   usecase.NewPets(store, store.Pets(), clock),
			Orders: usecase.NewOrders(store, store.Orders(), clock),
			Keys:   keys,
		},
		rest.WithLogger(log),
		rest.WithGetPetSunset(settings.API.GetPetSunset),
		rest.WithRequestTimeout(settings.Server.RequestTimeout),
	)
	if err != nil {
		return err
	}

	gin.SetMode(gin.ReleaseMode)
	health := rest.NewHealth(store.Ping)
	engine, err := rest.NewEngine(api, health, settings.Server.TrustedProxies)
	if err != nil {
		return err
	}
	if settings.Docs.Enabled {
		if err := mountDocs(engine, settings); err != nil {
			return err
		}
	}
	if firstKey {
		if err := printFirstKey(ctx, keys, stdout); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "Swagger UI: http://%s/swagger/index.html\n", reachable(listener.Addr()))
	}

	log.Info("serving", zap.Stringer("address", listener.Addr()), zap.String("admin", settings.Admin.Address))
	context.AfterFunc(ctx, health.Drain)
	timeouts := timeoutsOf(settings.Server)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return rest.Serve(ctx, listener, engine, timeouts, log) })
	if admin != nil {
		group.Go(func() error { return rest.Serve(ctx, admin, adminHandler(), timeouts, log) })
	}
	err = group.Wait()
	log.Info("stopped", zap.Error(err))
	return err
}

// mountDocs serves the OpenAPI document of this deployment and the UI that shows it.
func mountDocs(engine *gin.Engine, settings config.Config) error {
	document, err := docs.Document(docs.Options{
		ProductionURL: settings.Server.ProductionURL,
		StagingURL:    settings.Server.StagingURL,
		Sunset:        settings.API.GetPetSunset,
	})
	if err != nil {
		return err
	}
	swagger.RedirectRoot(engine)
	return swagger.Register(engine, swagger.Options{Document: document, NotFound: rest.NotFound})
}

func timeoutsOf(s config.Server) rest.Timeouts {
	return rest.Timeouts{
		ReadHeader: s.ReadHeaderTimeout, Read: s.ReadTimeout, Write: s.WriteTimeout,
		Idle: s.IdleTimeout, Shutdown: s.ShutdownTimeout,
	}
}

// printFirstKey issues a key for a store that has none. A later start only says
// how to make another, because no key can be shown again.
func printFirstKey(ctx context.Context, keys *usecase.Keys, stdout io.Writer) error {
	secret, err := keys.CreateFirst(ctx, "first")
	if err != nil {
		return err
	}
	if secret == "" {
		fmt.Fprintln(stdout, "API key:    the store has one already; make another with petstore keys create --name NAME")
		return nil
	}
	fmt.Fprintln(stdout, "API key:   ", secret, "(shown this once)")
	return nil
}

// reachable is an address of this machine for one that stands for all of them.
func reachable(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address.String()
}
