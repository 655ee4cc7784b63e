package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/belfryhq/belfry/internal/app"
)

func (e *env) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say what this program is built of",
		Example: examples("belfry version", "belfry version -o json"),
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := app.Version(cmd.Context(), e.build)
			return e.print(answer{value: v, names: []string{v.Version}, table: table{text: fmt.Sprintf(
				"belfry %s\ncommit  %s\ngo      %s\ntzdata  %s\nsqlite  %s\n", v.Version, first(v.Commit, "unknown"), v.Go, v.TZData, v.SQLite)}})
		},
	}
}
