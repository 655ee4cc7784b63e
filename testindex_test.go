package belfry_test

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Which test shows which requirement or scenario, read from the tests
// themselves: an id counts where the comment or body of a test names it.

// A shownTest is one Test or Fuzz function and the ids it names in its comment
// or body.
type shownTest struct {
	ids     map[string]bool
	skipped bool
}

// A testIndex holds the tests of every package below the root by
// "package/path.TestName".
type testIndex map[string]shownTest

func testsInTree(t *testing.T) testIndex {
	t.Helper()
	index := testIndex{}
	for _, f := range tree(t) {
		if f.Test && f.Pkg != "." { // the ids of this package's tests are examples
			index.add(f)
		}
	}
	for pkg, entry := range kits {
		index.addKit(tree(t), pkg, entry)
	}
	return index
}

// kits are packages of tests that other tests run over what they open, and the
// function that runs them. A kit's tests stand in a table under unexported
// names; they are named here like any other: "store/storetest.testX".
var kits = map[string]string{
	"store/storetest":    "Run",
	"timeline/claimtest": "Run",
}

// addKit adds the functions of a kit that its tables hold. A kit that nobody
// runs shows nothing: its tests count as skipped.
func (x testIndex) addKit(files []*sourceFile, pkg, entry string) {
	idle, listed := true, map[string]bool{}
	for _, f := range files {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				runs, isSelector := n.Fun.(*ast.SelectorExpr)
				if f.Test && f.Pkg != pkg && isSelector && runs.Sel.Name == entry && nameOf(runs.X) == path.Base(pkg) {
					idle = false
				}
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					if f.Pkg == pkg && nameOf(e) != "" {
						listed[nameOf(e)] = true
					}
				}
			}
			return true
		})
	}
	for _, f := range files {
		for _, d := range f.AST.Decls {
			fn, isFunc := d.(*ast.FuncDecl)
			if isFunc && f.Pkg == pkg && fn.Recv == nil && listed[fn.Name.Name] {
				x[pkg+"."+fn.Name.Name] = shownTest{ids: idsIn(f.span(fn)), skipped: idle || skips(fn)}
			}
		}
	}
}

// nameOf returns the name of an expression that is one, or of the value of a
// field given by name.
func nameOf(e ast.Expr) string {
	if field, isField := e.(*ast.KeyValueExpr); isField {
		e = field.Value
	}
	name, isName := e.(*ast.Ident)
	if !isName {
		return ""
	}
	return name.Name
}

func (x testIndex) add(f *sourceFile) {
	for _, d := range f.AST.Decls {
		fn, isFunc := d.(*ast.FuncDecl)
		if !isFunc || fn.Recv != nil || fn.Body == nil || !isTestName(fn.Name.Name) {
			continue
		}
		x[f.Pkg+"."+fn.Name.Name] = shownTest{ids: idsIn(f.span(fn)), skipped: skips(fn)}
	}
}

func isTestName(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && name != "TestMain" {
			return rest == "" || strings.ToUpper(rest[:1]) == rest[:1]
		}
	}
	return false
}

func skips(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			found = found || slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name)
		}
		return !found
	})
	return found
}

// idText matches one id or a run of them: R-TRG-1..4, S-003..S-005, and a list
// after a requirement, R-TRG-1, 2, 13.
var idText = regexp.MustCompile(`\b(R-[A-Z]+-|S-)(\d+)((?:(?:\.\.|–| to )(?:R-[A-Z]+-|S-)?\d+\b|[,/] ?\d{1,2}\b)*)`)

var idMore = regexp.MustCompile(`(\.\.|–| to |[,/] ?)(R-[A-Z]+-|S-)?(\d+)`)

func idsIn(text string) map[string]bool {
	// A run may be broken over two comment lines.
	text = regexp.MustCompile(`\n\s*//\s*`).ReplaceAllString(text, " ")
	ids := map[string]bool{}
	for _, m := range idText.FindAllStringSubmatch(text, -1) {
		last := number(m[2])
		ids[idFor(m[1], last)] = true
		for _, more := range idMore.FindAllStringSubmatch(m[3], -1) {
			n, list := number(more[3]), strings.ContainsAny(more[1], ",/")
			switch {
			case m[1] == "S-" && (list || more[1] == " to " && more[2] == ""):
				continue // a number behind a scenario is a number
			case list:
				last = n - 1
			}
			for last < n {
				last++
				ids[idFor(m[1], last)] = true
			}
		}
	}
	return ids
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n > 1000 {
		return 0 // names no id
	}
	return n
}

func idFor(prefix string, n int) string {
	if prefix == "S-" {
		return fmt.Sprintf("S-%03d", n)
	}
	return fmt.Sprintf("%s%d", prefix, n)
}

// naming returns the tests that name an id and are not skipped.
func (x testIndex) naming(id string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if x[name].ids[id] && !x[name].skipped {
			names = append(names, name)
		}
	}
	return names
}

