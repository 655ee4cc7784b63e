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
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			e.command = cmd.CommandPath()
			return e.checkCommon()
		},
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
	root.SetHelpCommand(help(root))
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			for _, shell := range cmd.Commands() {
				shell.Example = examples("belfry completion "+shell.Name(), "belfry completion "+shell.Name()+" --no-descriptions")
			}
			cmd.Example = examples("belfry completion bash > /etc/bash_completion.d/belfry", "source <(belfry completion zsh)")
			cmd.Args, cmd.RunE = cobra.ArbitraryArgs, needsCommand
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
		Args: cobra.ArbitraryArgs, RunE: needsCommand,
	}
}

// needsCommand is what a command does that only has commands below it.
func needsCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return usage(cmd.CommandPath()+" --help", "%s needs a command: %s", cmd.CommandPath(), strings.Join(names(cmd), ", "))
}

// help shows the help of a command, and refuses a name that is none; the library's own would show the root's.
func help(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Show the help of a command",
		Example: examples("belfry help run list", "belfry help serve"),
		RunE: func(_ *cobra.Command, args []string) error {
			about := root
			for _, word := range args {
				i := slices.IndexFunc(about.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
				if i < 0 {
					return unknownCommand(about, word)
				}
				about = about.Commands()[i]
			}
			about.InitDefaultHelpFlag()
			return about.Help()
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
	text, try := err.Error(), cmd.CommandPath()+" --help"
	var (
		missing *pflag.NotExistError
		wrong   *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &wrong):
		text = fmt.Sprintf("--%s: %q is not %s", wrong.GetFlag().Name, wrong.GetValue(), kindOf(wrong.GetFlag().Value.Type()))
	case errors.As(err, &missing):
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
		} else if word == "version" {
			try = "belfry version"
		}
	}
	return usage(try, "%s", text)
}

// kindOf says what a flag of the library's type wants.
func kindOf(flagType string) string {
	switch flagType {
	case "int":
		return "a whole number"
	case "bool":
		return "true or false"
	case "duration":
		return "a duration; write it as 90s or 1h30m"
	}
	return "a value for it"
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
		case len(args) == 0, len(args) == 1 && args[0] == "":
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
