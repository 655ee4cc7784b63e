package sqlstore_test

import (
	"database/sql"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/sqlstore"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/sqlite"
	"github.com/belfryhq/belfry/store/storetest"
	"github.com/belfryhq/belfry/timeline"
)

var start = time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC)

// Finished and future rows cost nothing, so no statement may read a table that grows from end to end. The plans
// are SQLite's; what makes them possible are indexes that every database has.
func TestNoStatementWalksATableThatGrows(t *testing.T) {
	t.Parallel()
	clk := storetest.NewClock(start)
	path := filepath.Join(t.TempDir(), "belfry.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clk, Poll: -1,
		Count: func(_ schedule.ID, _ []byte, from, to time.Time) (int, time.Time, time.Time) { return 1, from, from }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := player{T: t, Store: s, clk: clk}
	p.play()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	statements := sqlstore.Statements(s.Store)
	if len(statements) < 45 {
		t.Errorf("only %d statements were prepared: the play does not reach them all", len(statements))
	}
	for _, query := range sqlstore.Reads() {
		statements = append(statements, query)
	}
	for _, query := range statements {
		for _, step := range plan(t, db, query, nil) {
			if walks(step) && !mayWalk(query) {
				t.Errorf("%s\n\twalks: %s", query, step)
			}
		}
	}
}

// small tables hold a row for each process, shard or backlog, and migrations are read once.
var scan = regexp.MustCompile(`^SCAN (\w+)( USING INDEX (\w+))?`)

func walks(step string) bool {
	m := scan.FindStringSubmatch(step)
	if m == nil {
		return false
	}
	switch m[1] {
	case "belfry_migrations", "belfry_nodes", "belfry_arrears", "n", "planned", "others", "CONSTANT":
		return false
	}
	switch m[3] {
	case "belfry_gaps_time": // in the order asked for, up to the page's limit
		return false
	}
	return true
}

// mayWalk lists what has to look at everything.
func mayWalk(query string) bool {
	for part, why := range map[string]string{
		"WHERE s.origin = ? AND s.name_live IS NOT NULL": "Apply compares a whole declared set",
		"WHERE g.is_open = 0 AND g.last_at >= ?":         "Correct happens when a clock was wrong by hours",
		"UPDATE belfry_schedules SET pin_opened_at":      "so does this",
		"UPDATE belfry_schedules SET pin_at = ? WHERE":   "and this",
		"WHERE s.changed_at > ?":                         "and this",
	} {
		if strings.Contains(query, part) && why != "" {
			return true
		}
	}
	return false
}

func plan(t *testing.T, db *sql.DB, query string, args []any) (steps []string) {
	t.Helper()
	if args == nil {
		args = make([]any, strings.Count(query, "?"))
	}
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	return steps
}

func TestListingsUseTheIndexThatHasTheirOrderOrTheirFewRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "belfry.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Count: func(schedule.ID, []byte, time.Time, time.Time) (n int, a, b time.Time) { return }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, c := range []struct {
		q    store.RunQuery
		want []string
	}{
		{store.RunQuery{}, []string{"belfry_runs_due"}},
		{store.RunQuery{From: start, To: start}, []string{"belfry_runs_due (due_at>? AND due_at<?)"}},
		{store.RunQuery{Schedule: schedule.ID{1}}, []string{"belfry_runs_occurrence (schedule_id=?", "belfry_runs_other (schedule_id=?"}},
		{store.RunQuery{Statuses: []run.Status{run.Running}}, []string{"belfry_runs_lease"}},
		{store.RunQuery{Statuses: []run.Status{run.Pending, run.RetryScheduled}}, []string{"belfry_runs_ready"}},
		{store.RunQuery{Statuses: []run.Status{run.Failed, run.DeadLetter}}, []string{"belfry_runs_unwell"}},
	} {
		query, args := sqlstore.RunsQuery(c.q)
		steps := strings.Join(plan(t, db, query, args), "\n")
		for _, index := range c.want {
			if !strings.Contains(steps, index) {
				t.Errorf("%+v does not use %s:\n%s", c.q, index, steps)
			}
		}
	}
}

// player does everything once that a store can be asked to write.
type player struct {
	*testing.T
	*sqlite.Store
	clk  *storetest.Clock
	made byte
}

func (p *player) id() (id [16]byte) {
	p.made++
	id[15] = p.made
	return id
}

