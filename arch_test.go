package belfry_test

import (
	"go/ast"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// A layer is a ring of the program: imports point from a higher one to a lower
// one, never back. Within a ring the rows of importTable say who may see whom.
type layer int

const (
	noun     layer = iota // pure: no I/O, goroutine, clock or log
	support               // clocks and fault points
	loop                  // the loop for users without a database
	contract              // what a store and a target must hold
	provider              // stores and targets, and the kit that tests them
	engine                // loops that own the concurrency
	verb                  // who may do what
	door                  // HTTP, command line, client, formats of files
	wiring                // names the concrete stores and targets; main; process tests
)

// A row says what a package's own files may import, besides the standard
// library. Names ending in "/..." stand for everything below.
type row struct {
	layer   layer
	own     []string // packages of this module, relative to its root
	modules []string // modules of others
}

// importTable is the rule of ARCHITECTURE.md, enforced. A row may exist before
// its package does; a package without a row fails TestEveryPackageHasARow.
// Change it only together with a record in docs/design.
//
// Test files may import every package of their own ring or a lower one (so
// that a loop can be tested on a real store) and the modules of testModules.
// What unreachable forbids is forbidden to them, too.
var importTable = map[string]row{
	".":                  {layer: wiring}, // no API yet
	"cron":               {layer: noun},
	"trigger":            {layer: noun, own: []string{"cron"}},
	"internal/ident":     {layer: noun, modules: []string{"github.com/google/uuid"}},
	"run":                {layer: noun, own: []string{"cron", "trigger", "schedule", "internal/ident"}, modules: []string{"github.com/google/uuid"}},
	"schedule":           {layer: noun, own: []string{"cron", "trigger", "internal/ident"}, modules: []string{"github.com/google/uuid"}},
	"internal/plan":      {layer: noun, own: nouns},
	"internal/clock":     {layer: support, modules: []string{"golang.org/x/sys"}},
	"internal/fault":     {layer: support},
	"timeline":           {layer: loop, own: []string{"trigger"}},
	"timeline/memory":    {layer: loop, own: []string{"timeline"}},
	"timeline/redis":     {layer: loop, own: []string{"timeline"}}, // no client: its user brings one
	"timeline/claimtest": {layer: loop, own: []string{"timeline"}},
	"store":              {layer: contract, own: with(nouns, "timeline")},
	"target":             {layer: contract, own: with(nouns, "timeline")},
	"store/storetest":    {layer: provider, own: with(nouns, "timeline", "store", "internal/plan", "internal/clock"), modules: testModules},
	"store/memory":       {layer: provider, own: with(nouns, "timeline", "store", "internal/clock", "internal/fault")},
	"internal/sqlstore": {layer: provider, own: with(nouns, "timeline", "store", "internal/clock", "internal/fault"),
		modules: []string{"github.com/google/uuid"}},
	"store/sqlite": {layer: provider, own: with(nouns, "timeline", "store", "internal/sqlstore", "internal/clock", "internal/fault"),
		modules: []string{"modernc.org/sqlite", "golang.org/x/sys"}},
	"target/command":   {layer: provider, own: with(nouns, "target", "internal/fault"), modules: []string{"golang.org/x/sys"}},
	"internal/planner": {layer: engine, own: with(nouns, "timeline", "store", "internal/plan", "internal/clock", "internal/fault"), modules: []string{"github.com/google/uuid"}},
	"internal/worker":  {layer: engine, own: with(nouns, "timeline", "store", "target", "internal/clock", "internal/fault"), modules: []string{"github.com/google/uuid"}},
	// The judge of a simulated day counts by itself: its own files see what was asked and what became of it, no arithmetic.
	"internal/sim":      {layer: engine, own: []string{"schedule", "run"}},
	"control":           {layer: verb, own: with(nouns, "timeline", "store", "target", "internal/plan", "internal/clock", "internal/fault")},
	"internal/manifest": {layer: door, own: nouns, modules: []string{"go.yaml.in/yaml/v3"}},
	"internal/crontab":  {layer: door, own: with(nouns, "internal/manifest")},
	"internal/config":   {layer: door, own: nouns, modules: []string{"go.yaml.in/yaml/v3"}},
	"client":            {layer: door, own: nouns},
	"internal/api": {layer: door, own: with(nouns, "control", "client", "internal/manifest", "internal/fault"),
		modules: []string{"github.com/danielgtaylor/huma/v2"}},
	"internal/cli": {layer: wiring, own: with(nouns, "client", "target", "internal/manifest", "internal/crontab", "internal/config", "internal/app"),
		modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "go.yaml.in/yaml/v3"}},
	"internal/app": {layer: wiring, own: []string{"..."},
		modules: []string{"github.com/fsnotify/fsnotify", "github.com/google/uuid"}},
	"internal/crash":         {layer: wiring, own: []string{"..."}},
	"internal/crash/mutants": {layer: wiring, own: []string{"internal/crash"}},
	"cmd/belfry":             {layer: wiring, own: []string{"internal/cli", "internal/app", "target/command"}},
}

