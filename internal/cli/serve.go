package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/belfryhq/belfry/internal/app"
	"github.com/belfryhq/belfry/internal/config"
	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/target"
)

func (e *env) serve() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the schedules of a crontab or manifest, and answer the API on loopback",
		Long: `Run the schedules of a crontab or manifest, and answer the API on loopback.

The file is read at start, on SIGHUP and when it changes. A file that is wrong refuses the start; later it changes
nothing, and the log and the API's status say so. Lines of a crontab above its first CRON_TZ are read in the machine's
zone if TZ or /etc/localtime names one of the IANA database, and otherwise in UTC; the log says which.

SIGTERM lets running work end within --shutdown-grace; a second one cuts that short.`,
		Example: examples(
			"belfry serve --file crontab",
			"belfry serve --file schedules.yaml --db sqlite:belfry.db --listen 127.0.0.1:0"),
		Args: noArguments,
	}
	f := cmd.Flags()
	f.StringVar(&file, "config", "", "file of settings (YAML); flags win over BELFRY_* variables, those over the file")
	values, standards := map[string]*string{}, standards(config.Default(e.getenv))
	for _, key := range config.Keys() {
		values[key] = f.String(flagName(key), "", config.Help(key))
		f.Lookup(flagName(key)).DefValue = standards[key] // for the help page alone: only what was given is handed on
		if strings.HasPrefix(config.Help(key), "not yet") {
			_ = f.MarkHidden(flagName(key)) // the flag exists: it was made in the line above
		}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		given := map[string]string{}
		for key, value := range values {
			if f.Changed(flagName(key)) {
				given[key] = *value
			}
		}
		c, err := config.Load(config.Input{File: file, Environ: e.environ(), Flags: given})
		if err != nil {
			return &failure{code: exitInvalid, doing: "read the settings", cause: err}
		}
		return e.runServe(cmd.Context(), &c)
	}
	return cmd
}

// standards is what the settings are that nobody sets, as a person would write them. Those that are missing have none, or
// their sentence says it.
func standards(c config.Config) map[string]string {
	return map[string]string{
		"listen": c.Listen, "state_dir": c.StateDir, "role": c.Role, "pools": fmt.Sprintf("default=%d", c.Pools["default"]), "shards": "1",
		"lead": schedule.FormatDuration(c.Lead), "max_idle": schedule.FormatDuration(c.MaxIdle),
		"claim_lease": schedule.FormatDuration(c.ClaimLease), "run_lease": schedule.FormatDuration(c.RunLease),
		"shutdown_grace": schedule.FormatDuration(c.ShutdownGrace), "max_catchup_age": c.MaxCatchupAge.String(),
		"command.allow": c.CommandAllow, "log.level": strings.ToLower(c.LogLevel.String()), "log.format": c.LogFormat,
	}
}

func flagName(key string) string { return strings.NewReplacer("_", "-", ".", "-").Replace(key) }

// readyWait is how long serve waits to be known to its own store before it says that it is ready.
const readyWait = 5 * time.Second

func (e *env) runServe(ctx context.Context, c *config.Config) error {
	if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
		return &failure{doing: "make the state directory", cause: err, try: "belfry serve --state-dir DIR"}
	}
	// From here on, since SIGHUP ends a process that has not asked for it, and a reload may come while we start.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	log := e.logger(c)
	zone, source := "", ""
	if c.File != "" && (app.Source{Path: c.File, Format: c.Format}).KnownFormat() != app.FormatManifest {
		zone, source = app.MachineZone(e.getenv)
	}
	n, err := app.Open(ctx, e.options(ctx, c, zone, log))
	if err != nil {
		f := &failure{doing: "start serve", cause: err}
		var bad *manifest.Error
		if errors.As(err, &bad) {
			f.code, f.try = exitInvalid, "belfry validate -f "+c.File
		} else if errors.Is(err, os.ErrNotExist) || errors.Is(err, app.ErrRefused) {
			f.code = exitInvalid
		} else if errors.Is(err, syscall.EADDRINUSE) {
			f.try = "belfry serve --listen 127.0.0.1:0"
		}
		return f
	}
	if c.SettingsFile() != "" {
		log.Info("settings read", "file", c.SettingsFile())
	}
	if zone != "" {
		log.Info("crontab lines above the first CRON_TZ are read in the machine's zone", "time_zone", zone, "reason", source)
	}
	err = e.untilSignalled(ctx, n, signals, log)
	return errors.Join(err, n.Close())
}

func (e *env) logger(c *config.Config) *slog.Logger {
	o := &slog.HandlerOptions{Level: c.LogLevel}
	if e.common.quiet {
		o.Level = max(slog.LevelWarn, c.LogLevel)
	}
	if c.LogFormat == "text" {
		return slog.New(slog.NewTextHandler(e.stderr, o))
	}
	return slog.New(slog.NewJSONHandler(e.stderr, o))
}

func (e *env) options(ctx context.Context, c *config.Config, zone string, log *slog.Logger) app.Options {
	o := app.Options{
		DB: c.Database(), Listen: c.Listen, AddressFile: c.AddressFile(), Pools: maps.Clone(c.Pools), Lead: c.Lead,
		ClaimLease: c.ClaimLease, RunLease: c.RunLease, MaxIdle: c.MaxIdle, ShutdownGrace: c.ShutdownGrace,
		Consent: target.Consent(c.CommandAllow), Version: app.Version(ctx, e.build), Logger: log,
		Roles: app.Roles{Planner: c.Role == "all" || c.Role == "planner", Worker: c.Role == "all" || c.Role == "worker", API: true},
	}
	o.File = app.Source{Path: c.File, Format: c.Format, Zone: zone, Process: config.Process(), Defaults: c.Defaults()}
	return o
}

// untilSignalled runs the node until it is told to stop. The first SIGTERM or SIGINT drains; a second one cuts that
// short, and the exit code says so. SIGHUP, which signals gets already, reads the file again.
func (e *env) untilSignalled(ctx context.Context, n *app.Node, signals chan os.Signal, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	ready := make(chan string, 1)
	go func() {
		bound, stop := context.WithTimeout(ctx, readyWait)
		defer stop()
		ready <- n.Identity(bound)
	}()
	stops := 0
	var last os.Signal
	for {
		select {
		case node := <-ready:
			e.sayReady(n.Address(), node)
		case s := <-signals:
			if s == syscall.SIGHUP {
				n.Reload(ctx)
				continue
			}
			cancel()
			if stops++; stops == 1 {
				log.Info("stopping: what runs may end within shutdown_grace, and a second signal cuts that short", "reason", s.String())
			} else {
				last = s
				n.Kill()
			}
		case err := <-ended:
			if err == nil && last != nil {
				return &failure{code: signalled{last}.code(), said: true, cause: errors.New("the shutdown was cut short")}
			}
			if err != nil {
				return &failure{doing: "serve", cause: err}
			}
			e.note(`{"msg":"stopped"}`)
			return nil
		}
	}
}

// sayReady writes the one line that programs wait for; its form does not follow log.format.
func (e *env) sayReady(address, node string) {
	text, err := json.Marshal(struct {
		Message string `json:"msg"`
		Address string `json:"addr"`
		Node    string `json:"node"`
	}{"ready", address, node})
	if err == nil {
		fmt.Fprintf(e.stderr, "%s\n", text)
	}
}
