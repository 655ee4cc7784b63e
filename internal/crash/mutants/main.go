// Mutants shows that tests notice when a guard is missing. For each guard it runs the named tests of a build that can
// be broken on purpose, once as it is and once without the guard: the tests must pass, and then fail.
//
//	go run ./internal/crash/mutants [-run REGEXP] [-v]
//
// It ends with status 1 if a mutant survived, or if a test failed without a mutant.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"time"
)

func main() {
	only := flag.String("run", "", "run only the guards whose name matches this `regexp`")
	verbose := flag.Bool("v", false, "print what the tests said, also for mutants that were noticed")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := hunt(ctx, os.Stdout, match, *verbose)
	stop()
	os.Exit(code)
}

// hunt tries every guard that matches, prints a table, and returns the program's status.
func hunt(ctx context.Context, out io.Writer, match *regexp.Regexp, verbose bool) int {
	begin := time.Now()
	b, err := newBuilds(ctx)
	if err != nil {
		return report(out, "%v\n", err)
	}
	defer b.remove()
	tried, survivors := 0, 0
	report(out, "%-16s %-62s %-12s %7s\n", "guard", "what it does", "without it", "seconds")
	for i := range guards {
		g := &guards[i]
		if !match.MatchString(g.name) {
			continue
		}
		tried++
		at := time.Now()
		v, said := b.try(ctx, g)
		report(out, "%-16s %-62s %-12s %7.1f\n", g.name, g.what, v.word, time.Since(at).Seconds())
		if !v.noticed {
			survivors++
			report(out, "  %s: %s\n", g.pkg, v.why)
		}
		if verbose || !v.noticed {
			report(out, "%s", indent(said))
		}
	}
	report(out, "%d guards, %d not shown to be needed, %.1f minutes\n", tried, survivors, time.Since(begin).Minutes())
	if survivors > 0 || tried == 0 {
		return 1
	}
	return 0
}

// report prints, and returns the status for a failure. Where the table cannot be written nobody can be told.
func report(out io.Writer, format string, args ...any) int {
	_, _ = fmt.Fprintf(out, format, args...)
	return 1
}

func indent(text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}