var nouns = []string{"cron", "trigger", "schedule", "run", "internal/ident"}

// testModules may be imported by any test file.
var testModules = []string{
	"github.com/google/go-cmp",
	"github.com/google/uuid",
	"github.com/rogpeppe/go-internal",
	"go.uber.org/goleak",
	"golang.org/x/sys",
	"pgregory.net/rapid",
}

// unreachable lists what may not be linked by a package over any path of
// imports, test files of the package itself included: an oracle that shares
// code with what it judges proves nothing, and a loop that knows its store
// cannot be given another.
var unreachable = map[string][]string{
	"store/memory":     {"internal/sqlstore", "store/sqlite"},
	"client":           {"store", "control", "internal/..."},
	"internal/plan":    {"store", "timeline"},
	"timeline":         {"store", "schedule", "internal/..."},
	"internal/planner": {"target/command"},
}

// unreachableOutsideTests is the same for the package's own files alone: its
// tests need something concrete to run on.
var unreachableOutsideTests = map[string][]string{
	"internal/planner": {"store/sqlite", "store/memory", "internal/sqlstore", "target/..."},
	"internal/worker":  {"store/sqlite", "store/memory", "internal/sqlstore", "target/command"},
	"store/storetest":  {"store/sqlite", "store/memory", "internal/sqlstore"},
	"control":          {"store/sqlite", "store/memory", "internal/sqlstore", "target/command"},
}

// impure is what the nouns may not import. "net/..." covers "net" as well.
var impure = []string{
	"context", "database/...", "io/ioutil", "log/...", "net/...", "os/...", "syscall/...", "testing/...",
}

func with(base []string, more ...string) []string { return append(slices.Clone(base), more...) }

// matches reports whether name is one of the patterns or below one that ends
// in "/...".
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		base, below := strings.CutSuffix(p, "...")
		if !below {
			return name == p
		}
		return strings.HasPrefix(name+"/", base)
	})
}

func standard(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".")
}

// fromModule reports whether the package belongs to one of the modules.
func fromModule(modules []string, name string) bool {
	return slices.ContainsFunc(modules, func(m string) bool {
		return name == m || strings.HasPrefix(name, m+"/")
	})
}

func TestEveryPackageHasARow(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range tree(t) {
		if _, known := importTable[f.Pkg]; known || seen[f.Pkg] {
			continue
		}
		seen[f.Pkg] = true
		t.Errorf("package %s has no row in importTable (arch_test.go): add its layer and what it may import, and say why in docs/design", f.Pkg)
	}
}

func TestImportsFollowTheTable(t *testing.T) {
	t.Parallel()
	for _, f := range tree(t) {
		for _, problem := range importProblems(f) {
			t.Error(problem)
		}
	}
}

func importProblems(f *sourceFile) []string {
	r, known := importTable[f.Pkg]
	if !known {
		return nil // TestEveryPackageHasARow reports it once
	}
	modules := r.modules
	if f.Test {
		modules = with(modules, testModules...)
	}
	var problems []string
	refuse := func(name, why string) {
		problems = append(problems, f.Path+" imports "+name+": "+why)
	}
	own, others := f.imports()
	for _, name := range own {
		if !mayImport(f, r, name) {
			refuse(name, "importTable does not allow it to "+f.Pkg)
		}
	}
	for _, name := range others {
		switch {
		case !standard(name) && !fromModule(modules, name):
			refuse(name, "importTable does not allow it to "+f.Pkg)
		case !f.Test && r.layer == noun && matches(impure, name):
			refuse(name, "a noun does no I/O and knows no context, clock or log")
		}
	}
	return problems
}

func mayImport(f *sourceFile, r row, name string) bool {
	if matches(r.own, name) || name == f.Pkg {
		return true
	}
	other, known := importTable[name]
	return f.Test && known && other.layer <= r.layer
}

// A noun is given the time and answers; whatever else it did could not be
// replayed in a test.
func TestNounsStayPure(t *testing.T) {
	t.Parallel()
	for _, f := range tree(t) {
		if f.Test || importTable[f.Pkg].layer != noun {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if why := impureNode(n); why != "" {
				t.Errorf("%s: %s", fileSet.Position(n.Pos()), why)
			}
			return true
		})
	}
}

func impureNode(n ast.Node) string {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a noun starts no goroutine"
	case *ast.SelectorExpr:
		pkg, isName := n.X.(*ast.Ident)
		if isName && pkg.Name == "time" && slices.Contains(clock, n.Sel.Name) {
			return "a noun takes the time as an argument; it calls time." + n.Sel.Name
		}
	}
	return ""
}

func TestUnreachablePackagesStayUnreachable(t *testing.T) {
	t.Parallel()
	plain, tests := importGraph(tree(t))
	for from, forbidden := range unreachable {
		for _, name := range reached(from, forbidden, plain, tests) {
			t.Errorf("%s or a test of it reaches %s", from, name)
		}
	}
	for from, forbidden := range unreachableOutsideTests {
		for _, name := range reached(from, forbidden, plain, nil) {
			t.Errorf("%s reaches %s", from, name)
		}
	}
}

