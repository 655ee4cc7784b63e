package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/internal/app"
	"github.com/belfryhq/belfry/run"
)

// completeTimeout bounds what a shell waits for; a server that does not answer in time completes nothing.
const completeTimeout = 300 * time.Millisecond

type completion = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

func words(list []string) completion {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, word := range list {
			if strings.HasPrefix(word, begun) {
				out = append(out, word)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// complete tells the shell what may follow.
func complete(cmd *cobra.Command, e *env) {
	flags := map[string]completion{
		"output": words(formats), "time": words(timeStyles), "status": words(run.Statuses()), "reason": words(run.Reasons()), "kind": words(run.Kinds()),
		"dst-gap": words([]string{"shift", "skip"}), "dst-repeat": words([]string{"auto", "first", "last", "both"}),
		"dialect": words([]string{"belfry", "cron"}), "format": words(app.Formats()), "role": words([]string{"all", "planner", "worker", "api"}),
		"schedule": e.completeNames,
	}
	for name, with := range flags {
		if f := cmd.Flags().Lookup(name); f != nil || cmd.PersistentFlags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, with) // the flag exists: it was looked up
		}
	}
	if strings.Contains(cmd.Use, " NAME") || strings.Contains(cmd.Use, " SCHEDULE") {
		cmd.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return e.completeNames(c, args, begun)
		}
	}
	for _, sub := range cmd.Commands() {
		complete(sub, e)
	}
}

// completeNames asks the server for names of schedules, and keeps silent about everything that goes wrong.
func (e *env) completeNames(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	c, err := e.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	items, err := c.Schedules(ctx, e.common.tenant, client.Page{Size: 1000})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, s := range items.Items {
		if strings.HasPrefix(s.Metadata.Name, begun) {
			out = append(out, s.Metadata.Name+"\t"+s.Status.Description)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
