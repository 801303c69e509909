package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/cmd/petstore/internal/serve"
	"example.com/petstore/config"
	"example.com/petstore/domain/apikey"
	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

func newKeys(in *invocation) *cobra.Command {
	return withSubcommands(&cobra.Command{
		Use:   "keys",
		Short: "Create, list, edit, rotate and revoke API keys",
		Long: `Create, list, edit, rotate and revoke API keys, also while the service runs on the same
store. A new key works immediately, a revoked one is rejected within one second.

A new key is shown only once, on standard output: the store contains only its hash.`,
		Example: "  petstore keys create --name till-1",
	}, newKeysCreate(in), newKeysList(in), newKeysEdit(in), newKeysRotate(in), newKeysRevoke(in))
}

func newKeysCreate(in *invocation) *cobra.Command {
	var name string
	var lifetime time.Duration
	var flags scopeFlags
	var scopes apikey.Scopes
	cmd := &cobra.Command{
		Use:   "create --name NAME",
		Short: "Create an API key and print it",
		Long: `Create an API key and print it on standard output. It is shown only once. Standard error has
its id.

` + scopesHelp,
		Example: `  petstore keys create --name till-1
  petstore keys create --name auditor --expires 90d
  petstore keys create --name public-page --scope pets:read
  petstore keys create --name copy --read-only`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			scopes, err = flags.value()
			return cmp.Or(err, noArgs(cmd, args))
		},
		PreRunE: in.checkKeyOutput,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.withKeys(cmd.Context(), func(keys *usecase.Keys) error {
				secret, err := keys.Create(cmd.Context(), name, lifetime, scopes)
				return in.printKey(cmd.Context(), keys, 0, secret, err)
			})
		},
	}
	addNameFlag(cmd, &name)
	cmd.Flags().Func("expires", "let the key expire after `DURATION`, such as 90d or 36h (default: never)", durationFlag(&lifetime, time.Second))
	flags.add(cmd, " (default: everything)")
	_ = cmd.MarkFlagRequired("name") // fails only for an unknown flag
	return cmd
}

const scopesHelp = `With --scope the key may do only what its scopes allow; other requests get 403:

  pets:read      list, get and count animals, list categories
  pets:write     add, correct and remove animals, name categories
  orders:read    list and get orders
  orders:write   place, deliver and cancel orders, which changes the status of their animals
  changes:read   follow the changes of animals, orders and categories

--read-only is --scope pets:read,orders:read,changes:read.`

// addNameFlag adds the flag --name, which sets name.
func addNameFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().Func("name", "set the `NAME` of the key, which says who uses it", func(text string) error {
		if *name = text; !apikey.ValidName(text) {
			return errors.New(apikey.NameRule)
		}
		return nil
	})
}

// scopeFlags are the flags --scope, which may be repeated, and --read-only.
type scopeFlags struct {
	scopes   apikey.Scopes // of --scope
	readOnly bool
}

// add adds the flags to cmd. byDefault says what the key may do without them.
func (f *scopeFlags) add(cmd *cobra.Command, byDefault string) {
	cmd.Flags().Func("scope", "let the key do only what these `SCOPES` allow, separated by commas"+byDefault, func(text string) error {
		added := apikey.Scopes(text)
		if f.scopes != "" { // set by an earlier --scope
			added = f.scopes + "," + added
		}
		if f.scopes = added; text == "" || added.Validate() != nil {
			return errors.New(apikey.ScopesRule)
		}
		return nil
	})
	cmd.Flags().BoolVar(&f.readOnly, "read-only", false, "let the key only read")
}

// value returns the scopes, which are empty without a flag, or an error for contradictory flags.
func (f *scopeFlags) value() (apikey.Scopes, error) {
	switch {
	case !f.readOnly:
		return f.scopes, nil
	case f.scopes == "":
		return apikey.ReadOnly, nil
	}
	return "", errors.New("add either --scope or --read-only")
}

