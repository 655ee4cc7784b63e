package schedule

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Bounds of a command.
const (
	maxArguments   = 1000
	maxArgument    = 128 << 10 // bytes; the limit of Linux for one argument
	maxVariables   = 1000
	maxProgram     = 1 << 20 // bytes of arguments and variables together; Linux takes no more than two million
	maxStdin       = 1 << 20
	maxOutputLimit = Size(64 << 20)
	maxKillGrace   = time.Hour
	maxExitCodes   = 256
)

// target checks that there is exactly one kind of target, and the target itself.
func (c *checker) target(t Target) {
	var kinds []string
	if t.Command != nil {
		kinds = append(kinds, "command")
	}
	if t.Job != nil {
		kinds = append(kinds, "job")
	}
	c.exactlyOne("/target", kinds, "command")
	if t.Job != nil {
		c.pattern("/target/job/name", t.Job.Name, ValidName(t.Job.Name), namePattern)
	}
	if t.Command == nil {
		return
	}
	outer := c.at
	c.at += "/target/command"
	c.program(t.Command)
	c.environment(t.Command.Env)
	c.limits(t.Command)
	if size := t.Command.size(); size > maxProgram {
		c.add("", CodeOutOfRange, fmt.Sprintf("%d bytes of arguments and variables; at most %d are taken", size, maxProgram))
	}
	c.at = outer
}

// size is what the command takes in the memory of a process that starts.
func (t *Command) size() int {
	size := len(t.Shell)
	for _, argument := range t.Argv {
		size += len(argument)
	}
	for name, value := range t.Env {
		size += len(name) + len(value)
	}
	return size
}

// program checks what is started.
func (c *checker) program(t *Command) {
	var kinds []string
	if len(t.Argv) > 0 {
		kinds = append(kinds, "argv")
	}
	if t.Shell != "" {
		kinds = append(kinds, "shell")
	}
	c.exactlyOne("", kinds, "argv", "shell")
	if len(t.Argv) > maxArguments {
		c.add("/argv", CodeOutOfRange, fmt.Sprintf("%d arguments; at most %d are taken", len(t.Argv), maxArguments))
	}
	for i, argument := range t.Argv[:min(len(t.Argv), maxArguments)] {
		c.text(fmt.Sprintf("/argv/%d", i), argument, maxArgument)
	}
	if len(t.Argv) > 0 && t.Argv[0] == "" {
		c.add("/argv/0", CodeRequired, "the program's name is empty")
	}
	c.text("/shell", t.Shell, maxArgument)
	if strings.ContainsAny(t.Shell, "\n\r") {
		c.add("/shell", CodeBadFormat, "has more than one line").Hint = "join the lines with ; or put them into a script"
	}
	if t.Interpreter != "" && len(t.Argv) > 0 && t.Shell == "" {
		c.add("/interpreter", CodeConflict, "belongs to shell; argv is started as it is")
	} else if t.Interpreter != "" {
		c.path("/interpreter", t.Interpreter)
	}
	if t.Dir != "" {
		c.path("/dir", t.Dir)
	}
}

func (c *checker) path(pointer, name string) {
	c.text(pointer, name, 4096)
	if !path.IsAbs(name) || controls(name) {
		p := c.add(pointer, CodeBadFormat, fmt.Sprintf("%s is not an absolute path", quote(name)))
		if strings.HasPrefix(name, "~") {
			p.Hint = "~ is not expanded; write the whole path, or leave it out for the home directory"
		}
	}
}

func (c *checker) environment(env map[string]string) {
	if len(env) > maxVariables {
		c.add("/env", CodeOutOfRange, fmt.Sprintf("%d variables; at most %d are taken", len(env), maxVariables))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		at := "/env/" + Escape(name)
		switch {
		case !ValidVariable(name):
			c.add(at, CodeBadFormat, fmt.Sprintf("%s is no name of a variable: letters, digits and _, no digit first", quote(name)))
		case strings.HasPrefix(name, "BELFRY_"):
			c.add(at, CodeConflict, "names that begin with BELFRY_ are set by Belfry itself")
		}
		c.text(at, env[name], maxArgument)
	}
}

// ValidVariable reports whether an environment variable may be called so.
func ValidVariable(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (c < '0' || c > '9' || i == 0) {
			return false
		}
	}
	return name != "" && len(name) <= 255
}

func (c *checker) limits(t *Command) {
	c.text("/stdin", t.Stdin, maxStdin)
	if t.OutputLimit < 0 || t.OutputLimit > maxOutputLimit {
		c.add("/output_limit", CodeOutOfRange, fmt.Sprintf("%s is not in 0 to %s", t.OutputLimit, maxOutputLimit))
	}
	c.duration("/kill_grace", t.KillGrace, 0, maxKillGrace)
	if len(t.SuccessCodes) == 0 || len(t.SuccessCodes) > maxExitCodes {
		c.add("/success_codes", CodeOutOfRange, fmt.Sprintf("has %d codes, not 1 to %d", len(t.SuccessCodes), maxExitCodes))
	}
	for _, code := range t.SuccessCodes {
		if code < 0 || code > 255 {
			c.add("/success_codes", CodeOutOfRange, fmt.Sprintf("%d is no exit code: they are 0 to 255", code))
			return
		}
	}
}