// A graph holds the edges between packages of this module.
type graph map[string]map[string]bool

// reached returns which of the forbidden packages from arrives at over the
// edges of plain, its own test files' imports being added where tests is given.
// What a test reaches beyond its first step does not count: the kit that tests
// every store may know more than one.
func reached(from string, forbidden []string, plain, tests graph) []string {
	seen := map[string]bool{from: true}
	queue := slices.Sorted(maps.Keys(plain[from]))
	var found []string
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if seen[at] {
			continue
		}
		seen[at] = true
		if matches(forbidden, at) {
			found = append(found, at)
		}
		queue = append(queue, slices.Sorted(maps.Keys(plain[at]))...)
	}
	for name := range tests[from] {
		if !seen[name] && matches(forbidden, name) {
			found = append(found, name)
		}
	}
	return found
}

func importGraph(files []*sourceFile) (plain, tests graph) {
	plain, tests = graph{}, graph{}
	for _, f := range files {
		g := plain
		if f.Test {
			g = tests
		}
		if g[f.Pkg] == nil {
			g[f.Pkg] = map[string]bool{}
		}
		own, _ := f.imports()
		for _, name := range own {
			g[f.Pkg][name] = true
		}
	}
	return plain, tests
}

// The rules above are worth as much as their ability to fail.
func TestBrokenImportsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, imports string
		refused       bool
	}{
		{"cron/x.go", "time", false},
		{"cron/x.go", "context", true},
		{"cron/x.go", "net/http", true},
		{"cron/x_test.go", "os", false},
		{"cron/x.go", modulePath + "/trigger", true},
		{"cron/x.go", "github.com/google/uuid", true},
		{"cron/x_test.go", "pgregory.net/rapid", false},
		{"cron/x_test.go", modulePath + "/store", true},
		{"schedule/x.go", modulePath + "/trigger", false},
		{"timeline/x.go", modulePath + "/store", true},
		{"internal/planner/x.go", modulePath + "/store", false},
		{"internal/planner/x.go", modulePath + "/store/sqlite", true},
		{"internal/planner/x_test.go", modulePath + "/store/sqlite", false},
		{"internal/worker/x.go", modulePath + "/target/command", true},
		{"internal/api/x.go", modulePath + "/store", true},
		{"internal/cli/x.go", modulePath + "/store", true},
		{"client/x.go", modulePath + "/internal/api", true},
		{"internal/app/x.go", modulePath + "/store/sqlite", false},
		{"store/sqlite/x.go", "github.com/mattn/go-sqlite3", true},
	} {
		f, err := parseSource(c.file, []byte("package x\n\nimport _ \""+c.imports+"\"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := importProblems(f); (len(got) > 0) != c.refused {
			t.Errorf("%s importing %s: problems %q, want some: %v", c.file, c.imports, got, c.refused)
		}
	}
	plain := graph{"a": {"b": true}, "b": {"c/d": true}}
	if got := reached("a", []string{"c/..."}, plain, nil); !slices.Equal(got, []string{"c/d"}) {
		t.Errorf("reached over two steps: %q, want c/d", got)
	}
	if got := reached("b", []string{"x"}, plain, graph{"b": {"x": true}}); !slices.Equal(got, []string{"x"}) {
		t.Errorf("reached from a test: %q, want x", got)
	}
}

// A library user links what the core links. Anything heavy belongs to a
// package that is linked only by importing it.
func TestLibraryCoreLinksOnlySmallModules(t *testing.T) {
	t.Parallel()
	allowed := []string{modulePath, "github.com/google/uuid", "golang.org/x/sys"}
	args := []string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}
	for _, pkg := range corePackages(tree(t)) {
		args = append(args, "./"+pkg)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, problems.String())
	}
	linked := strings.Fields(string(out))
	slices.Sort(linked)
	for _, module := range slices.Compact(linked) {
		if !slices.Contains(allowed, module) {
			t.Errorf("the library core links %s; it may link %s only", module, strings.Join(allowed[1:], " and "))
		}
	}
}

// corePackages are those a Go program may embed without a database driver: not
// the doors, not the wiring, not the testing kit.
func corePackages(files []*sourceFile) []string {
	core := map[string]bool{".": true}
	for _, f := range files {
		r, known := importTable[f.Pkg]
		outside := r.layer >= door && f.Pkg != "client" || f.Pkg == "store/sqlite" || f.Pkg == "store/storetest" || f.Pkg == "timeline/claimtest"
		if known && !f.Test && !outside {
			core[f.Pkg] = true
		}
	}
	return slices.Sorted(maps.Keys(core))
}

// A package is named by what it means.
func TestNoPackageIsADrawer(t *testing.T) {
	t.Parallel()
	drawers := []string{"util", "utils", "common", "types", "models", "helpers", "manager", "misc", "base", "shared"}
	for _, f := range tree(t) {
		if slices.Contains(drawers, path.Base(f.Pkg)) {
			t.Errorf("%s: a package called %s says nothing about what it holds", f.Path, path.Base(f.Pkg))
		}
	}
}
