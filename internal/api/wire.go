package api

import (
	"encoding/json"
	"time"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

func at(t time.Time) client.Time { return client.Time{Time: t} }

// unbuilt are the keys of a manifest that are refused unless they have their default, so that a shown spec has every key.
const unbuilt = `,"except":[],"queue_limit":100,"start_deadline":"0s","priority":0,"lease":"auto","single_flight_key":"","per_tenant":false,"sensitive":false}`

func wireSchedule(s control.Standing) (client.Schedule, error) {
	out := client.Schedule{
		Metadata: client.Metadata{
			Name: s.Name, Tenant: s.Tenant, ID: s.ID.String(), Origin: s.Origin.String(), Labels: orEmpty(s.Labels),
			Annotations: orEmpty(s.Annotations), Revision: s.Revision, CreatedAt: at(s.CreatedAt), CreatedBy: s.CreatedBy,
			UpdatedAt: at(s.UpdatedAt), UpdatedBy: s.UpdatedBy,
		},
		Spec: json.RawMessage("null"),
		Status: client.ScheduleStatus{
			State: s.State, Reason: s.Reason, Description: s.Description, NextDue: client.NewTime(s.NextDue),
			CoveredUntil: client.NewTime(s.CoveredUntil), Warnings: wireWarnings(s.Warnings),
		},
	}
	if s.Spec.TimeZone != "" { // an unreadable one is left zero
		spec, err := schedule.EncodeSpec(s.Spec)
		if err != nil {
			return out, err
		}
		out.Spec = append(spec[:len(spec)-1], unbuilt...)
	}
	if r := s.LastRun; r != nil {
		out.Status.LastRun = &client.LastRun{ID: r.ID.String(), Due: at(r.Due), Status: r.Status.String(), Short: r.Status.Short()}
	}
	if p := s.Pause; p != nil {
		out.Status.Paused = &client.Pause{At: at(p.At), By: p.By, Reason: p.Reason, Until: client.NewTime(p.Until)}
	}
	return out, nil
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func wireNext(s control.Standing) client.Next {
	out := client.Next{Schedule: s.Name, ScheduleID: s.ID.String(), NextDue: client.NewTime(s.NextDue), Target: control.TargetKind(s.Spec.Target), State: s.State}
	if s.LastRun != nil {
		out.LastDue = client.NewTime(s.LastRun.Due)
	}
	return out
}

// attempt numbers the execution that is in hand, as BELFRY_ATTEMPT does, or else the last one that gave an answer; 0
// before the first.
func attempt(r *run.Run) int {
	if r.Status == run.Running || r.Status == run.Claimed {
		return r.Attempt + 1
	}
	return r.Attempt
}

func wireRun(r control.Run) client.Run {
	out := client.Run{
		ID: r.ID.String(), Key: string(r.Key()), Kind: r.Kind.String(), Tenant: r.Tenant, Schedule: r.ScheduleName,
		ScheduleID: r.Schedule.String(), ScheduleRevision: r.Revision, Status: r.Status.String(), Reason: r.Reason,
		Short: r.Status.Short(), Due: at(r.Due), ReadyAt: client.NewTime(r.ReadyAt), CreatedAt: client.NewTime(r.CreatedAt),
		ClaimedAt: client.NewTime(r.ClaimedAt), StartedAt: client.NewTime(r.StartedAt), FinishedAt: client.NewTime(r.FinishedAt),
		LatenessMS: lateness(&r.Run), Attempt: attempt(&r.Run), MaxAttempts: r.MaxAttempts, Deliveries: r.Deliveries, Pool: r.Pool,
		LockKey: r.LockKey, Fence: r.Fence, Target: client.Target{Kind: r.Target}, ExitCode: r.ExitCode,
		Error: wireFailure(r.ErrorCode, r.Error), Output: client.Output{Bytes: r.OutputBytes, Truncated: r.OutputTruncated},
	}
	if r.Node != (run.NodeID{}) {
		out.Node = r.Node.String()
	}
	if m := r.Misfire; m != nil {
		out.Misfire = &client.Misfire{Policy: string(m.Policy), Superseded: m.Superseded, GapID: m.Gap}
	}
	return out
}

// lateness is how long after it became available a run started, in milliseconds to the microsecond.
func lateness(r *run.Run) *float64 {
	if r.StartedAt.IsZero() {
		return nil
	}
	from := r.Due
	if r.ReadyAt.After(from) {
		from = r.ReadyAt
	}
	ms := float64(r.StartedAt.Sub(from).Microseconds()) / 1000
	return &ms
}

// remedies say what to do about the codes that a run can fail with.
var remedies = map[string]string{
	"EXIT_CODE":      "look at its output, or allow the code with success_codes",
	"TIMEOUT":        "raise timeout, or make the command faster",
	"LOST_WORKER":    "its worker died or was stopped; on_lost: redeliver would run it again",
	"MAX_DELIVERIES": "its workers died again and again; look at what it does to its machine, or raise max_deliveries",
	"NO_WORKER":      "no living node serves its pool or its target",
	"CONNECT":        "the program could not be started; check the path and its permissions",
}

func wireFailure(code, message string) *client.Failure {
	if code == "" && message == "" {
		return nil
	}
	return &client.Failure{Code: code, Message: message, Remedy: remedies[code]}
}

func wireAttempts(attempts []run.Attempt, history []run.Event) client.Attempts {
	out := client.Attempts{Items: []client.Attempt{}, History: []client.Event{}}
	for _, a := range attempts {
		outcome := a.Outcome.String()
		if a.Outcome == run.Pending {
			outcome = "lost"
		}
		out.Items = append(out.Items, client.Attempt{
			N: a.N, Node: node(a.Node), Fence: a.Fence, StartedAt: client.NewTime(a.StartedAt), FinishedAt: client.NewTime(a.FinishedAt),
			Outcome: outcome, ExitCode: a.ExitCode, Error: wireFailure(a.ErrorCode, a.Error),
			Output: client.Output{Bytes: a.OutputBytes, Truncated: a.Truncated},
		})
	}
	for _, e := range history {
		out.History = append(out.History, client.Event{At: at(e.At), From: e.From.String(), To: e.To.String(), Node: node(e.Node), Note: e.Note})
	}
	return out
}

func node(id run.NodeID) string {
	if id == (run.NodeID{}) {
		return ""
	}
	return id.String()
}

func wireGap(g run.Gap) client.Gap {
	out := client.Gap{
		ID: g.ID.String(), Tenant: g.Tenant, Schedule: g.ScheduleName, ScheduleID: g.Schedule.String(), Reason: g.Reason.String(),
		First: at(g.First), Last: at(g.Last), Count: g.Count, Open: g.Open, Policy: string(g.Policy), CreatedAt: at(g.CreatedAt),
	}
	if g.Run != (run.ID{}) {
		out.RunID = g.Run.String()
	}
	return out
}

func wireExplanation(x control.Explanation) client.Explanation {
	out := client.Explanation{
		Schedule: x.Schedule.Name, ScheduleID: x.Schedule.ID.String(), At: at(x.At), Answer: x.Answer, Due: x.Due,
		Revision: x.Revision, Sentence: x.Sentence, CoveredUntil: client.NewTime(x.CoveredUntil),
		Before: neighbour(x.Before, x.Zone), After: neighbour(x.After, x.Zone),
	}
	if x.Run != nil {
		r := wireRun(*x.Run)
		out.Run = &r
	}
	if x.Gap != nil {
		g := wireGap(*x.Gap)
		out.Gap = &g
	}
	return out
}

func neighbour(t time.Time, zone *time.Location) *string {
	if t.IsZero() {
		return nil
	}
	text := local([]time.Time{t.In(zone)})[0]
	return &text
}

func wireNodes(i control.Installation) []client.Node {
	out := []client.Node{}
	for _, n := range i.Nodes {
		out = append(out, client.Node{ID: n.ID.String(), Host: n.Host, PID: n.PID, Version: n.Version, Roles: orNone(n.Roles),
			Pools: orNone(n.Pools), StartedAt: at(n.StartedAt), SeenAt: at(n.SeenAt)})
	}
	return out
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
