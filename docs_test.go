package belfry_test

import (
	"flag"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// docs/requirements.md and docs/scenarios.md say which test shows what. The
// tests here hold them to it: every id once, every named test exists, is not
// skipped, and names the id itself.
//
// `make docs-report` (-update) fills the test columns from the ids that tests
// name, so that nobody keeps two lists by hand.

var updateDocs = flag.Bool("update", false, "fill the test columns of docs/requirements.md and docs/scenarios.md")

const (
	todoTest = "TODO-test" // stands where no test names the id yet; fails
	maxNamed = 3           // tests that -update names in one row
)

// requirementCounts are the groups of the requirements and how many each has.
var requirementCounts = map[string]int{
	"TRG": 13, "CRON": 11, "TZ": 8, "KEY": 19, "WIN": 16, "LOOP": 19, "DEL": 12, "LEAD": 19, "SHARD": 4,
	"REC": 27, "DEF": 15, "MIS": 13, "OVL": 15, "TX": 8, "CON": 10, "WRK": 12, "LSE": 8, "RTY": 5, "STA": 7,
	"ONE": 7, "NOW": 5, "TEN": 6, "SEC": 4, "AUD": 7, "RET": 17, "DOC": 3, "MET": 8, "CLI": 5, "CFG": 5,
	"UI": 3, "SYS": 6, "EVT": 4, "STO": 4, "TST": 7, "WARN": 7,
}

// scenarioRanges are the numbers that scenarios have, both ends included.
var scenarioRanges = [][2]int{{1, 127}, {201, 294}}

func requirementIDs() []string {
	var ids []string
	for group, count := range requirementCounts {
		for n := 1; n <= count; n++ {
			ids = append(ids, fmt.Sprintf("R-%s-%d", group, n))
		}
	}
	return ids
}

func scenarioIDs() []string {
	var ids []string
	for _, r := range scenarioRanges {
		for n := r[0]; n <= r[1]; n++ {
			ids = append(ids, fmt.Sprintf("S-%03d", n))
		}
	}
	return ids
}

// requirementStates are the words the state column may begin with. "done" asks
// for a test, the others forbid one.
var requirementStates = []string{"done", "issue 3", "issue 4", "later", "not applicable: "}

func TestRequirementsTable(t *testing.T) {
	t.Parallel()
	table := readTable(t, "docs/requirements.md", []string{"id", "state", "test", "note"})
	table.checkIDs(t, requirementIDs())
	shown := testsInTree(t)
	for _, r := range table.rows {
		id, state, note := r[0], r[1], r[3]
		known := func(s string) bool { return s == state || strings.HasSuffix(s, ": ") && strings.HasPrefix(state, s) }
		switch {
		case !slices.ContainsFunc(requirementStates, known):
			t.Errorf("%s: %s has state %q; known are %q", table.file, id, state, requirementStates)
		case note == "":
			t.Errorf("%s: %s has no note", table.file, id)
		case state == "done":
			table.checkTests(t, r, 2, shown)
		case r[2] != "-":
			t.Errorf("%s: %s is %s and names a test: done?", table.file, id, state)
		}
	}
	table.write(t)
}

// scenarioWaits are the entries of the test column that stand for "not yet".
var scenarioWaits = []string{"issue 3", "issue 4", "later"}

func TestScenariosTable(t *testing.T) {
	t.Parallel()
	table := readTable(t, "docs/scenarios.md", []string{"id", "test", "what is asserted"})
	table.checkIDs(t, scenarioIDs())
	shown := testsInTree(t)
	for _, r := range table.rows {
		if r[2] == "" {
			t.Errorf("%s: %s does not say what is asserted", table.file, r[0])
		}
		if !slices.Contains(scenarioWaits, r[1]) {
			table.checkTests(t, r, 1, shown)
		} else if names := shown.naming(r[0]); len(names) > 0 {
			t.Logf("%s waits for %s, though %s names it", r[0], r[1], strings.Join(names, ", "))
		}
	}
	table.write(t)
}

// A docTable is a Markdown file whose rows, in all its tables together, start
// with an id.
type docTable struct {
	file    string
	lines   []string
	rows    [][]string // cells, trimmed
	at      []int      // line of each row
	changed bool
}

var idCell = regexp.MustCompile(`^\| *([RS]-[A-Z0-9-]+) *\|`)

func readTable(t *testing.T, file string, columns []string) *docTable {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	table := &docTable{file: file, lines: strings.Split(string(text), "\n")}
	for i, line := range table.lines {
		if strings.HasPrefix(line, "| id |") && !slices.Equal(cells(line), columns) {
			t.Fatalf("%s:%d: columns %q, want %q", file, i+1, cells(line), columns)
		}
		if !idCell.MatchString(line) {
			continue
		}
		row := cells(line)
		if len(row) != len(columns) {
			t.Fatalf("%s:%d: %d cells, want %d", file, i+1, len(row), len(columns))
		}
		table.rows = append(table.rows, row)
		table.at = append(table.at, i)
	}
	return table
}

func cells(line string) []string {
	parts := strings.Split(strings.Trim(line, "| "), "|")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

func (d *docTable) checkIDs(t *testing.T, want []string) {
	t.Helper()
	count := map[string]int{}
	for _, r := range d.rows {
		count[r[0]]++
	}
	for _, id := range want {
		if count[id] != 1 {
			t.Errorf("%s: %s has %d rows, want 1", d.file, id, count[id])
		}
		delete(count, id)
	}
	for id := range count {
		t.Errorf("%s: there is no %s", d.file, id)
	}
}

// checkTests holds the test cell of one row against the tree; with -update it
// fills the cell first.
func (d *docTable) checkTests(t *testing.T, r []string, column int, shown testIndex) {
	t.Helper()
	id := r[0]
	if *updateDocs {
		if filled := shown.fill(id, r[column]); filled != r[column] {
			r[column], d.changed = filled, true
		}
	}
	for _, problem := range shown.problems(id, r[column]) {
		t.Errorf("%s: %s: %s", d.file, id, problem)
	}
}

func (d *docTable) write(t *testing.T) {
	t.Helper()
	if !d.changed {
		return
	}
	for i, r := range d.rows {
		d.lines[d.at[i]] = "| " + strings.Join(r, " | ") + " |"
	}
	if err := os.WriteFile(d.file, []byte(strings.Join(d.lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A shownTest is one Test or Fuzz function and the ids it names in its comment
// or body.
type shownTest struct {
	ids     map[string]bool
	skipped bool
}

// A testIndex holds every test of the tree by "package/path.TestName"; tests
// of the root package are "belfry.TestName".
type testIndex map[string]shownTest

func testsInTree(t *testing.T) testIndex {
	t.Helper()
	index := testIndex{}
	for _, f := range tree(t) {
		if f.Test && f.Path != "docs_test.go" { // this file's ids are examples
			index.add(f)
		}
	}
	return index
}

func (x testIndex) add(f *sourceFile) {
	for _, d := range f.AST.Decls {
		fn, isFunc := d.(*ast.FuncDecl)
		if !isFunc || fn.Recv != nil || fn.Body == nil || !isTestName(fn.Name.Name) {
			continue
		}
		pkg := f.Pkg
		if pkg == "." {
			pkg = path.Base(modulePath)
		}
		x[pkg+"."+fn.Name.Name] = shownTest{ids: idsIn(f.span(fn)), skipped: skips(fn)}
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

func FuzzOther(f *testing.F) { f.Add("S-052") }

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

// Each direct dependency has its reason, and no reason outlives its module.
func TestEveryDependencyHasAReason(t *testing.T) {
	t.Parallel()
	direct := map[string]bool{}
	for _, line := range strings.Split(readText(t, "go.mod"), "\n") {
		if f := strings.Fields(line); len(f) == 2 && strings.Contains(f[0], "/") && f[0] != "module" {
			direct[f[0]] = true // an indirect one has a comment behind it
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(readText(t, "docs/dependencies.md"), -1) {
		if !direct[m[1]] {
			t.Errorf("docs/dependencies.md: %s is no direct dependency of go.mod", m[1])
		}
		delete(direct, m[1])
	}
	for module := range direct {
		t.Errorf("docs/dependencies.md gives no reason for %s", module)
	}
}

// A link of a document leads somewhere.
func TestLinksOfDocumentsResolve(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		for _, m := range link.FindAllStringSubmatch(readText(t, file), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			}
		}
	}
}

// ARCHITECTURE.md names every package of the import table that exists.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	t.Parallel()
	text := readText(t, "ARCHITECTURE.md")
	for _, f := range tree(t) {
		if f.Pkg != "." && !strings.Contains(text, "`"+f.Pkg+"`") && f.Pkg != "internal/crash/mutants" {
			t.Errorf("ARCHITECTURE.md does not name package %s", f.Pkg)
		}
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
