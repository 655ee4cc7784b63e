package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belfryhq/belfry/schedule"
)

// flags are those that all commands have.
type flags struct {
	server, tenant, output string
	zone, timeStyle        string
	noColor, quiet         bool
}

// machine reports whether a program reads the answer.
func (f *flags) machine() bool { return f.output == "json" || f.output == "jsonl" }

var (
	formats    = []string{"table", "wide", "json", "jsonl", "yaml", "name"}
	timeStyles = []string{"absolute", "relative", "unix", "rfc3339"}
)

// root builds the tree of commands.
func (e *env) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "belfry",
		Short: "Belfry runs what is due: late perhaps, but never silently lost",
		Example: examples(
			"belfry serve --file crontab",
			"belfry preview '30 2 * * *' --zone Europe/Berlin"),
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(*cobra.Command, []string) error { return e.checkCommon() },
	}
	e.common = flags{}
	f := root.PersistentFlags()
	f.StringVar(&e.common.server, "server", e.getenv("BELFRY_SERVER"), "address of the server, such as http://127.0.0.1:7878; default: the one that serve wrote into its state directory")
	f.StringVarP(&e.common.tenant, "tenant", "t", e.getenv("BELFRY_TENANT"), "tenant; default none")
	f.StringVarP(&e.common.output, "output", "o", "table", strings.Join(formats, ", "))
	f.StringVar(&e.common.zone, "zone", "", "IANA time zone of local times in flags and tables; of the expression in preview")
	f.StringVar(&e.common.timeStyle, "time", "absolute", "how tables print instants: "+strings.Join(timeStyles, ", "))
	f.BoolVar(&e.common.noColor, "no-color", false, "never use colour (there is none yet, so that scripts can already say so)")
	f.BoolVarP(&e.common.quiet, "quiet", "q", false, "say nothing on stderr but errors")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(e.serve(), e.preview(), e.validate(), e.next(), e.schedules(), e.runs(), e.gaps(), e.explain(), e.version())
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			for _, shell := range cmd.Commands() {
				shell.Example = examples("belfry completion "+shell.Name(), "belfry completion "+shell.Name()+" --no-descriptions")
			}
			cmd.Example = examples("belfry completion bash > /etc/bash_completion.d/belfry", "source <(belfry completion zsh)")
		}
	}
	complete(root, e)
	return root
}

func examples(lines ...string) string { return "  " + strings.Join(lines, "\n  ") }

// group is a command that only has commands below it.
func group(use, short string, aliases []string, lines ...string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Aliases: aliases, Example: examples(lines...),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return usage(cmd.CommandPath()+" --help", "%s needs a command: %s", cmd.CommandPath(), strings.Join(names(cmd), ", "))
		},
	}
}

func names(cmd *cobra.Command) (list []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, sub.Name())
		}
	}
	return list
}

func unknownCommand(cmd *cobra.Command, word string) error {
	text := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), word)
	if hint := schedule.DidYouMean(word, names(cmd)); hint != "" {
		text += "; " + hint
	}
	return usage(cmd.CommandPath()+" --help", "%s", text)
}

// flagError turns the flag library's words into ours, with a suggestion for a flag that does not exist.
func flagError(cmd *cobra.Command, err error) error {
	text := err.Error()
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		word := missing.GetSpecifiedName()
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		dashes := "--"
		if missing.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		text = fmt.Sprintf("%s has no flag %s%s", cmd.CommandPath(), dashes, word)
		if hint := schedule.DidYouMean(word, known); hint != "" {
			text += "; " + strings.Replace(hint, `"`, `"--`, 1)
		}
	}
	return usage(cmd.CommandPath()+" --help", "%s", text)
}

// checkCommon holds the common flags against their closed lists.
func (e *env) checkCommon() error {
	output := e.common.output
	if !slices.Contains(formats, output) {
		e.common.output = "table"
		return badWord("--output", output, formats)
	}
	if !slices.Contains(timeStyles, e.common.timeStyle) {
		return badWord("--time", e.common.timeStyle, timeStyles)
	}
	if e.common.tenant != "" && !schedule.ValidTenant(e.common.tenant) {
		return usage("", "--tenant %q is no tenant's name", e.common.tenant)
	}
	if _, err := schedule.Zone(e.common.zone); err != nil {
		return &failure{code: exitInvalid, doing: "--zone", cause: err}
	}
	return nil
}

// badWord refuses a flag's value that is not in its closed list.
func badWord(flag, word string, allowed []string) error {
	text := fmt.Sprintf("%s %q is not known; allowed are %s", flag, word, strings.Join(allowed, ", "))
	if hint := schedule.DidYouMean(word, allowed); hint != "" {
		text += "; " + hint
	}
	return usage("", "%s", text)
}

// argument wants exactly one argument, and says what it should be.
func argument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return usage(cmd.CommandPath()+" --help", "%s needs %s", cmd.CommandPath(), what)
		case len(args) > 1:
			hint := ""
			if what == "an expression" {
				hint = "; put the expression in quotes"
			}
			return usage(cmd.CommandPath()+" --help", "%s takes %s, not %d arguments%s", cmd.CommandPath(), what, len(args), hint)
		}
		return nil
	}
}

// noArguments wants none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd.CommandPath()+" --help", "%s takes no argument such as %q", cmd.CommandPath(), args[0])
	}
	return nil
}
