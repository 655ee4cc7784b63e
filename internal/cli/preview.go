package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/internal/app"
	"github.com/belfryhq/belfry/schedule"
)

func (e *env) preview() *cobra.Command {
	var req client.PreviewRequest
	cmd := &cobra.Command{
		Use:   "preview EXPR",
		Short: "Say what a cron expression means, when it is due next, and what daylight saving does to it",
		Example: examples(
			"belfry preview '30 2 * * *' --zone Europe/Berlin",
			"belfry preview '*/5 9-17 * * 1-5' --from 2027-03-01T00:00:00Z -n 20 -o json"),
		Args: argument("an expression"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Expr, req.TimeZone = args[0], e.common.zone
			return e.runPreview(cmd.Context(), req, cmd.Flags().Changed("count"))
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.From, "from", "", "first instant that may be listed; default now")
	f.StringVar(&req.To, "to", "", "end, itself not listed")
	f.IntVarP(&req.N, "count", "n", 0, "occurrences to list; default 10, with --to 10,000")
	f.BoolVar(&req.Seconds, "seconds", false, "six fields, the seconds in front")
	f.StringVar(&req.DSTGap, "dst-gap", "", "times that the clocks skip: shift or skip")
	f.StringVar(&req.DSTRepeat, "dst-repeat", "", "times that come twice: auto, first, last or both")
	f.StringVar(&req.Dialect, "dialect", "", "belfry, or cron to refuse what cron does not know")
	return cmd
}

func (e *env) runPreview(ctx context.Context, req client.PreviewRequest, counted bool) error {
	doing := fmt.Sprintf("preview %q", req.Expr)
	if counted && req.N < 1 {
		return &failure{code: exitInvalid, doing: doing, cause: fmt.Errorf("-n is %d; it must be at least 1", req.N)}
	}
	t, err := e.times()
	if err != nil {
		return err
	}
	if err := t.rewrite(&req.From, "--from"); err != nil {
		return err
	}
	if err := t.rewrite(&req.To, "--to"); err != nil {
		return err
	}
	var p client.Preview
	if e.common.server != "" {
		var c *client.Client
		if c, err = e.connect(); err == nil {
			p, err = c.Preview(ctx, e.common.tenant, req)
		}
	} else {
		p, err = app.Preview(req, t.now)
	}
	if err != nil {
		return &failure{doing: doing, cause: err}
	}
	return e.print(answer{value: p, items: anys(p.Occurrences), names: p.Occurrences, table: table{text: previewText(p)}})
}

// rewrite replaces what a person wrote for an instant by RFC 3339.
func (t times) rewrite(text *string, flag string) error {
	if *text == "" {
		return nil
	}
	at, err := t.parse(*text)
	if err != nil {
		return &failure{code: exitInvalid, doing: flag, cause: err}
	}
	*text = schedule.FormatInstant(at)
	return nil
}

// previewText is a preview for people: the sentence, the instants, the changes of the clocks, the warnings.
func previewText(p client.Preview) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n", p.Description, p.TimeZone)
	if p.Canonical != p.Expr {
		fmt.Fprintf(&b, "%s\n", p.Canonical)
	}
	b.WriteString("\n")
	rows := make([][]string, len(p.Occurrences))
	for i, text := range p.Occurrences {
		rows[i] = []string{text, weekday(text), utc(text)}
	}
	if len(rows) == 0 {
		b.WriteString("Nothing is due there.\n")
	} else {
		b.WriteString(table{head: []string{"DUE", "DAY", "UTC"}, rows: rows}.render(false))
	}
	if p.Truncated {
		fmt.Fprintf(&b, "… and more: the list was cut after %d\n", len(p.Occurrences))
	}
	if len(p.Transitions) > 0 {
		b.WriteString("\nClock changes:\n")
	}
	for _, t := range p.Transitions {
		day, from, _ := strings.Cut(t.LocalFrom, "T")
		_, to, _ := strings.Cut(t.LocalTo, "T")
		fmt.Fprintf(&b, "  %s, %s to %s: %s\n", day, from[:5], to[:5], t.Effect)
	}
	if len(p.Warnings) > 0 {
		b.WriteString("\nWarnings:\n")
	}
	writeWarnings(&b, p.Warnings)
	return b.String()
}

func writeWarnings(b *strings.Builder, list []client.Warning) {
	for _, w := range list {
		fmt.Fprintf(b, "  %s: %s\n", w.Code, w.Message)
		if w.Fix != "" {
			fmt.Fprintf(b, "    fix: %s\n", w.Fix)
		}
	}
}

// weekday and utc read an instant that the API printed with an offset.
func weekday(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	return at.Format("Mon")
}

func utc(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	return schedule.FormatInstant(at)
}
