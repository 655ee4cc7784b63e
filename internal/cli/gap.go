package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/run"
)

func (e *env) gaps() *cobra.Command {
	cmd := group("gap", "List occurrences that made no run", []string{"gaps"}, "belfry gap list", "belfry gap list --schedule nightly --from -7d")
	var l listing
	var f client.GapFilter
	ls := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List gaps, newest first: how many occurrences made no run, and why",
		Example: examples("belfry gap list --schedule nightly", "belfry gap list --reason too_old --from -7d -o json"),
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return e.listGaps(cmd.Context(), f, l) },
	}
	l.add(ls)
	ls.Flags().StringVar(&f.Schedule, "schedule", "", "of this schedule, by name or id")
	ls.Flags().StringVar(&f.Reason, "reason", "", "for this reason: "+strings.Join(run.Reasons(), ", "))
	ls.Flags().StringVar(&f.From, "from", "", "that reach to this instant or later")
	ls.Flags().StringVar(&f.To, "to", "", "that begin before")
	cmd.AddCommand(ls)
	return cmd
}

func (e *env) listGaps(ctx context.Context, f client.GapFilter, l listing) error {
	if f.Reason != "" {
		if err := known("--reason", []string{f.Reason}, run.Reasons()); err != nil {
			return err
		}
	}
	c, t, err := e.server()
	if err != nil {
		return err
	}
	if err := t.bounds(&f.From, &f.To); err != nil {
		return err
	}
	items, err := list(e, l, func(p client.Page) (client.List[client.Gap], error) {
		f.Page = p
		return c.Gaps(ctx, e.common.tenant, f)
	})
	if err != nil {
		return &failure{doing: "list gaps", cause: err}
	}
	a := answer{value: items, items: anys(items.Items), table: table{wide: 3, head: []string{"SCHEDULE", "REASON", "FIRST", "LAST", "COUNT", "OPEN", "POLICY", "RUN", "ID"}}}
	for _, g := range items.Items {
		open := ""
		if g.Open {
			open = "open"
		}
		a.names = append(a.names, g.ID)
		a.table.rows = append(a.table.rows, []string{g.Schedule, g.Reason, t.print(g.First.Time), t.print(g.Last.Time), fmt.Sprint(g.Count), open, g.Policy, g.RunID, g.ID})
	}
	return e.print(a)
}
