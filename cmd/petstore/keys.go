package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/domain"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

func newKeys(in *invocation) *cobra.Command {
	return newGroup(&cobra.Command{
		Use:   "keys",
		Short: "Issue, list, replace and revoke API keys",
		Long: `Issue, list, replace and revoke API keys, also while the service runs on the same
store: a new key works at once, a revoked one is refused within 5 seconds.

A key is printed alone on standard output, and this once: the store keeps its hash.`,
		Example: "  petstore keys create --name till-1",
	}, newKeysCreate(in), newKeysList(in), newKeysRotate(in), newKeysRevoke(in))
}

func newKeysCreate(in *invocation) *cobra.Command {
	var name string
	var lifetime time.Duration
	cmd := &cobra.Command{
		Use:   "create --name NAME",
		Short: "Issue an API key and print it, this once",
		Example: `  petstore keys create --name till-1
  petstore keys create --name auditor --expires 90d`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.printKey(cmd.Context(), repository.Options{}, func(keys *usecase.Keys) (string, error) {
				return keys.Create(cmd.Context(), name, lifetime)
			})
		},
	}
	cmd.Flags().Func("name", "whose key it is, for people: `NAME`", func(text string) error {
		if name = text; !domain.ValidKeyName(name) {
			return errors.New(domain.KeyNameRule)
		}
		return nil
	})
	cmd.Flags().Func("expires", "how long the key works, such as 90d or 36h: `SPAN` (default for ever)", within(time.Second, &lifetime))
	_ = cmd.MarkFlagRequired("name") // the flag above exists
	return cmd
}

func newKeysRotate(in *invocation) *cobra.Command {
	overlap := 24 * time.Hour
	cmd := &cobra.Command{
		Use:   "rotate ID",
		Short: "Issue an API key in the place of another, and print it, this once",
		Long: `Issue an API key in the place of another, with its name and time to live, and print
it alone on standard output, this once. The other one is revoked after the overlap.`,
		Example: `  petstore keys rotate 7                # both keys work for a day
  petstore keys rotate 7 --overlap 0s   # the old one stops at once`,
		Args: oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return in.printKey(cmd.Context(), existing, func(keys *usecase.Keys) (string, error) {
				return keys.Rotate(cmd.Context(), idOf(args), overlap)
			})
		},
	}
	cmd.Flags().Func("overlap", "how long both keys work, such as 24h or 7d: `SPAN` (default 24h)", within(0, &overlap))
	return cmd
}

func newKeysRevoke(in *invocation) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID",
		Short:   "Have an API key refused from now on, for good",
		Example: "  petstore keys revoke 7",
		Args:    oneID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return in.withKeys(cmd.Context(), existing, func(keys *usecase.Keys) error {
				return keys.Revoke(cmd.Context(), idOf(args))
			})
		},
	}
}

// withKeys runs work on the keys of the store.
func (in *invocation) withKeys(ctx context.Context, o repository.Options, work func(*usecase.Keys) error) error {
	return in.withStore(ctx, o, func(store *repository.Store) error {
		return work(usecase.NewKeys(store, store.Keys(), clock))
	})
}

// printKey prints the secret of a key that issue issues. It issues none where nobody
// could read it.
func (in *invocation) printKey(ctx context.Context, o repository.Options, issue func(*usecase.Keys) (string, error)) error {
	if isNull(in.stdout) {
		return errors.New("standard output is closed or " + os.DevNull + ", where the key would be lost: send it to a terminal, a file or a pipe")
	}
	return in.withKeys(ctx, o, func(keys *usecase.Keys) error {
		secret, err := issue(keys)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(in.stdout, secret); err != nil {
			return keyNotPrinted(err)
		}
		return nil
	})
}

// isNull reports whether out is the null device, which Go opens for a standard output
// that is closed.
func isNull(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	output, err := file.Stat()
	if err != nil {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(output, null)
}

// keyNotPrinted is the error for a key that works but was never shown.
func keyNotPrinted(err error) error {
	return fmt.Errorf("the key was issued but could not be shown, revoke it (the last that petstore keys list shows): %w", err)
}

// oneID wants the id of a key as the only argument. It never repeats the argument,
// in whose place a secret may stand.
func oneID(cmd *cobra.Command, args []string) error {
	if err := cobra.ExactArgs(1)(cmd, args); err != nil {
		return err
	}
	if _, err := strconv.ParseInt(args[0], 10, 64); err != nil {
		return errors.New("the ID of an API key is the number that petstore keys list shows")
	}
	return nil
}

// idOf is the id in arguments that oneID has passed.
func idOf(args []string) int64 {
	id, _ := strconv.ParseInt(args[0], 10, 64)
	return id
}
