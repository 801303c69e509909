package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/domain"
	"example.com/petstore/usecase"
)

// A keyEntry is a key in the list. Scripts depend on its JSON names.
type keyEntry struct {
	ID         int64           `json:"id"`
	Name       string          `json:"name"`
	LastFour   string          `json:"lastFour"`
	ReadOnly   bool            `json:"readOnly"`
	CreatedAt  time.Time       `json:"createdAt"`
	ExpiresAt  *time.Time      `json:"expiresAt"`
	RevokedAt  *time.Time      `json:"revokedAt"`
	LastUsedAt *time.Time      `json:"lastUsedAt"`
	State      domain.KeyState `json:"state"`
}

func newKeysList(in *invocation) *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the API keys, without their secrets",
		Example: "  petstore keys list --output json",
		Long: `List the API keys with their id, name, last four characters, access (full or read-only),
times in UTC and state. The time of the revocation is in the future while both keys of a
rotation work. The time of the last use is accurate to about a minute.

With --output json it prints an array of objects with the members id, name, lastFour,
readOnly, createdAt, expiresAt, revokedAt, lastUsedAt and state. A time may be null, state is
active, expired or revoked.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.withKeys(cmd.Context(), mustExist, func(keys *usecase.Keys) error {
				all, err := keys.List(cmd.Context())
				if err != nil {
					return err
				}
				list := keyEntries(all, clock())
				return output.write(in.Stdout, list, func(table io.Writer) { writeKeys(table, list) })
			})
		},
	}
	output.add(cmd)
	return cmd
}

// keyEntries returns the entries of keys at the time now.
func keyEntries(keys []domain.APIKey, now time.Time) []keyEntry {
	list := make([]keyEntry, len(keys))
	for i, k := range keys {
		list[i] = keyEntry{
			ID: k.ID, Name: k.Name, LastFour: k.LastFour, ReadOnly: k.ReadOnly, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt,
			RevokedAt: k.RevokedAt, LastUsedAt: k.LastUsedAt, State: k.State(now),
		}
	}
	return list
}

func writeKeys(table io.Writer, list []keyEntry) {
	access := map[bool]string{false: "full", true: "read-only"}
	fmt.Fprintln(table, "ID\tNAME\tLAST FOUR\tACCESS\tCREATED\tEXPIRES\tREVOKED\tLAST USED\tSTATE")
	for _, k := range list {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, printable(k.Name), k.LastFour, access[k.ReadOnly],
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
