package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// A help page is one sentence and two examples, and the examples are of commands and flags that exist.
func TestEveryCommandHasASentenceAndTwoExamples(t *testing.T) {
	t.Parallel()
	e := &env{stdout: os.Stdout, stderr: os.Stderr, getenv: func(string) string { return "" }, environ: func() []string { return nil }, now: time.Now}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Name() == "help" {
			return
		}
		lines := strings.Split(cmd.Example, "\n")
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || len(lines) != 2 {
			t.Errorf("%s: sentence %q, %d examples", cmd.CommandPath(), cmd.Short, len(lines))
		}
		for _, line := range lines {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "belfry" {
				continue // a pipeline of a shell
			}
			found, _, err := e.root().Find(words[1:])
			if err != nil {
				t.Errorf("%s: example %q: %v", cmd.CommandPath(), line, err)
				continue
			}
			for _, word := range words {
				name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
				if strings.HasPrefix(word, "--") && found.Flag(name) == nil && found.InheritedFlags().Lookup(name) == nil {
					t.Errorf("%s: example %q: there is no flag %s", cmd.CommandPath(), line, word)
				}
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(e.root())
}
