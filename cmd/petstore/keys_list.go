package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
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
	CreatedAt  time.Time       `json:"createdAt"`
	ExpiresAt  *time.Time      `json:"expiresAt"`
	RevokedAt  *time.Time      `json:"revokedAt"`
	LastUsedAt *time.Time      `json:"lastUsedAt"`
	State      domain.KeyState `json:"state"`
}

func newKeysList(in *invocation) *cobra.Command {
	write := writeTable
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the API keys, without their secrets",
		Example: "  petstore keys list --output json",
		Long: `List the API keys with their id, name, last four characters, times in UTC and state. The
time of the revocation is in the future while both keys of a rotation work. The time of
the last use is accurate to about a minute.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.withKeys(cmd.Context(), mustExist, func(keys *usecase.Keys) error {
				all, err := keys.List(cmd.Context())
				if err != nil {
					return err
				}
				return write(in.stdout, keyEntries(all, clock()))
			})
		},
	}
	cmd.Flags().Func("output", "print the list as `FORMAT`, table or json (default table)", func(format string) error {
		switch format {
		case "table":
			write = writeTable
		case "json":
			write = writeJSON
		default:
			return errors.New("must be table or json")
		}
		return nil
	})
	return cmd
}

// keyEntries returns the entries of keys at the time now.
func keyEntries(keys []domain.APIKey, now time.Time) []keyEntry {
	list := make([]keyEntry, len(keys))
	for i, k := range keys {
		list[i] = keyEntry{
			ID: k.ID, Name: k.Name, LastFour: k.LastFour, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt,
			RevokedAt: k.RevokedAt, LastUsedAt: k.LastUsedAt, State: k.State(now),
		}
	}
	return list
}

func writeJSON(out io.Writer, list []keyEntry) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(list)
}

func writeTable(out io.Writer, list []keyEntry) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tLAST FOUR\tCREATED\tEXPIRES\tREVOKED\tLAST USED\tSTATE")
	for _, k := range list {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Name, k.LastFour,
			formatTime(&k.CreatedAt), formatTime(k.ExpiresAt), formatTime(k.RevokedAt), formatTime(k.LastUsedAt), k.State)
	}
	return table.Flush()
}

// formatTime returns t in the format of RFC 3339, or - if it is nil.
func formatTime(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format(time.RFC3339)
}
