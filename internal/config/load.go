package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/belfryhq/belfry/schedule"
)

// maxFile bounds the configuration file.
const maxFile = 1 << 20

// Input is everything that settings can come from.
type Input struct {
	File    string            // "": $BELFRY_CONFIG, or belfry/belfry.yaml in the user's configuration directory if it exists
	Environ []string          // as os.Environ gives it
	Flags   map[string]string // by key; only those that were given
}

// Load reads the settings: flags win over the environment, that over the file, that over the defaults. The error is an
// *Error that lists everything that is wrong, or says that the file cannot be read.
func Load(in Input) (Config, error) {
	env := map[string]string{}
	for _, pair := range in.Environ {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	c := Default(func(name string) string { return env[name] })
	file := in.File
	if file == "" {
		file = env["BELFRY_CONFIG"]
	}
	var problems []Problem
	given := file != ""
	if !given {
		file = defaultFile(env)
	}
	text, err := os.ReadFile(file)
	switch {
	case err == nil:
		c.file = file
		problems = append(problems, c.readFile(file, text)...)
	case given || !errors.Is(err, os.ErrNotExist) && file != "":
		return c, fmt.Errorf("read the settings: %w", err)
	}
	problems = append(problems, c.readEnvironment(in.Environ)...)
	for _, name := range Keys() {
		if value, given := in.Flags[name]; given {
			flag := "--" + strings.NewReplacer("_", "-", ".", "-").Replace(name)
			problems = append(problems, c.set(name, value, Problem{Where: "command line", Key: flag})...)
		}
	}
	if len(problems) == 0 {
		problems = c.validate()
	}
	if len(problems) > 0 {
		return c, &Error{Problems: problems}
	}
	return c, nil
}

// defaultFile is where settings are looked for when nobody names a file; it need not exist.
func defaultFile(env map[string]string) string {
	switch {
	case env["XDG_CONFIG_HOME"] != "":
		return env["XDG_CONFIG_HOME"] + "/belfry/belfry.yaml"
	case env["HOME"] != "":
		return env["HOME"] + "/.config/belfry/belfry.yaml"
	}
	return ""
}

// set sets one key and completes a problem with its place.
func (c *Config) set(name, value string, at Problem) []Problem {
	source := at.Key
	if at.Line > 0 {
		source = fmt.Sprintf("%s:%d:%d", at.Where, at.Line, at.Column)
	}
	p := c.Set(name, value, source)
	if p == nil {
		return nil
	}
	p.Where, p.Line, p.Column, p.Key = at.Where, at.Line, at.Column, at.Key
	return []Problem{*p}
}

// notSettings are variables that begin with BELFRY_ and are no settings of a server: what a command is given (a belfry
// may be started by one), what the command line reads, and what tests inject.
var notSettings = []string{
	"BELFRY_KEY", "BELFRY_RUN_ID", "BELFRY_SCHEDULE", "BELFRY_DUE", "BELFRY_ATTEMPT", "BELFRY_FENCE", "BELFRY_KIND",
	"BELFRY_CONFIG", "BELFRY_SERVER", "BELFRY_TENANT", "BELFRY_CRASH_KEEP",
}

func (c *Config) readEnvironment(environ []string) (problems []Problem) {
	byVariable := map[string]string{}
	for _, name := range Keys() {
		byVariable[Variable(name)] = name
	}
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		variable, value, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(variable, "BELFRY_") || strings.HasPrefix(variable, "BELFRY_FAULT_") || slices.Contains(notSettings, variable) {
			continue
		}
		at := Problem{Where: "environment", Key: variable}
		if name, known := byVariable[variable]; known {
			problems = append(problems, c.set(name, value, at)...)
			continue
		}
		at.Code, at.Message = schedule.CodeUnknownKey, "there is no such setting"
		at.Hint = schedule.DidYouMean(variable, sortedKeys(byVariable))
		problems = append(problems, at)
	}
	return problems
}

func sortedKeys(m map[string]string) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// Variable is the environment variable of a key.
func Variable(name string) string {
	return "BELFRY_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

func (c *Config) readFile(file string, text []byte) []Problem {
	at := func(n *yaml.Node, key string) Problem {
		return Problem{Where: file, Line: n.Line, Column: n.Column, Key: key}
	}
	refuse := func(p Problem, code, message string) []Problem {
		p.Code, p.Message = code, message
		return []Problem{p}
	}
	whole := Problem{Where: file, Key: "(file)"}
	if len(text) > maxFile {
		return refuse(whole, schedule.CodeLimit, fmt.Sprintf("is longer than %d bytes", maxFile))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return refuse(whole, schedule.CodeSyntax, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return refuse(whole, schedule.CodeSyntax, "holds more than one document")
	}
	if len(document.Content) == 0 {
		return nil
	}
	w := fileWalk{c: c, at: at, refuse: refuse}
	w.mapping("", document.Content[0])
	return w.problems
}

// A fileWalk goes over the nodes of the file: keys with a dot in the table are mappings in the file.
type fileWalk struct {
	c        *Config
	at       func(*yaml.Node, string) Problem
	refuse   func(Problem, string, string) []Problem
	problems []Problem
}

func (w *fileWalk) mapping(prefix string, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		w.problems = append(w.problems, w.refuse(w.at(n, strings.TrimSuffix(prefix, ".")), schedule.CodeWrongType, "must be a mapping of keys to values")...)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		name := prefix + k.Value
		place := w.at(k, name)
		_, known := table[name]
		switch {
		case seen[k.Value]:
			w.problems = append(w.problems, w.refuse(place, schedule.CodeDuplicateKey, "is given twice")...)
		case known:
			w.value(name, v)
		case isSection(name):
			w.mapping(name+".", v)
		default:
			p := unknownKey(name)
			place.Code, place.Message, place.Hint = p.Code, p.Message, p.Hint
			w.problems = append(w.problems, place)
		}
		seen[k.Value] = true
	}
}

func isSection(name string) bool {
	return slices.ContainsFunc(Keys(), func(key string) bool { return strings.HasPrefix(key, name+".") })
}

// value hands a scalar's text to the table; the one setting that is a mapping goes as JSON.
func (w *fileWalk) value(name string, n *yaml.Node) {
	place := w.at(n, name)
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
	case n.Kind == yaml.ScalarNode:
		w.problems = append(w.problems, w.c.set(name, n.Value, place)...)
	case name == "pools" && n.Kind == yaml.MappingNode:
		var value map[string]any
		err := n.Decode(&value)
		var text []byte
		if err == nil {
			text, err = json.Marshal(value)
		}
		if err != nil {
			w.problems = append(w.problems, w.refuse(place, schedule.CodeWrongType, err.Error())...)
			return
		}
		w.problems = append(w.problems, w.c.set(name, string(text), place)...)
	default:
		w.problems = append(w.problems, w.refuse(place, schedule.CodeWrongType, "must be a single value")...)
	}
}
