package belfry_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	seen := map[string]bool{".": true, "internal/crash/mutants": true}
	for _, f := range tree(t) {
		if !seen[f.Pkg] && !strings.Contains(text, "`"+f.Pkg+"`") {
			t.Errorf("ARCHITECTURE.md does not name package %s", f.Pkg)
		}
		seen[f.Pkg] = true
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
