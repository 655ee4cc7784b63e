package plan

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

var update = flag.Bool("update", false, "write the decisions into the scripts; review the difference like code")

// TestScripts plays the scripts in testdata. A script is a list of cases parted by blank lines; a case is a comment, the
// lines that set the scene, the line "=>" and the decision. The decision part is written by -update and reviewed by
// hand: every number in it must follow from the scene by arithmetic.
//
// It shows S-004, S-005, S-007, S-072, S-076, S-079, S-084, R-MIS-1..9, R-MIS-12, R-WIN-5, R-WIN-15, PROTOCOL A1, A4, A5, A10 and C4.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
				scene, want, _ := strings.Cut(block+"\n", "=>\n")
				got := play(t, scene)
				if !*update && got != want {
					t.Errorf("%s\ngot:\n%s\nwant:\n%s", scene, got, want)
				}
				out = append(out, scene+"=>\n"+got)
			}
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(out, "\n")), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play reads a scene, decides, and prints the decision.
func play(t *testing.T, scene string) string {
	t.Helper()
	row := schedule.Row{ID: schedule.ID{1}}
	in := Input{Lease: 5 * time.Second, NewID: counter(), Epoch: 1, Zones: "test"}
	lead := 2 * time.Second
	lines := bufio.NewScanner(strings.NewReader(scene))
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		args := strings.Fields(rest)
		switch word {
		case "#":
		case "span": // span FROM TO|- SPEC
			row.Spans = append(row.Spans, scriptSpan(t, args[0], args[1], strings.Join(args[2:], " "), len(row.Spans)+1))
		case "deleted":
			row.Deleted = true
		case "from":
			in.From = at(t, args[0])
		case "to":
			in.To = at(t, args[0])
		case "now":
			in.Now = at(t, args[0])
		case "opened":
			in.OpenedAt = at(t, args[0])
		case "run":
			in.Existing.Runs = append(in.Existing.Runs, at(t, args[0]))
		case "gap":
			in.Existing.Gaps = append(in.Existing.Gaps, run.Gap{First: at(t, args[0]), Last: at(t, args[1])})
		default:
			t.Fatalf("unknown line %q", lines.Text())
		}
	}
	if in.To.IsZero() {
		in.To = in.Now.Add(lead)
	}
	in.Definition = Build(row)
	return show(Decide(in))
}

func scriptSpan(t *testing.T, from, to, spec string, revision int) schedule.Span {
	t.Helper()
	s := schedule.Span{Revision: uint64(revision), From: at(t, from), Spec: []byte(spec)}
	if to != "-" {
		s.To = at(t, to)
	}
	if spec == "broken" {
		return s
	}
	var parsed schedule.Spec
	if err := json.Unmarshal([]byte(spec), &parsed); err != nil {
		t.Fatal(err)
	}
	parsed.Target.Command = &schedule.Command{Argv: []string{"true"}}
	full, err := parsed.Complete(schedule.Defaults{LeastGrace: -1})
	if err != nil {
		t.Fatal(err)
	}
	if s.Spec, err = schedule.EncodeSpec(full); err != nil {
		t.Fatal(err)
	}
	return s
}

func show(d Decision) string {
	var b strings.Builder
	names := map[run.ID]time.Time{}
	for _, r := range d.Runs {
		names[r.ID] = r.Due
	}
	for i := 0; i < len(d.Runs); i++ {
		r := d.Runs[i]
		fmt.Fprintf(&b, "run %s rev=%d", stamp(r.Due), r.Revision)
		if r.Misfire != nil {
			fmt.Fprintf(&b, " misfire=%s superseded=%d", r.Misfire.Policy, r.Misfire.Superseded)
		}
		if !r.ReadyAt.Equal(r.Due) {
			fmt.Fprintf(&b, " ready=%s", stamp(r.ReadyAt))
		}
		b.WriteByte('\n')
		if more := len(d.Runs) - i - 1; more > 5 && i > 2 {
			fmt.Fprintf(&b, "... %d more\n", more-1)
			i = len(d.Runs) - 2
		}
	}
	for _, g := range d.Gaps {
		fmt.Fprintf(&b, "gap %s %s..%s count=%d rev=%d", g.Reason, stamp(g.First), stamp(g.Last), g.Count, g.Revision)
		if due, ok := names[g.Run]; ok {
			fmt.Fprintf(&b, " into=%s", stamp(due))
		}
		b.WriteByte('\n')
	}
	if !d.Rest.IsZero() {
		fmt.Fprintf(&b, "rest %s", stamp(d.Rest))
		if !d.OpenedAt.IsZero() {
			fmt.Fprintf(&b, " opened=%s", stamp(d.OpenedAt))
		}
		b.WriteByte('\n')
	}
	if d.Quarantine != "" {
		b.WriteString("quarantine\n")
	}
	return b.String()
}

// stamp prints an instant; scripts leave out the date when it is 2026-06-01.
func stamp(t time.Time) string {
	s := schedule.FormatInstant(t)
	return strings.TrimSuffix(strings.TrimPrefix(s, "2026-06-01T"), "Z")
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	if !strings.Contains(s, "T") {
		s = "2026-06-01T" + s
	}
	v, err := time.Parse(time.RFC3339Nano, s+"Z")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func counter() func() [16]byte {
	var n uint64
	return func() (id [16]byte) {
		n++
		binary.BigEndian.PutUint64(id[8:], n)
		return id
	}
}