func (p *player) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *player) play() {
	p.Helper()
	ids := p.declare("a", "b", "c")
	p.declare("a", "b")
	claim := timeline.Claim{Token: "p", Epoch: 1, Nonce: "0", CoveredUntil: start}
	_, err := p.For(0).Swap(p.Context(), nil, claim)
	p.must(err)
	p.must(p.Beat(p.Context(), store.Node{ID: run.NodeID{1}}, time.Minute))
	p.must(p.Beat(p.Context(), store.Node{ID: run.NodeID{1}}, time.Minute))
	next := claim
	next.Nonce = "1"
	c := store.Commit{Old: claim, Next: next, Arrears: []store.Arrears{{From: start, To: start, OpenedAt: start}}}
	for i, id := range []schedule.ID{ids["a"], ids["b"]} {
		runs := make([]run.Run, 6)
		for k := range runs {
			due := start.Add(time.Duration(k) * time.Second)
			runs[k] = run.Run{ID: p.id(), Schedule: id, Revision: 1, Kind: run.Scheduled, Status: run.Pending, Due: due, ReadyAt: due, Pool: "default",
				MaxAttempts: 2, MaxDeliveries: 5}
			if i == 1 {
				runs[k].LockKey, runs[k].Overlap = "lock", schedule.OverlapSkip
			}
		}
		c.Plans = append(c.Plans, store.Plan{Schedule: id, Change: 1, From: start, Runs: runs, Unpin: i == 0, Pin: []time.Time{{}, start}[i], Quarantine: "why",
			Gaps: []run.Gap{{ID: p.id(), Schedule: id, Revision: 1, Reason: run.Missed, First: start.Add(-time.Hour), Last: start.Add(time.Hour)}}})
	}
	c.Plans = append(c.Plans, store.Plan{Schedule: ids["a"], Change: 9, From: start})
	_, err = p.Commit(p.Context(), c)
	p.must(err)
	p.work()
	p.must(p.Correct(p.Context(), 0, next, timeline.Claim{Token: "p", Epoch: 2, Nonce: "2"}, start))
	_, err = p.Pause(p.Context(), ids["a"], schedule.Pause{})
	p.must(err)
	_, err = p.Resume(p.Context(), ids["a"], "", true)
	p.must(err)
	_, err = p.Pause(p.Context(), ids["a"], schedule.Pause{})
	p.must(err)
	_, err = p.Resume(p.Context(), ids["a"], "", false)
	p.must(err)
	p.clk.Step(time.Hour)
	p.declare("a", "b", "d")
	p.clk.Step(-time.Hour)
	p.declare() // which first pulls them back
}

// work takes runs and ends them in every way.
func (p *player) work() {
	p.Helper()
	p.clk.Advance(4 * time.Second)
	ask := store.Take{Node: run.NodeID{1}, Pools: []store.PoolRoom{{Pool: "default", Free: 50}}, Ahead: time.Second}
	taken, err := p.Take(p.Context(), ask)
	p.must(err)
	held := make([]store.Held, len(taken.Runs))
	for i, r := range taken.Runs {
		held[i] = store.Held{Run: r.ID, Fence: r.Fence}
	}
	if len(held) < 6 || len(taken.Skipped) == 0 {
		p.Fatalf("took %d, skipped %d", len(held), len(taken.Skipped))
	}
	_, err = p.Start(p.Context(), []store.Started{{Held: held[0], At: start}, {Held: held[0], At: start}})
	p.must(err)
	p.must(p.Store.Output(p.Context(), held[0], []store.Chunk{{Delivery: 1, Data: []byte("x")}}))
	_, err = p.Settle(p.Context(), run.NodeID{1}, []store.Outcome{
		{Held: held[0], Status: run.Failed, Answered: true, FinishedAt: start}, {Held: held[1], Status: run.Succeeded, Answered: true, FinishedAt: start},
		{Held: held[2], Status: run.RetryScheduled, Answered: true, ReadyAt: start}})
	p.must(err)
	p.must(p.Release(p.Context(), held[3:4]))
	_, err = p.Take(p.Context(), ask) // the released and the retried one, which were delivered before
	p.must(err)
	nodes := store.Node{ID: run.NodeID{1}}
	p.clk.Advance(2 * time.Minute)
	silent, err := p.Silent(p.Context())
	p.must(err)
	_, err = p.Recover(p.Context(), nodes.ID, silent[0].SeenAt, 100)
	p.must(err)
	p.must(p.Leave(p.Context(), nodes.ID))
}

func (p *player) declare(names ...string) map[string]schedule.ID {
	p.Helper()
	a := store.Apply{Origin: schedule.OriginFile}
	for _, name := range names {
		spec, err := schedule.Spec{Trigger: schedule.Trigger{Every: schedule.Duration(time.Minute)},
			Target: schedule.Target{Command: &schedule.Command{Argv: []string{name}}}}.Complete(schedule.Defaults{})
		p.must(err)
		a.Items = append(a.Items, schedule.Schedule{Name: name, Spec: spec, Labels: map[string]string{"n": string(p.made)}})
	}
	_, err := p.Apply(p.Context(), a)
	p.must(err)
	items, _, err := p.Schedules(p.Context(), store.ScheduleQuery{})
	p.must(err)
	ids := map[string]schedule.ID{}
	for _, item := range items {
		ids[item.Name] = item.ID
	}
	return ids
}
