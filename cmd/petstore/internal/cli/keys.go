package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/cmd/petstore/internal/serve"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

func newKeys(in *invocation) *cobra.Command {
	return withSubcommands(&cobra.Command{
		Use:   "keys",
		Short: "Create, list, rotate and revoke API keys",
		Long: `Create, list, rotate and revoke API keys, also while the service runs on the same store.
A new key works immediately, a revoked one is rejected within 5 seconds.

A new key is shown only once, on standard output: the store contains only its hash.`,
		Example: "  petstore keys create --name till-1",
	}, newKeysCreate(in), newKeysList(in), newKeysRotate(in), newKeysRevoke(in))
}

func newKeysCreate(in *invocation) *cobra.Command {
	var name string
	var lifetime time.Duration
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "create --name NAME",
		Short: "Create an API key and print it",
		Long:  "Create an API key and print it on standard output. It is shown only once.",
		Example: `  petstore keys create --name till-1
  petstore keys create --name auditor --expires 90d
  petstore keys create --name public-page --read-only`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.printNewKey(cmd.Context(), repository.Options{}, func(keys *usecase.Keys) (string, error) {
				if readOnly {
					return keys.CreateReadOnly(cmd.Context(), name, lifetime)
				}
				return keys.Create(cmd.Context(), name, lifetime)
			})
		},
	}
	cmd.Flags().Func("name", "set the `NAME` of the key, which says who uses it", func(text string) error {
		if name = text; !apikey.ValidName(name) {
			return errors.New(apikey.NameRule)
		}
		return nil
	})
	cmd.Flags().Func("expires", "let the key expire after `DURATION`, such as 90d or 36h (default: never)", durationFlag(&lifetime, time.Second))
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "let the key only read: POST requests get 403")
	_ = cmd.MarkFlagRequired("name") // fails only for an unknown flag
	return cmd
}

func newKeysRotate(in *invocation) *cobra.Command {
	overlap := 24 * time.Hour
	cmd := &cobra.Command{
		Use:   "rotate ID",
		Short: "Create a replacement for an API key and print it",
		Long: `Create an API key with the name, the lifetime and the permission of another, which it
replaces, and print it on standard output. It is shown only once. The old key is revoked
after the overlap.`,
		Example: `  petstore keys rotate 7                # both keys work for a day
  petstore keys rotate 7 --overlap 0s   # the old key is revoked immediately`,
		Args: keyIDArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return in.printNewKey(cmd.Context(), mustExist, func(keys *usecase.Keys) (string, error) {
				return keys.Rotate(cmd.Context(), keyID(args), overlap)
			})
		},
	}
	cmd.Flags().Func("overlap", "revoke the old key after `DURATION`, such as 24h or 7d (default 24h)", durationFlag(&overlap, 0))
	return cmd
}

func newKeysRevoke(in *invocation) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke an API key permanently",
		Example: "  petstore keys revoke 7",
		Args:    keyIDArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return in.withKeys(cmd.Context(), mustExist, func(keys *usecase.Keys) error {
				return keys.Revoke(cmd.Context(), keyID(args))
			})
		},
	}
}

// withKeys calls fn with the API keys of the store.
func (in *invocation) withKeys(ctx context.Context, o repository.Options, fn func(*usecase.Keys) error) error {
	return in.withStore(ctx, o, func(store *repository.Store) error {
		return fn(usecase.NewKeys(store, store.Keys(), clock))
	})
}

// printNewKey calls create and prints the secret that it returns. It creates no key if
// checkStdout returns an error.
func (in *invocation) printNewKey(ctx context.Context, o repository.Options, create func(*usecase.Keys) (string, error)) error {
	if err := in.checkStdout(); err != nil {
		return err
	}
	return in.withKeys(ctx, o, func(keys *usecase.Keys) error {
		secret, err := create(keys)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(in.stdout, secret); err != nil {
			return serve.KeyNotPrinted(err)
		}
		return nil
	})
}

// checkStdout returns an error if stdout is the null device, where a new key would be lost.
func (in *invocation) checkStdout() error {
	if isNullDevice(in.stdout.out) {
		return errors.New("standard output is closed or " + os.DevNull + ", so the key would be lost: redirect it to a terminal, a file or a pipe")
	}
	return nil
}

// keyIDArg is a cobra.PositionalArgs that accepts the id of a key alone. Its error does not
// repeat the argument, which may be a secret by mistake.
func keyIDArg(cmd *cobra.Command, args []string) error {
	if err := oneArg("name the ID of an API key, which petstore keys list shows")(cmd, args); err != nil {
		return err
	}
	if _, err := strconv.ParseInt(args[0], 10, 64); err != nil {
		return errors.New("the ID of an API key must be a number that petstore keys list shows")
	}
	return nil
}

// keyID returns the id in arguments that keyIDArg has accepted.
func keyID(args []string) int64 {
	id, _ := strconv.ParseInt(args[0], 10, 64)
	return id
}
