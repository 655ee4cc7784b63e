package main

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// namesGuard finds where a source asks whether a guard is to be left out. The loop, which stands below the package of
// the faults, asks by a function of its own.
var namesGuard = regexp.MustCompile(`(?:fault\.Without\(|"BELFRY_FAULT_WITHOUT"\), ","\), |map\[string\]string\{)"([a-z-]+)"`)

// A guard that the product's sources can leave out, and that no row tries, would be shown by nothing; a row without a
// place in the sources would try nothing.
func TestEveryGuardIsListed(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	err := fs.WalkDir(os.DirFS("../../.."), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (file == ".git" || file == "internal/fault" || file == "internal/crash"):
			return fs.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		source, err := os.ReadFile("../../../" + file)
		if strings.Contains(string(source), "fault.Without") || strings.Contains(string(source), "BELFRY_FAULT_WITHOUT") {
			for _, m := range namesGuard.FindAllSubmatch(source, -1) {
				named[string(m[1])] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, g := range guards {
		if listed[g.name] || len(g.show) == 0 || g.what == "" {
			t.Errorf("the row of %q is a second one, or incomplete", g.name)
		}
		listed[g.name] = true
		if !named[g.name] {
			t.Errorf("no source leaves %q out", g.name)
		}
	}
	for name := range named {
		if !listed[name] {
			t.Errorf("the guard %q of the sources is in no row", name)
		}
	}
	if len(guards) < 12 {
		t.Errorf("%d guards, fewer than twelve", len(guards))
	}
}

// A hunt that cannot fail shows nothing.
func TestOnlyNamedFailuresCount(t *testing.T) {
	t.Parallel()
	g := &guard{name: "g", show: []string{"TestA", "TestB/is so"}}
	const a, b = "--- FAIL: TestA (0.00s)\n", "    --- FAIL: TestB/is_so (0.00s)\n"
	for name, c := range map[string]struct {
		failed    bool
		said      string
		word      string
		wholeWord string // the verdict if this was said with the guard in its place
	}{
		"both fail":            {true, a + b, "noticed", "broken"},
		"both pass":            {false, strings.ReplaceAll(a+b, "FAIL", "PASS"), "SURVIVES", ""},
		"one passes":           {true, a + strings.ReplaceAll(b, "FAIL", "PASS"), "SURVIVES", "broken"},
		"one is skipped":       {true, a + strings.ReplaceAll(b, "FAIL", "SKIP"), "SURVIVES", "broken"},
		"another test fails":   {true, "--- FAIL: TestC (0.00s)\n" + strings.ReplaceAll(a+b, "FAIL", "PASS"), "SURVIVES", "broken"},
		"the binary hangs":     {true, a + "panic: test timed out after 45s\n", "no verdict", "broken"},
		"the binary is killed": {true, "", "no verdict", "no test"},
		"nothing matches":      {false, "testing: warning: no tests to run\nPASS\n", "no verdict", "no test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := outcome{failed: c.failed, tests: results([]byte(c.said))}
			if v := judgeBroken(g, o); v.word != c.word || v.noticed != (c.word == "noticed") {
				t.Errorf("without the guard: %+v, want %q", v, c.word)
			}
			if v, ok := judgeWhole(g, o); v.word != c.wholeWord || ok != (c.wholeWord == "") {
				t.Errorf("with the guard: %+v, %v, want %q", v, ok, c.wholeWord)
			}
		})
	}
}

func TestPatternsNameTheirTestsAlone(t *testing.T) {
	t.Parallel()
	got := pattern([]string{"TestA/is so, e.g. (x)", "TestB"})
	if want := `^TestA$/^is_so,_e\.g\._\(x\)$|^TestB$`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, part := range slices.Compact(strings.FieldsFunc(got, func(r rune) bool { return r == '/' || r == '|' })) {
		if _, err := regexp.Compile(part); err != nil {
			t.Error(err)
		}
	}
}
