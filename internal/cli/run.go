package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

func (e *env) runs() *cobra.Command {
	cmd := group("run", "List and look at runs", []string{"runs", "r"}, "belfry run list --schedule nightly", "belfry run logs run_01arz3ndektsv4rrffq69g5fav")
	var follow bool
	var delivery int
	logs := &cobra.Command{
		Use: "logs ID", Aliases: []string{"log"}, Short: "Print what a run has written",
		Example: examples("belfry run logs run_01arz3ndektsv4rrffq69g5fav", "belfry run logs run_01arz3ndektsv4rrffq69g5fav --follow"),
		Args:    argument("a run's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.runLogs(cmd.Context(), args[0], client.OutputQuery{Follow: follow, Delivery: delivery})
		},
	}
	logs.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run has ended")
	logs.Flags().IntVar(&delivery, "delivery", 0, "which delivery of a run that was delivered again; default the last")
	get := &cobra.Command{
		Use: "get ID", Short: "Show one run and its deliveries",
		Example: examples("belfry run get run_01arz3ndektsv4rrffq69g5fav", "belfry run get run_01arz3ndektsv4rrffq69g5fav -o json"),
		Args:    argument("a run's id"),
		RunE:    func(cmd *cobra.Command, args []string) error { return e.getRun(cmd.Context(), args[0]) },
	}
	cmd.AddCommand(e.runList(), get, logs, e.runWait())
	return cmd
}

func (e *env) runList() *cobra.Command {
	var l listing
	var f client.RunFilter
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List runs, newest due first",
		Example: examples("belfry run list --schedule nightly --status failed,dead_letter", "belfry run list --from -1d --all -o jsonl"),
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return e.listRuns(cmd.Context(), f, l) },
	}
	l.add(cmd)
	cmd.Flags().StringVar(&f.Schedule, "schedule", "", "of this schedule, by name or id")
	cmd.Flags().StringSliceVar(&f.Statuses, "status", nil, "in these statuses: "+strings.Join(run.Statuses(), ", "))
	cmd.Flags().StringVar(&f.Kind, "kind", "", "of this kind, such as scheduled")
	cmd.Flags().StringVar(&f.From, "from", "", "due at or after")
	cmd.Flags().StringVar(&f.To, "to", "", "due before")
	return cmd
}

