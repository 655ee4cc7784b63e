package manifest

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/belfryhq/belfry/schedule"
)

// spec reads the keys of schedule.Spec. Zeroes stay zeroes: schedule.Complete fills the defaults.
func (r *reader) spec(pointer string, n *yaml.Node, s *schedule.Spec) bool {
	return r.mapping(pointer, n, []key{
		{"description", r.text(&s.Description)},
		{"trigger", func(at string, n *yaml.Node) { r.trigger(at, n, &s.Trigger) }},
		{"time_zone", r.text(&s.TimeZone)},
		{"shift", r.plain(&s.Shift)},
		{"spread", r.plain(&s.Spread)},
		{"starts_at", r.optional(&s.StartsAt)},
		{"ends_at", r.optional(&s.EndsAt)},
		{"max_occurrences", r.integer(&s.MaxCount, 0)},
		{"except", r.notYet(emptyList)},
		{"jitter", r.plain(&s.Jitter)},
		{"target", func(at string, n *yaml.Node) { r.target(at, n, &s.Target) }},
		{"misfire", word(r, &s.Misfire)},
		{"misfire_grace", r.duration(func(d schedule.Duration) { s.MisfireGrace = &d })},
		{"misfire_limit", r.integer(&s.MisfireLimit, 1)},
		{"misfire_keep", word(r, &s.MisfireKeep)},
		{"max_catchup_age", r.orNone(&s.MaxCatchupAge)},
		{"start_from", r.optional(&s.StartFrom)},
		{"overlap", word(r, &s.Overlap)},
		{"lock_key", r.text(&s.LockKey)},
		{"queue_limit", r.notYet(written("100"))},
		{"max_attempts", r.integer(&s.MaxAttempts, 1)},
		{"max_deliveries", r.integer(&s.MaxDeliveries, 1)},
		{"on_lost", word(r, &s.OnLost)},
		{"backoff", r.plain(&s.Backoff)},
		{"timeout", r.orNone(&s.Timeout)},
		{"start_deadline", r.notYet(noTime)},
		{"pool", r.text(&s.Pool)},
		{"priority", r.notYet(written("0"))},
		{"lease", r.notYet(written("auto"))},
		{"single_flight_key", r.notYet(written(""))},
		{"per_tenant", r.notYet(written("false"))},
		{"sensitive", r.notYet(written("false"))},
		{"paused", r.boolean(&s.Paused)},
	})
}

func emptyList(n *yaml.Node) bool { return n.Kind == yaml.SequenceNode && len(n.Content) == 0 }

func written(values ...string) func(*yaml.Node) bool {
	return func(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && slices.Contains(values, n.Value) }
}

func noTime(n *yaml.Node) bool {
	d, err := schedule.ParseDuration(n.Value)
	return n.Kind == yaml.ScalarNode && err == nil && d == 0
}

func (r *reader) trigger(pointer string, n *yaml.Node, t *schedule.Trigger) {
	r.mapping(pointer, n, []key{
		{"cron", func(at string, n *yaml.Node) {
			t.Cron = []string{}
			r.oneOrMore(func(at string, n *yaml.Node) {
				var text string
				r.text(&text)(at, n)
				t.Cron = append(t.Cron, text)
			})(at, n)
		}},
		{"seconds", r.boolean(&t.Seconds)},
		{"dst_gap", r.text(&t.DSTGap)},
		{"dst_repeat", r.text(&t.DSTRepeat)},
		{"every", r.orNone(&t.Every)},
		{"anchor", r.optional(&t.Anchor)},
		{"at", func(at string, n *yaml.Node) {
			t.At = []schedule.Instant{}
			r.oneOrMore(r.instant(func(i schedule.Instant) { t.At = append(t.At, i) }))(at, n)
		}},
	})
}

func (r *reader) target(pointer string, n *yaml.Node, t *schedule.Target) {
	r.mapping(pointer, n, []key{
		{"command", func(at string, n *yaml.Node) {
			t.Command = &schedule.Command{}
			r.command(at, n, t.Command)
		}},
		{"webhook", r.notYet(nil)},
		{"job", r.notYet(nil)}, // handlers are registered by a program that embeds Belfry, not by a file
	})
}

func (r *reader) command(pointer string, n *yaml.Node, c *schedule.Command) {
	r.mapping(pointer, n, []key{
		{"argv", r.list(func(at string, n *yaml.Node) {
			var argument string
			r.text(&argument)(at, n)
			c.Argv = append(c.Argv, argument)
		})},
		{"shell", r.text(&c.Shell)},
		{"interpreter", r.text(&c.Interpreter)},
		{"dir", r.text(&c.Dir)},
		{"env", r.texts(&c.Env)},
		{"stdin", r.text(&c.Stdin)},
		{"output_limit", parsed(r, "a size such as 64KiB", schedule.ParseSize, func(size schedule.Size) {
			if c.OutputLimit = size; size == 0 {
				c.OutputLimit = schedule.None
			}
		})},
		{"kill_grace", r.orNone(&c.KillGrace)},
		{"success_codes", func(at string, n *yaml.Node) {
			c.SuccessCodes = []int{}
			r.list(func(at string, n *yaml.Node) {
				code := 0
				r.integer(&code, 0)(at, n)
				c.SuccessCodes = append(c.SuccessCodes, code)
			})(at, n)
		}},
	})
}