// fill keeps the tests of a cell that still show the id and adds what else
// names it, up to maxNamed; those that name the fewest ids come first, because
// they are about this one.
func (x testIndex) fill(id, cell string) string {
	var names []string
	for _, name := range splitTests(cell) {
		if x[name].ids[id] && !x[name].skipped {
			names = append(names, name)
		}
	}
	others := x.naming(id)
	slices.SortStableFunc(others, func(a, b string) int { return len(x[a].ids) - len(x[b].ids) })
	for _, name := range others {
		if len(names) < maxNamed && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return todoTest
	}
	return strings.Join(names, ", ")
}

func splitTests(cell string) []string {
	return strings.FieldsFunc(cell, func(r rune) bool { return r == ',' || r == ' ' || r == '`' })
}

func (x testIndex) problems(id, cell string) []string {
	names := splitTests(cell)
	if len(names) == 0 || slices.Contains(names, todoTest) {
		return []string{"no test is named"}
	}
	var problems []string
	for _, name := range names {
		test, exists := x[name]
		switch {
		case !exists:
			problems = append(problems, "no test "+name)
		case test.skipped:
			problems = append(problems, name+" can be skipped")
		case !test.ids[id]:
			problems = append(problems, name+" does not name the id")
		}
	}
	return problems
}

func TestIDsAreFoundInProse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"// Shows S-051 and S-7.":                  {"S-007", "S-051"},
		"R-TRG-1..3; R-KEY-2":                      {"R-KEY-2", "R-TRG-1", "R-TRG-2", "R-TRG-3"},
		"S-003..S-005":                             {"S-003", "S-004", "S-005"},
		"S-003 to S-005":                           {"S-003", "S-004", "S-005"},
		"R-MIS-1, 3..4, 8 and 9 others":            {"R-MIS-1", "R-MIS-3", "R-MIS-4", "R-MIS-8"},
		"R-LSE-1/2":                                {"R-LSE-1", "R-LSE-2"},
		"R-OVL-1,\n\t// 2":                         {"R-OVL-1", "R-OVL-2"},
		"S-079, 15 s":                              {"S-079"},
		"S-009 to 90 s":                            {"S-009"},
		"R-TX-1, 300 rows; XS-001; PROTOCOL A4":    {"R-TX-1"},
		"R-KEY-99999999999999999999 is no request": {"R-KEY-0"},
	} {
		if got := slices.Sorted(maps.Keys(idsIn(text))); !slices.Equal(got, want) {
			t.Errorf("ids in %q: %q, want %q", text, got, want)
		}
	}
}

// A table that lies must fail: a missing test, a skipped one, one about
// something else.
func TestFalseClaimsAreFound(t *testing.T) {
	t.Parallel()
	f, err := parseSource("cron/x_test.go", []byte(`package cron

// S-051: why it matters.
func TestGood(t *testing.T) {}

// S-051
func TestSkipped(t *testing.T) { t.Skip("not today") }

	func FuzzOther(f *testing.F) { f.Add("S-052") } // indented: scripts/fuzz looks for lines that begin with func

func helper() { _ = "S-051" }
`))
	if err != nil {
		t.Fatal(err)
	}
	index := testIndex{}
	index.add(f)
	for cell, want := range map[string]int{
		"cron.TestGood":                        0,
		"cron.TestGood, cron.TestGone":         1,
		"cron.TestSkipped":                     1,
		"cron.FuzzOther":                       1,
		"cron.FuzzOther, cron.TestSkipped":     2,
		"cron.helper":                          1,
		"trigger.TestGood":                     1,
		todoTest:                               1,
		"":                                     1,
		"cron.TestGood, cron.TestGood, nobody": 1,
	} {
		if got := index.problems("S-051", cell); len(got) != want {
			t.Errorf("cell %q: problems %q, want %d", cell, got, want)
		}
	}
	if got := index.fill("S-051", todoTest); got != "cron.TestGood" {
		t.Errorf("fill: %q, want cron.TestGood", got)
	}
	if got := index.fill("S-053", "cron.TestGone"); got != todoTest {
		t.Errorf("fill without a test: %q, want %q", got, todoTest)
	}
}

func TestKitsCountOnlyWhileTheyRun(t *testing.T) {
	t.Parallel()
	kit, err := parseSource("store/kit/kit.go", []byte(`package kit

var tests = []test{{"a", listed}}

// S-021
func listed(w *world) {}

// S-022
func helper() {}

func Run(t *testing.T) {}
`))
	if err != nil {
		t.Fatal(err)
	}
	user, err := parseSource("store/x_test.go", []byte("package store\n\nfunc TestAll(t *testing.T) { kit.Run(t) }\n"))
	if err != nil {
		t.Fatal(err)
	}
	idle, run := testIndex{}, testIndex{}
	idle.addKit([]*sourceFile{kit}, "store/kit", "Run")
	run.addKit([]*sourceFile{kit, user}, "store/kit", "Run")
	if got := idle.naming("S-021"); len(got) > 0 {
		t.Errorf("a kit that nobody runs shows S-021: %q", got)
	}
	if got := run.naming("S-021"); !slices.Equal(got, []string{"store/kit.listed"}) {
		t.Errorf("S-021 is named by %q, want store/kit.listed", got)
	}
	if got := run.naming("S-022"); len(got) > 0 {
		t.Errorf("a function in no table shows S-022: %q", got)
	}
}
