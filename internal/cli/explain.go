package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfryhq/belfry/schedule"
)

func (e *env) explain() *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use: "explain SCHEDULE --at T", Short: "Say what became of one instant of a schedule: the run, the gap, or why nothing was due",
		Example: examples("belfry explain nightly --at 2026-11-30T02:30:00Z", "belfry explain nightly --at 'yesterday 02:30' --zone Europe/Berlin"),
		Args:    argument("a schedule's name"),
		RunE:    func(cmd *cobra.Command, args []string) error { return e.runExplain(cmd.Context(), args[0], at) },
	}
	cmd.Flags().StringVar(&at, "at", "", "the instant")
	return cmd
}

func (e *env) runExplain(ctx context.Context, name, at string) error {
	if at == "" {
		return usage("belfry explain "+name+" --at now", "belfry explain needs an instant: --at T")
	}
	c, t, err := e.server()
	if err != nil {
		return err
	}
	instant, err := t.parse(at)
	if err != nil {
		return &failure{code: exitInvalid, doing: "--at", cause: err}
	}
	x, err := c.Explain(ctx, e.common.tenant, name, schedule.FormatInstant(instant))
	if err != nil {
		return &failure{doing: "explain " + name, cause: err, try: "belfry schedule list"}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s: %s\n", x.Schedule, t.print(x.At.Time), printable(x.Sentence))
	if x.Before != nil {
		fmt.Fprintf(&b, "  before  %s\n", t.occurrence(*x.Before))
	}
	if x.After != nil {
		fmt.Fprintf(&b, "  after   %s\n", t.occurrence(*x.After))
	}
	switch {
	case x.Run != nil:
		fmt.Fprintf(&b, "  belfry run get %s\n", x.Run.ID)
	case x.Gap != nil:
		fmt.Fprintf(&b, "  belfry gap list --schedule %s\n", x.Schedule)
	}
	return e.print(answer{value: x, names: []string{x.Answer}, table: table{text: b.String()}})
}
