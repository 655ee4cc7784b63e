package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfryhq/belfry/client"
)

// listing are the flags of every command that lists.
type listing struct {
	limit int
	all   bool
}

func (l *listing) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&l.limit, "limit", 50, "items to list at most")
	cmd.Flags().BoolVar(&l.all, "all", false, "list everything")
}

// list collects pages up to the limit, and tells when there is more. The token of the next page is only told for what
// stops at the end of a page.
func list[T any](e *env, l listing, read func(client.Page) (client.List[T], error)) (client.List[T], error) {
	if l.limit < 1 {
		return client.List[T]{}, usage("", "--limit is %d; it must be at least 1", l.limit)
	}
	limit := l.limit
	if l.all {
		limit = 0
	}
	token := ""
	items, err := client.All(func(after string) (client.List[T], error) {
		p := client.Page{Token: after, Size: 1000}
		if limit > 0 {
			p.Size = min(limit, 1000)
		}
		page, err := read(p)
		token = page.NextPageToken
		return page, err
	}, limit)
	if limit > 0 && token != "" {
		e.cut("only the first %d are listed; --all lists everything", len(items))
	}
	return client.List[T]{Items: items, NextPageToken: token}, err
}

// cut says that a list was cut, also to a program that reads lines: their format has no place for the next page's token.
func (e *env) cut(format string, args ...any) {
	if e.common.output == "jsonl" && !e.common.quiet {
		fmt.Fprintf(e.stderr, format+"\n", args...)
		return
	}
	e.note(format, args...)
}

func (e *env) schedules() *cobra.Command {
	cmd := group("schedule", "List and look at schedules", []string{"schedules", "s"}, "belfry schedule list", "belfry schedule get nightly")
	var l listing
	ls := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the schedules by name",
		Example: examples("belfry schedule list", "belfry schedule list -o json"),
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return e.listSchedules(cmd.Context(), l) },
	}
	l.add(ls)
	get := &cobra.Command{
		Use: "get NAME", Short: "Show one schedule: what it is, how it stands, and what may surprise about it",
		Example: examples("belfry schedule get nightly", "belfry schedule get nightly -o yaml"),
		Args:    argument("a schedule's name"),
		RunE:    func(cmd *cobra.Command, args []string) error { return e.getSchedule(cmd.Context(), args[0]) },
	}
	var from, to string
	var n int
	next := &cobra.Command{
		Use: "next NAME", Short: "List the coming occurrences of one schedule",
		Example: examples("belfry schedule next nightly -n 5", "belfry schedule next nightly --from now --to +30d -o json"),
		Args:    argument("a schedule's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("count") && n < 1 {
				return usage("", "-n is %d; it must be at least 1", n)
			}
			return e.scheduleNext(cmd.Context(), dueQuery{args[0], from, to, n})
		},
	}
	next.Flags().StringVar(&from, "from", "", "first instant that may be listed; default now")
	next.Flags().StringVar(&to, "to", "", "end, itself not listed")
	next.Flags().IntVarP(&n, "count", "n", 0, "occurrences to list; default 10, with --to 10,000")
	cmd.AddCommand(ls, get, next)
	return cmd
}

func (e *env) listSchedules(ctx context.Context, l listing) error {
	c, t, err := e.server()
	if err != nil {
		return err
	}
	items, err := list(e, l, func(p client.Page) (client.List[client.Schedule], error) {
		return c.Schedules(ctx, e.common.tenant, p)
	})
	if err != nil {
		return &failure{doing: "list schedules", cause: err}
	}
	a := answer{value: items, items: anys(items.Items), table: table{head: []string{"NAME", "STATE", "NEXT", "LAST", "WHEN", "REVISION", "ORIGIN", "ID"}, wide: 3}}
	for _, s := range items.Items {
		last := "-"
		if s.Status.LastRun != nil {
			last = s.Status.LastRun.Status
		}
		a.names = append(a.names, s.Metadata.Name)
		a.table.rows = append(a.table.rows, []string{s.Metadata.Name, s.Status.State, t.printPointer(s.Status.NextDue), last,
			s.Status.Description, fmt.Sprint(s.Metadata.Revision), s.Metadata.Origin, s.Metadata.ID})
	}
	return e.print(a)
}

// server connects and reads the flags about time, as every command does that asks a server.
func (e *env) server() (*client.Client, times, error) {
	t, err := e.times()
	if err != nil {
		return nil, t, err
	}
	c, err := e.connect()
	return c, t, err
}

// printPointer prints an instant that may be missing.
func (t times) printPointer(at *client.Time) string {
	if at == nil {
		return "-"
	}
	return t.print(at.Time)
}

