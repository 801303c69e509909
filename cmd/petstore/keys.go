package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.com/petstore/repository"
	"example.com/petstore/usecase"
)

func newKeys(in *invocation) *cobra.Command {
	keys := &cobra.Command{Use: "keys", Short: "Issue API keys"}
	var name string
	create := &cobra.Command{
		Use:     "create --name NAME",
		Short:   "Issue an API key and print it, this once",
		Long:    "Issue an API key and print it, and nothing else, on standard output. It is shown this once: the store keeps only its hash.",
		Example: "  petstore keys create --name till-1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return in.withStore(cmd.Context(), func(store *repository.Store) error {
				secret, err := usecase.NewKeys(store, store.Keys(), clock).Create(cmd.Context(), name)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(in.stdout, secret)
				return err
			})
		},
	}
	create.Flags().StringVar(&name, "name", "", "whose key it is, for people: `NAME`")
	_ = create.MarkFlagRequired("name") // the flag of the line above exists
	keys.AddCommand(create)
	return keys
}