// A keyEntry is an API key in the output of keys list. Scripts depend on its JSON names.
type keyEntry struct {
	ID         int64        `json:"id"`
	Name       string       `json:"name"`
	LastFour   string       `json:"lastFour"`
	Scopes     []string     `json:"scopes"`
	CreatedAt  time.Time    `json:"createdAt"`
	ExpiresAt  *time.Time   `json:"expiresAt"`
	RevokedAt  *time.Time   `json:"revokedAt"`
	LastUsedAt *time.Time   `json:"lastUsedAt"`
	State      apikey.State `json:"state"`
}

func newKeysList(in *invocation) *cobra.Command {
	var output outputFlag
	var ended bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the API keys, without their secrets",
		Example: "  petstore keys list\n  petstore keys list --all --output json",
		Long: `List the valid API keys, with --all also the revoked and expired ones, with their id, name,
last four characters, access (full, read-only or the scopes), times in UTC and state. The time
of the revocation is in the future while both keys of a rotation work. The time of the last
use is accurate to about a minute.

A key that was revoked is never removed from the store: it says whose key it was, and keeps
the key revoked after a backup is restored.

With --output json it prints an array of objects with the members id, name, lastFour,
scopes, createdAt, expiresAt, revokedAt, lastUsedAt and state. scopes is an array, or null for
a key that may do everything. A time may be null, state is active, expired or revoked.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.withKeys(cmd.Context(), func(keys *usecase.Keys) error {
				all, err := keys.List(cmd.Context())
				if err != nil {
					return err
				}
				list := []keyEntry{}
				for _, k := range all {
					state := k.State(usecase.Now())
					if state != apikey.Active && !ended {
						continue
					}
					list = append(list, keyEntry{
						ID: k.ID, Name: k.Name, LastFour: k.LastFour, Scopes: k.Scopes.List(), CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt,
						RevokedAt: k.RevokedAt, LastUsedAt: k.LastUsedAt, State: state,
					})
				}
				return output.write(in.Stdout, list, func(table io.Writer) { writeKeys(table, list) })
			})
		},
	}
	output.add(cmd)
	cmd.Flags().BoolVar(&ended, "all", false, "list also revoked and expired keys")
	return cmd
}

func writeKeys(table io.Writer, list []keyEntry) {
	access := map[string]string{"": "full", string(apikey.ReadOnly): "read-only"}
	fmt.Fprintln(table, "ID\tNAME\tLAST FOUR\tACCESS\tCREATED\tEXPIRES\tREVOKED\tLAST USED\tSTATE")
	for _, k := range list {
		scopes := strings.Join(k.Scopes, ",")
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, printable(k.Name), k.LastFour, cmp.Or(access[scopes], scopes),
			formatTime(&k.CreatedAt), formatTime(k.ExpiresAt), formatTime(k.RevokedAt), formatTime(k.LastUsedAt), k.State)
	}
}

// formatTime returns t in the format of RFC 3339, or - if it is nil.
func formatTime(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format(time.RFC3339)
}

func newKeysEdit(in *invocation) *cobra.Command {
	var id int64
	var name string
	var flags scopeFlags
	var scopes apikey.Scopes
	cmd := &cobra.Command{
		Use:   "edit ID",
		Short: "Change the name or the scopes of an API key",
		Long: `Change the name or the scopes of an API key, which stays the same for its client. New scopes
hold within one second.

` + scopesHelp,
		Example: `  petstore keys edit 7 --name till-2
  petstore keys edit 7 --scope pets:read,pets:write`,
		Args: func(cmd *cobra.Command, args []string) (err error) {
			scopes, err = flags.value()
			if err == nil && name == "" && scopes == "" {
				err = errors.New("add --name, --scope or --read-only")
			}
			return cmp.Or(err, keyIDArg(&id)(cmd, args))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.withKeys(cmd.Context(), func(keys *usecase.Keys) error {
				if err := keys.Edit(cmd.Context(), id, name, scopes); err != nil {
					return err
				}
				return in.printResult("the API key %d is changed", id)
			})
		},
	}
	addNameFlag(cmd, &name)
	flags.add(cmd, "")
	return cmd
}

func newKeysRotate(in *invocation) *cobra.Command {
	var id int64
	overlap := 24 * time.Hour
	cmd := &cobra.Command{
		Use:   "rotate ID",
		Short: "Create a replacement for an API key and print it",
		Long: `Create an API key with the name, the lifetime and the scopes of another, which it
replaces, and print it on standard output. It is shown only once. The old key is revoked
after the overlap. Standard error says when, and the id of the new key.`,
		Example: `  petstore keys rotate 7                # both keys work for a day
  petstore keys rotate 7 --overlap 0s   # the old key is revoked immediately`,
		Args: keyIDArg(&id), PreRunE: in.checkKeyOutput,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return in.withKeys(ctx, func(keys *usecase.Keys) error {
				secret, err := keys.Rotate(ctx, id, overlap)
				return in.printKey(ctx, keys, id, secret, err)
			})
		},
	}
	cmd.Flags().Func("overlap", "revoke the old key after `DURATION`, such as 24h or 7d (default 24h)", durationFlag(&overlap, 0))
	return cmd
}