func (e *env) getSchedule(ctx context.Context, name string) error {
	c, t, err := e.server()
	if err != nil {
		return err
	}
	s, err := c.Schedule(ctx, e.common.tenant, name)
	if err != nil {
		return &failure{doing: "get schedule " + name, cause: err, try: "belfry schedule list"}
	}
	var b strings.Builder
	line := func(key, value string) { fmt.Fprintf(&b, "%-14s %s\n", key, printable(value)) }
	line("name", s.Metadata.Name)
	line("id", s.Metadata.ID)
	line("when", s.Status.Description)
	line("state", strings.TrimSpace(s.Status.State+" "+s.Status.Reason))
	line("next due", t.printPointer(s.Status.NextDue))
	if last := s.Status.LastRun; last != nil {
		line("last run", fmt.Sprintf("%s, due %s, %s", last.Status, t.print(last.Due.Time), last.ID))
	}
	line("covered until", t.printPointer(s.Status.CoveredUntil))
	line("origin", s.Metadata.Origin)
	line("revision", fmt.Sprintf("%d, by %s at %s", s.Metadata.Revision, s.Metadata.UpdatedBy, t.print(s.Metadata.UpdatedAt.Time)))
	if p := s.Status.Paused; p != nil {
		line("paused", fmt.Sprintf("since %s by %s", t.print(p.At.Time), p.By))
	}
	if len(s.Status.Warnings) > 0 {
		b.WriteString("\nWarnings:\n")
	}
	writeWarnings(&b, s.Status.Warnings)
	return e.print(answer{value: s, names: []string{s.Metadata.Name}, table: table{text: b.String()}})
}

type dueQuery struct {
	name, from, to string
	n              int
}

func (e *env) scheduleNext(ctx context.Context, q dueQuery) error {
	c, t, err := e.server()
	if err != nil {
		return err
	}
	if err := t.bounds(&q.from, &q.to); err != nil {
		return err
	}
	due, err := c.Due(ctx, e.common.tenant, q.name, q.from, q.to, q.n)
	if err != nil {
		return &failure{doing: "list the occurrences of " + q.name, cause: err, try: "belfry schedule list"}
	}
	a := answer{value: due, items: anys(due.Occurrences), names: due.Occurrences, table: table{head: []string{"DUE", "DAY", "UTC"}}}
	for _, text := range due.Occurrences {
		a.table.rows = append(a.table.rows, []string{t.occurrence(text), weekday(text), utc(text)})
	}
	if due.State != "active" {
		e.note("%s is %s: none of these will run while it is", due.Schedule, due.State)
	}
	if due.Truncated {
		e.cut("the list was cut after %d", len(due.Occurrences))
	}
	return e.print(a)
}

// occurrence prints an instant that the server wrote in the schedule's zone: so, unless the flags ask for another form.
func (t times) occurrence(text string) string {
	if at, err := time.Parse(time.RFC3339, text); err == nil && (t.named || t.style != "absolute") {
		return t.print(at)
	}
	return text
}

func (e *env) next() *cobra.Command {
	var n int
	cmd := &cobra.Command{
		Use: "next", Short: "List what is due next over all schedules",
		Example: examples("belfry next", "belfry next -n 5 -o json"),
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, t, err := e.server()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("count") && n < 1 {
				return usage("", "-n is %d; it must be at least 1", n)
			}
			items, err := c.Next(cmd.Context(), e.common.tenant, n)
			if err != nil {
				return &failure{doing: "list what is due next", cause: err}
			}
			return e.print(nextAnswer(items, t))
		},
	}
	cmd.Flags().IntVarP(&n, "count", "n", 0, "schedules to list; default 50")
	return cmd
}

func nextAnswer(items client.List[client.Next], t times) answer {
	a := answer{value: struct {
		Items []client.Next `json:"items"`
	}{items.Items}, items: anys(items.Items), table: table{head: []string{"NEXT", "LEFT", "LAST", "PASSED", "NAME", "TARGET", "STATE", "ID"}, wide: 2}}
	for _, s := range items.Items {
		left, passed := "-", "-"
		if s.NextDue != nil {
			left = rough(max(s.NextDue.Sub(t.now), 0))
		}
		if s.LastDue != nil {
			passed = rough(max(t.now.Sub(s.LastDue.Time), 0))
		}
		a.names = append(a.names, s.Schedule)
		a.table.rows = append(a.table.rows, []string{t.printPointer(s.NextDue), left, t.printPointer(s.LastDue), passed, s.Schedule, s.Target, s.State, s.ScheduleID})
	}
	return a
}
