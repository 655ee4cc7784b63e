package belfry_test

import (
	"bytes"
	"go/ast"
	"testing"
)

const (
	maxFileLines = 400
	maxFuncLines = 70
	maxMainLines = 30
)

// largeFiles and largeFuncs ("path: name") hold what may be larger, and why it
// reads better in one piece. An entry that is no longer needed fails, too.
var (
	largeFiles = map[string]string{}
	largeFuncs = map[string]string{}
)

// A file that does not fit into a reader's head hides what it does. Test files
// are long tables often enough and are not counted.
func TestFilesAndFunctionsStaySmall(t *testing.T) {
	t.Parallel()
	needed := map[string]bool{}
	for _, f := range tree(t) {
		if f.Test || f.generated() {
			continue
		}
		lines := bytes.Count(f.Text, []byte("\n"))
		if lines > maxFileLines {
			needed[f.Path] = true
			if largeFiles[f.Path] == "" {
				t.Errorf("%s has %d lines, more than %d: split it, or give a reason in largeFiles", f.Path, lines, maxFileLines)
			}
		}
		for name, lines := range functionLines(f) {
			key := f.Path + ": " + name
			if lines <= maxFuncLines {
				continue
			}
			needed[key] = true
			if largeFuncs[key] == "" {
				t.Errorf("%s has %d lines, more than %d: split it, or give a reason in largeFuncs", key, lines, maxFuncLines)
			}
		}
	}
	for _, list := range []map[string]string{largeFiles, largeFuncs} {
		for key := range list {
			if !needed[key] {
				t.Errorf("%q is listed as large and is not (any more)", key)
			}
		}
	}
}

func functionLines(f *sourceFile) map[string]int {
	sizes := map[string]int{}
	for _, d := range f.AST.Decls {
		fn, isFunc := d.(*ast.FuncDecl)
		if !isFunc || fn.Body == nil {
			continue
		}
		name := fn.Name.Name
		if fn.Recv != nil && len(fn.Recv.List) > 0 {
			from, to := fn.Recv.List[0].Type.Pos()-f.AST.FileStart, fn.Recv.List[0].Type.End()-f.AST.FileStart
			name = "(" + string(f.Text[from:to]) + ")." + name
		}
		sizes[name] = fileSet.Position(fn.End()).Line - fileSet.Position(fn.Pos()).Line + 1
	}
	return sizes
}

// main only calls the program; whatever it did could be tested by nobody.
func TestMainIsShort(t *testing.T) {
	t.Parallel()
	for _, f := range tree(t) {
		if f.Path != "cmd/belfry/main.go" {
			continue
		}
		if lines := bytes.Count(f.Text, []byte("\n")); lines >= maxMainLines {
			t.Errorf("%s has %d lines; main stays under %d", f.Path, lines, maxMainLines)
		}
	}
}