func newKeysRevoke(in *invocation) *cobra.Command {
	var id int64
	return &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke an API key permanently",
		Example: "  petstore keys revoke 7",
		Args:    keyIDArg(&id),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.withKeys(cmd.Context(), func(keys *usecase.Keys) error {
				if err := keys.Revoke(cmd.Context(), id); err != nil {
					return err
				}
				return in.printResult("the API key %d is revoked", id)
			})
		},
	}
}

// withKeys calls fn with the API keys of the store.
func (in *invocation) withKeys(ctx context.Context, fn func(*usecase.Keys) error) error {
	return in.withStore(ctx, mustExist, func(store *repository.Store) error {
		return fn(usecase.NewKeys(store, store.Keys(), usecase.Now))
	})
}

// checkKeyOutput is the PreRunE of a command that prints a new key. It returns an error if the output, and so the key,
// would be lost.
func (in *invocation) checkKeyOutput(*cobra.Command, []string) error {
	return in.checkStdout(", so the key would be lost: redirect it to a terminal, a file or a pipe")
}

// printKey prints the secret of a new key, and reports its id on standard error. replaced is the id of the key that the
// new key replaces, or 0. If there is such a key, printKey also reports when it is revoked. If err is not nil, printKey
// only returns err.
func (in *invocation) printKey(ctx context.Context, keys *usecase.Keys, replaced int64, secret string, err error) error {
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(in.Stdout, secret); err != nil {
		return serve.KeyNotPrinted(err)
	}
	all, err := keys.List(ctx)
	if err != nil { // not returned: the key is printed, and a script would create another after a failed command
		in.report("the id of the new API key is unknown (%v): it is the last one that petstore keys list shows", err)
	}
	revocation := ""
	for _, key := range all { // the new key is the last, so revocation is set by then
		if key.ID == replaced {
			revocation = fmt.Sprintf("; the old one, %d, is revoked at %s", key.ID, formatTime(key.RevokedAt))
		}
		if hash, _ := apikey.HashOf(secret); key.Hash == hash {
			in.report("the new API key has the id %d%s", key.ID, revocation)
		}
	}
	return nil
}

// keyIDArg returns a cobra.PositionalArgs that requires one argument, the id of a key, and sets id to it. Its error
// does not repeat the argument, which may be a secret by mistake.
func keyIDArg(id *int64) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) (err error) {
		if err := oneArg("name the ID of an API key, which petstore keys list shows")(cmd, args); err != nil {
			return err
		}
		if *id, err = strconv.ParseInt(args[0], 10, 64); err != nil {
			return errors.New("the ID of an API key must be a number that petstore keys list shows")
		}
		return nil
	}
}

// durationFlag returns a function that sets d to the value of a flag. The value must be from minimum to apikey.MaxSpan.
func durationFlag(d *time.Duration, minimum time.Duration) func(string) error {
	return func(text string) error {
		parsed, err := config.ParseDuration(text)
		if err != nil {
			return errors.New("must be a duration such as 90d, 36h or 30m")
		}
		if parsed < minimum || parsed > apikey.MaxSpan {
			return fmt.Errorf("must be from %s to %dd", minimum, apikey.MaxSpan/day)
		}
		*d = parsed
		return nil
	}
}

const day = 24 * time.Hour
