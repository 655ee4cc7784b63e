package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/internal/app"
	"github.com/belfryhq/belfry/internal/config"
	"github.com/belfryhq/belfry/internal/crontab"
	"github.com/belfryhq/belfry/schedule"
)

func (e *env) validate() *cobra.Command {
	var s app.Source
	cmd := &cobra.Command{
		Use:   "validate -f FILE",
		Short: "Check a crontab or a manifest, and say what each of its schedules would do",
		Example: examples(
			"belfry validate -f schedules.yaml",
			"belfry validate -f /etc/crontab --format system-crontab --zone Europe/Berlin"),
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return e.runValidate(s) },
	}
	f := cmd.Flags()
	f.StringVarP(&s.Path, "file", "f", "", "the file; - is standard input")
	f.StringVar(&s.Format, "format", "", "manifest, crontab or system-crontab; default by the name")
	f.StringVar(&s.Process, "user", "", "whose lines of a system crontab are taken; default the user who runs this")
	return cmd
}

func (e *env) runValidate(s app.Source) error {
	if s.Path == "" {
		return usage("belfry validate -f crontab", "validate needs a file: -f FILE")
	}
	if s.Format != "" && !slices.Contains(app.Formats(), s.Format) {
		return badWord("--format", s.Format, app.Formats())
	}
	r := e.stdin
	if s.Path == "-" {
		s.Path = "stdin"
		if s.Format == "" {
			return usage("belfry validate -f - --format manifest", "standard input has no name to tell its format by: give --format")
		}
	} else {
		f, err := os.Open(s.Path)
		if errors.Is(err, os.ErrNotExist) {
			return &failure{code: exitNotFound, doing: "validate " + s.Path, cause: errors.New("there is no such file")}
		}
		if err != nil {
			return &failure{doing: "validate " + s.Path, cause: err}
		}
		defer func() { _ = f.Close() }() // nothing was written
		r = f
	}
	s.Zone = e.common.zone
	if s.Zone == "" {
		s.Zone, _ = app.MachineZone(e.getenv)
	}
	if s.Process == "" {
		s.Process = config.Process()
	}
	v, report, err := app.Validate(s, r, e.now())
	if err != nil {
		return &failure{doing: "validate " + s.Path, cause: err}
	}
	return e.print(validated(s, v, report))
}

func validated(s app.Source, v client.Validation, report []crontab.Entry) answer {
	a := answer{items: anys(v.Items), value: struct {
		client.Validation
		Report []crontab.Entry `json:"report,omitempty"`
	}{v, report}}
	var b strings.Builder
	rows := make([][]string, 0, len(v.Items))
	for _, item := range v.Items {
		a.names = append(a.names, item.Name)
		rows = append(rows, []string{item.Name, item.Description})
	}
	if len(rows) > 0 {
		b.WriteString(table{head: []string{"NAME", "WHEN"}, rows: rows}.render(false))
	}
	for _, item := range v.Items {
		if len(item.Warnings) > 0 {
			fmt.Fprintf(&b, "\n%s\n", item.Name)
			writeWarnings(&b, item.Warnings)
		}
	}
	told := false
	for _, entry := range report {
		if len(entry.Reasons) == 0 {
			continue
		}
		if !told {
			b.WriteString("\nLines that cron would treat in another way:\n")
			told = true
		}
		fmt.Fprintf(&b, "  %s:%d: %s: %s\n", s.Path, entry.Line, strings.ReplaceAll(string(entry.Result), "_", " "), strings.Join(entry.Reasons, "; "))
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s is valid: %d %s", s.Path, len(v.Items), schedules(len(v.Items)))
	if s.KnownFormat() != app.FormatManifest {
		fmt.Fprintf(&b, "; lines above the first CRON_TZ are read in %s", zoneOrUTC(s.Zone))
	}
	b.WriteString("\n")
	a.table.text = b.String()
	return a
}

func schedules(n int) string {
	if n == 1 {
		return "schedule"
	}
	return "schedules"
}

func zoneOrUTC(zone string) string {
	if zone == "" {
		return "UTC"
	}
	return zone
}

// bounds rewrites the two ends of a filter.
func (t times) bounds(from, to *string) error {
	if err := t.rewrite(from, "--from"); err != nil {
		return err
	}
	if err := t.rewrite(to, "--to"); err != nil {
		return err
	}
	start, _ := schedule.ParseInstant(*from) // both are empty, or were just written
	end, _ := schedule.ParseInstant(*to)
	if *from != "" && *to != "" && !start.Time().Before(end.Time()) {
		return &failure{code: exitInvalid, doing: "--to", cause: fmt.Errorf("%s is not after %s, the --from", *to, *from)}
	}
	return nil
}

// known holds words against a closed list.
func known(flag string, words, allowed []string) error {
	for _, word := range words {
		if !slices.Contains(allowed, word) {
			text := fmt.Sprintf("%s %q is not known; allowed are %s", flag, word, strings.Join(allowed, ", "))
			if hint := schedule.DidYouMean(word, allowed); hint != "" {
				text += "; " + hint
			}
			return &failure{code: exitInvalid, cause: errors.New(text)}
		}
	}
	return nil
}
