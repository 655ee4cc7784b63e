package belfry_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Operators search logs by message and key, so both are documented and hold
// still: a message is a constant, a key comes from one list, and
// docs/reference/logs.md has every one of them.

// A logCall is one place that writes a log record.
type logCall struct {
	where   string
	level   string // debug, info, warn or error; "" for keys bound by With
	message string
	keys    []string
}

// id is how a message is told apart in the tables.
func (c logCall) id() string { return c.level + ": " + c.message }

var logLevels = map[string]string{
	"Debug": "debug", "Info": "info", "Warn": "warn", "Error": "error",
	"DebugContext": "debug", "InfoContext": "info", "WarnContext": "warn", "ErrorContext": "error",
	"With": "",
}

// loggerName is what a logger is called, so that calls on one can be told from
// other calls without type information.
var loggerName = regexp.MustCompile(`(?i)(^|\.)(log|logger|slog\.Default\(\))$`)

func TestLogsAreDocumentedAndConstant(t *testing.T) {
	t.Parallel()
	calls, problems := logCalls(tree(t))
	for _, p := range problems {
		t.Error(p)
	}
	messages, keys := map[string][]string{}, map[string]bool{}
	for _, c := range calls {
		if c.level != "" {
			messages[c.id()] = append(messages[c.id()], c.keys...)
		}
		for _, k := range c.keys {
			keys[k] = true
		}
	}
	documentedMessages, documentedKeys := readLogTables(t)
	for id, used := range messages {
		slices.Sort(used)
		used = slices.Compact(used)
		documented, known := documentedMessages[id]
		switch {
		case !known:
			t.Errorf("docs/reference/logs.md does not have %q with keys %q", id, used)
		case !slices.Equal(documented, used):
			t.Errorf("docs/reference/logs.md gives %q the keys %q, the code %q", id, documented, used)
		}
		delete(documentedMessages, id)
	}
	for id := range documentedMessages {
		t.Errorf("docs/reference/logs.md has %q, which nothing writes", id)
	}
	if used := slices.Sorted(maps.Keys(keys)); !slices.Equal(used, documentedKeys) {
		t.Errorf("docs/reference/logs.md lists the keys\n%q, the code uses\n%q", documentedKeys, used)
	}
}

// readLogTables reads rows of four cells (level, message, keys, meaning) and of
// two (key, meaning). Keys come sorted.
func readLogTables(t *testing.T) (messages map[string][]string, keys []string) {
	t.Helper()
	messages = map[string][]string{}
	word := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(readText(t, "docs/reference/logs.md")) {
		row := cells(strings.TrimSpace(line))
		switch {
		case !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ---"):
		case len(row) == 4 && row[0] != "level":
			id := logCall{level: row[0], message: row[1]}.id()
			if _, twice := messages[id]; twice || row[3] == "" {
				t.Errorf("docs/reference/logs.md: %q stands twice or without a meaning", id)
			}
			messages[id] = []string{}
			for _, m := range word.FindAllStringSubmatch(row[2], -1) {
				messages[id] = append(messages[id], m[1])
			}
			slices.Sort(messages[id])
		case len(row) == 2 && row[0] != "key":
			keys = append(keys, strings.Trim(row[0], "`"))
		}
	}
	slices.Sort(keys)
	return messages, keys
}

// logCalls finds every call on a logger, and what about it cannot be checked.
func logCalls(files []*sourceFile) (calls []logCall, problems []string) {
	spreads := attrKeys(files)
	for _, f := range files {
		if f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			if !isCall {
				return true
			}
			c, why, isLog := f.logCall(call, spreads)
			if why != "" {
				problems = append(problems, c.where+": "+why)
			}
			if isLog {
				calls = append(calls, c)
			}
			return true
		})
	}
	return calls, problems
}

