package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/target"
)

// call is a command made ready: what the guard is told to start. It travels to the guard as one line of JSON.
type call struct {
	Path  raw
	Argv  []raw
	Env   []raw
	Dir   raw
	Grace time.Duration
	// Lease is the reading of the boot clock at which the run is no longer this server's; 0: it has no lease. A server
	// that was stopped after it had decided to start a command must not start it when it wakes.
	Lease time.Duration
	// Single leaves everything but the command itself alone: a guard that mutation runs take out.
	Single bool

	stdin string
	title [2]string // run and schedule, for people who look at a list of processes
	// unfit is why the command cannot be started at all; the guard is then not asked.
	unfit error
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// build makes a delivery's command ready. What is wrong with it is told when the run starts, as a shell would.
func (t *Target) build(d target.Delivery) *call {
	spec := d.Spec.Command
	env := t.environment(d)
	c := &call{
		Env:    raws(env),
		Argv:   raws(spec.Argv),
		Dir:    raw(spec.Dir),
		Grace:  time.Duration(spec.KillGrace),
		Single: fault.Without("group-kill"),
		stdin:  spec.Stdin,
		title:  [2]string{d.Run.ID.String(), d.ScheduleName},
	}
	if len(c.Argv) == 0 {
		interpreter := spec.Interpreter
		if interpreter == "" {
			interpreter = "/bin/sh"
		}
		c.Argv = raws([]string{interpreter, "-c", spec.Shell})
	}
	if c.Dir == "" {
		c.Dir = raw(homeOf(env))
	}
	file, err := lookPath(string(c.Argv[0]), lookup(env, "PATH"))
	c.Path, c.unfit = raw(file), err
	return c
}

// inherited are the variables of the server that a command sees. Everything else is left out: a server's environment
// holds secrets, and a command must do the same on every node and by hand.
var inherited = []string{"PATH", "HOME", "LANG", "TZ"}

// environment is the whole environment of a command, in which no name occurs twice. Later assignments win: the
// schedule's own env may replace what is inherited, but not what names the run.
func (t *Target) environment(d target.Delivery) []string {
	vars := map[string]string{"PATH": defaultPath}
	for _, name := range inherited {
		if v := lookup(t.o.Environ, name); v != "" {
			vars[name] = v
		}
	}
	if vars["HOME"] == "" {
		vars["HOME"] = homeOf(nil)
	}
	for name, v := range d.Spec.Command.Env {
		vars[name] = v
	}
	vars["BELFRY_KEY"] = string(d.Key)
	vars["BELFRY_RUN_ID"] = d.Run.ID.String()
	vars["BELFRY_SCHEDULE"] = d.ScheduleName
	vars["BELFRY_DUE"] = d.Run.Due.UTC().Format(time.RFC3339Nano)
	vars["BELFRY_ATTEMPT"] = strconv.Itoa(d.Attempt())
	vars["BELFRY_FENCE"] = strconv.FormatUint(d.Run.Fence, 10)
	vars["BELFRY_KIND"] = d.Run.Kind.String()
	env := make([]string, 0, len(vars))
	for name, v := range vars {
		env = append(env, name+"="+v)
	}
	slices.Sort(env)
	return env
}

// lookup returns the value of a variable; the last assignment counts.
func lookup(env []string, name string) string {
	for _, v := range slices.Backward(env) {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			return rest
		}
	}
	return ""
}

// homeOf is the home of the user that runs Belfry; the root directory for a user without one.
func homeOf(env []string) string {
	if home := lookup(env, "HOME"); home != "" {
		return home
	}
	if home, err := os.UserHomeDir(); err == nil && home != "" {
		return home
	}
	return "/"
}

// lookPath finds a program in the PATH that the command itself will see, not in the server's. A name with a slash is
// taken as it is, relative to the command's directory.
func lookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	refused := os.ErrNotExist
	for dir := range strings.SplitSeq(path, ":") {
		if !filepath.IsAbs(dir) {
			continue // a relative entry would mean whatever the directory of the day holds
		}
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		switch {
		case err != nil:
		case info.Mode().IsRegular() && info.Mode()&0o111 != 0:
			return file, nil
		case info.Mode().IsRegular():
			refused = os.ErrPermission
		}
	}
	return "", &notFound{name, refused, path}
}

// notFound says which program is missing, and where it was looked for.
type notFound struct {
	name string
	err  error
	path string
}

func (n *notFound) Error() string {
	if errors.Is(n.err, os.ErrPermission) {
		return n.name + " is not executable"
	}
	return n.name + " is not in PATH (" + n.path + "); give its full path, or set PATH in env"
}

func (n *notFound) Unwrap() error { return n.err }

// refused says why the system did not start the command. The system's own word names neither the file nor whether it
// was the directory, the program or the program's interpreter that was missing.
func (c *call) refused(err error) error {
	if _, missing := os.Stat(string(c.Dir)); missing != nil {
		return fmt.Errorf("its directory: %v", missing) //nolint:errorlint // a missing directory is not a missing program
	}
	path := string(c.Path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(string(c.Dir), path)
	}
	if _, missing := os.Stat(path); missing == nil && errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: the interpreter that its first line names is missing", path)
	}
	return fmt.Errorf("%s: %w", path, err)
}
