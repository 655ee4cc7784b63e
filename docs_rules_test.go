package belfry_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const rulesFile = "docs/reference/rules.md"

var (
	ruleID    = regexp.MustCompile(`\b([ABCDP][1-9][0-9]?)[a-e]?\b`)
	ruleEntry = regexp.MustCompile(`(?m)^### ([ABCDP][1-9][0-9]?)$`)
	ruleLink  = regexp.MustCompile(`\]\((?:[^)#]*rules\.md)?#([abcdp][0-9]+)\)`)
)

// Whoever reads a comment can look up the rules it cites: a name that only its
// author understands explains nothing.
func TestCitedRulesHaveEntries(t *testing.T) {
	t.Parallel()
	entries := map[string]bool{}
	for _, m := range ruleEntry.FindAllStringSubmatch(readText(t, rulesFile), -1) {
		if entries[m[1]] {
			t.Errorf("%s has two entries %s; a link finds the first only", rulesFile, m[1])
		}
		entries[m[1]] = true
	}
	cited := map[string]string{} // by rule: a file that cites it
	for _, f := range tree(t) {
		for _, id := range rulesCited(f) {
			cited[id] = f.Path
		}
	}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, m := range ruleID.FindAllStringSubmatch(readText(t, file), -1) {
				cited[m[1]] = file
			}
			for _, m := range ruleLink.FindAllStringSubmatch(readText(t, file), -1) {
				cited[strings.ToUpper(m[1])] = file
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(cited)) {
		if !entries[id] {
			t.Errorf("%s cites %s, which has no entry in %s", cited[id], id, rulesFile)
		}
	}
}

// rulesCited returns the rules that the comments of a file name.
func rulesCited(f *sourceFile) []string {
	var ids []string
	for _, group := range f.AST.Comments {
		for _, m := range ruleID.FindAllStringSubmatch(group.Text(), -1) {
			ids = append(ids, m[1])
		}
	}
	return ids
}

func TestRulesAreFoundInComments(t *testing.T) {
	t.Parallel()
	f, err := parseSource("x/x.go", []byte(`package x

// PROTOCOL A4, B10 and A10e; D9 (P3).
const none = "C1" // no rule: P1DT2H, UTF8, R-A-1, S-021, x86
`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rulesCited(f), []string{"A4", "B10", "A10", "D9", "P3"}; !slices.Equal(got, want) {
		t.Errorf("cited: %q, want %q", got, want)
	}
}