func (f *sourceFile) logCall(call *ast.CallExpr, spreads map[string][]string) (c logCall, why string, isLog bool) {
	sel, isMethod := call.Fun.(*ast.SelectorExpr)
	if !isMethod {
		return c, "", false
	}
	level, isLevel := logLevels[sel.Sel.Name]
	if !isLevel || !loggerName.MatchString(f.text(sel.X)) {
		return c, "", false
	}
	c = logCall{where: fileSet.Position(call.Pos()).String(), level: level}
	args := call.Args
	if strings.HasSuffix(sel.Sel.Name, "Context") {
		args = args[1:]
	}
	if level != "" {
		message, constant := literal(args[0])
		if !constant {
			return c, "the message is no constant text", true
		}
		c.message, args = message, args[1:]
	}
	if call.Ellipsis.IsValid() {
		last, isCall := args[len(args)-1].(*ast.CallExpr)
		name, isSelector := (*ast.SelectorExpr)(nil), false
		if isCall {
			name, isSelector = last.Fun.(*ast.SelectorExpr)
		}
		if !isSelector || spreads[f.Pkg+"."+name.Sel.Name] == nil {
			return c, "the keys are spread from something other than a function that returns []any{...}", true
		}
		c.keys, args = append(c.keys, spreads[f.Pkg+"."+name.Sel.Name]...), args[:len(args)-1]
	}
	keys, why := pairKeys(args)
	c.keys = append(c.keys, keys...)
	return c, why, true
}

func (f *sourceFile) text(n ast.Node) string {
	return string(f.Text[n.Pos()-f.AST.FileStart : n.End()-f.AST.FileStart])
}

// pairKeys reads key, value, key, value.
func pairKeys(args []ast.Expr) (keys []string, why string) {
	if len(args)%2 != 0 {
		return nil, "keys and values do not pair up"
	}
	for i := 0; i < len(args); i += 2 {
		key, constant := literal(args[i])
		if !constant {
			return keys, "a key is no constant text"
		}
		keys = append(keys, key)
	}
	return keys, ""
}

// attrKeys finds the functions that only return pairs for a logger.
func attrKeys(files []*sourceFile) map[string][]string {
	found := map[string][]string{}
	for _, f := range files {
		for _, d := range f.AST.Decls {
			fn, isFunc := d.(*ast.FuncDecl)
			if !isFunc || fn.Body == nil || len(fn.Body.List) != 1 {
				continue
			}
			ret, isReturn := fn.Body.List[0].(*ast.ReturnStmt)
			if !isReturn || len(ret.Results) != 1 {
				continue
			}
			list, isList := ret.Results[0].(*ast.CompositeLit)
			if !isList || f.text(list.Type) != "[]any" {
				continue
			}
			if keys, why := pairKeys(list.Elts); why == "" {
				found[f.Pkg+"."+fn.Name.Name] = keys
			}
		}
	}
	return found
}

func literal(e ast.Expr) (string, bool) {
	lit, isLit := e.(*ast.BasicLit)
	if !isLit || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// The check above is worth as much as what it sees.
func TestLogCallsAreSeen(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`x.log.Warn("m", "a", 1, "b", 2)`:          `[{x/x.go warn m [a b]}] []`,
		`l.o.Logger.InfoContext(ctx, "m", "a", 1)`: `[{x/x.go info m [a]}] []`,
		`slog.Default().Error("m")`:                `[{x/x.go error m []}] []`,
		`x.log.With("node", 1)`:                    `[{x/x.go   [node]}] []`,
		`x.log.Warn("m", e.pairs()...)`:            `[{x/x.go warn m [p q]}] []`,
		`x.log.Warn("m", e.others()...)`:           `[{x/x.go warn m []}] [the keys are spread from something other than a function that returns []any{...}]`,
		`x.log.Warn("m" + text)`:                   `[{x/x.go warn  []}] [the message is no constant text]`,
		`x.log.Warn("m", key, 1)`:                  `[{x/x.go warn m []}] [a key is no constant text]`,
		`x.log.Warn("m", "a")`:                     `[{x/x.go warn m []}] [keys and values do not pair up]`,
		`t.Error("m", "a")`:                        `[] []`,
		`err.Error()`:                              `[] []`,
	} {
		f, err := parseSource("x/x.go", []byte("package x\nfunc (e *e) pairs() []any { return []any{\"p\", 1, \"q\", 2} }\nfunc f() { "+source+" }\n"))
		if err != nil {
			t.Fatal(err)
		}
		calls, problems := logCalls([]*sourceFile{f})
		for i := range calls {
			calls[i].where, _, _ = strings.Cut(calls[i].where, ":")
		}
		for i := range problems {
			problems[i] = problems[i][strings.LastIndex(problems[i], ": ")+2:]
		}
		if got := fmt.Sprint(calls, problems); got != want {
			t.Errorf("%s is seen as %s, want %s", source, got, want)
		}
	}
}