func (e *env) listRuns(ctx context.Context, f client.RunFilter, l listing) error {
	if err := known("--status", f.Statuses, run.Statuses()); err != nil {
		return err
	}
	if f.Kind != "" {
		if err := known("--kind", []string{f.Kind}, run.Kinds()); err != nil {
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
	items, err := list(e, l, func(p client.Page) (client.List[client.Run], error) {
		f.Page = p
		return c.Runs(ctx, e.common.tenant, f)
	})
	if err != nil {
		return &failure{doing: "list runs", cause: err}
	}
	a := answer{value: items, items: anys(items.Items), table: table{wide: 5,
		head: []string{"ID", "SCHEDULE", "DUE", "STATUS", "STARTED", "TOOK", "LATE", "EXIT", "KIND", "ATTEMPT", "DELIVERIES", "NODE", "KEY"}}}
	for _, r := range items.Items {
		a.names = append(a.names, r.ID)
		a.table.rows = append(a.table.rows, runRow(r, t))
	}
	return e.print(a)
}

func runRow(r client.Run, t times) []string {
	took, late, exit := "", "", ""
	if r.StartedAt != nil && r.FinishedAt != nil {
		took = schedule.FormatDuration(r.FinishedAt.Sub(r.StartedAt.Time).Round(time.Millisecond))
	}
	if r.LatenessMS != nil {
		late = schedule.FormatDuration(time.Duration(*r.LatenessMS * float64(time.Millisecond)).Round(time.Millisecond))
	}
	if r.ExitCode != nil {
		exit = fmt.Sprint(*r.ExitCode)
	}
	return []string{r.ID, r.Schedule, t.print(r.Due.Time), r.Status, t.printPointer(r.StartedAt), took, late, exit, r.Kind,
		fmt.Sprintf("%d/%d", r.Attempt, r.MaxAttempts), fmt.Sprint(r.Deliveries), r.Node, r.Key}
}

func (e *env) getRun(ctx context.Context, id string) error {
	c, t, err := e.server()
	if err != nil {
		return err
	}
	r, err := c.Run(ctx, e.common.tenant, id)
	if err != nil {
		return &failure{doing: "get run " + id, cause: err, try: "belfry run list"}
	}
	a := answer{value: r, names: []string{r.ID}}
	if e.common.output == "table" || e.common.output == "wide" {
		attempts, err := c.Attempts(ctx, e.common.tenant, id)
		if err != nil {
			return &failure{doing: "list the attempts of " + id, cause: err}
		}
		a.table.text = runText(r, attempts, t)
	}
	return e.print(a)
}

func runText(r client.Run, attempts client.Attempts, t times) string {
	var b strings.Builder
	line := func(key, value string) { fmt.Fprintf(&b, "%-12s %s\n", key, printable(value)) }
	line("id", r.ID)
	line("schedule", fmt.Sprintf("%s, revision %d", r.Schedule, r.ScheduleRevision))
	line("key", r.Key)
	line("status", strings.TrimSpace(r.Status+" "+r.Reason))
	line("due", t.print(r.Due.Time))
	line("started", t.printPointer(r.StartedAt))
	line("finished", t.printPointer(r.FinishedAt))
	row := runRow(r, t)
	line("late", row[6])
	line("exit", row[7])
	line("attempt", fmt.Sprintf("%d of %d; deliveries: %d", r.Attempt, r.MaxAttempts, r.Deliveries))
	line("output", fmt.Sprintf("%d bytes%s", r.Output.Bytes, map[bool]string{true: ", cut"}[r.Output.Truncated]))
	if m := r.Misfire; m != nil {
		line("misfire", fmt.Sprintf("%s, for %d more that were late %s", m.Policy, m.Superseded, m.GapID))
	}
	if f := r.Error; f != nil {
		line("error", f.Code+" "+f.Message)
		if f.Remedy != "" {
			line("remedy", f.Remedy)
		}
	}
	for _, a := range attempts.Items {
		line(fmt.Sprintf("delivery %d", a.N), fmt.Sprintf("%s, %s to %s, %s", a.Outcome, t.printPointer(a.StartedAt), t.printPointer(a.FinishedAt), a.Node))
	}
	for _, h := range attempts.History {
		line("history", fmt.Sprintf("%s: %s to %s %s", t.print(h.At.Time), h.From, h.To, h.Note))
	}
	return b.String()
}

func (e *env) runLogs(ctx context.Context, id string, q client.OutputQuery) error {
	if q.Delivery < 0 {
		return usage("", "--delivery is %d; it must be at least 1, or 0 for the last", q.Delivery)
	}
	c, err := e.connect()
	if err != nil {
		return err
	}
	r, err := c.Run(ctx, e.common.tenant, id)
	if err == nil && q.Delivery > r.Deliveries {
		return &failure{code: exitNotFound, doing: "read the output of " + id, try: "belfry run get " + id,
			cause: fmt.Errorf("there is no delivery %d; the run was delivered %d times so far", q.Delivery, r.Deliveries)}
	}
	if err == nil {
		err = c.Output(ctx, e.common.tenant, id, q, e.stdout)
	}
	if err != nil {
		return &failure{doing: "read the output of " + id, cause: err, try: "belfry run list"}
	}
	switch {
	case r.Output.Truncated:
		e.note("the output was cut: %d bytes were written in all", r.Output.Bytes)
	case r.Output.Bytes == 0 && r.Final():
		e.note("the run wrote nothing (%s)", r.Status)
	case !r.Final() && !q.Follow:
		e.note("the run is %s; --follow goes on", r.Status)
	}
	return nil
}

func (e *env) runWait() *cobra.Command {
	var timeout time.Duration
	var propagate bool
	cmd := &cobra.Command{
		Use: "wait ID", Short: "Wait until a run has ended; exit 9 when it did not succeed, 8 when waiting took too long",
		Example: examples("belfry run wait run_01arz3ndektsv4rrffq69g5fav --timeout 5m", "belfry run wait run_01arz3ndektsv4rrffq69g5fav --propagate-exit"),
		Args:    argument("a run's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.waitRun(cmd.Context(), args[0], waiting{timeout, propagate})
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait; 0: for ever")
	cmd.Flags().BoolVar(&propagate, "propagate-exit", false, "exit as the run's command did, instead of 9")
	return cmd
}

type waiting struct {
	timeout   time.Duration
	propagate bool
}

func (e *env) waitRun(ctx context.Context, id string, w waiting) error {
	if w.timeout < 0 {
		return usage("", "--timeout must not be negative")
	}
	c, t, err := e.server()
	if err != nil {
		return err
	}
	bound := ctx
	if w.timeout > 0 {
		var cancel context.CancelFunc
		bound, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	r, err := c.Wait(bound, e.common.tenant, id)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &failure{code: exitTimeout, doing: "wait for " + id, cause: tooLong(fmt.Sprintf("it had not ended after %s (%s); it may still run", schedule.FormatDuration(w.timeout), first(r.Status, "not seen"))),
			try: "belfry run get " + id}
	case err != nil:
		return &failure{doing: "wait for " + id, cause: err, try: "belfry run list"}
	}
	if err := e.print(answer{value: r, names: []string{r.ID}, table: table{
		head: []string{"ID", "SCHEDULE", "DUE", "STATUS", "STARTED", "TOOK", "LATE", "EXIT"}, rows: [][]string{runRow(r, t)}}}); err != nil {
		return err
	}
	if r.Status == "succeeded" {
		return nil
	}
	f := &failure{code: exitRunFailed, doing: fmt.Sprintf("run %s ended %s", id, r.Status), cause: errors.New(reasonOf(r)), try: "belfry run logs " + id}
	if w.propagate && r.ExitCode != nil && *r.ExitCode != 0 {
		f.code = *r.ExitCode
	}
	return f
}

// tooLong is a deadline that has passed, in words for people.
type tooLong string

func (t tooLong) Error() string { return string(t) }

func (tooLong) Is(target error) bool { return target == context.DeadlineExceeded }

func reasonOf(r client.Run) string {
	if r.Error != nil {
		return strings.TrimSpace(r.Error.Code + " " + r.Error.Message)
	}
	return first(r.Reason, "it did not succeed")
}
