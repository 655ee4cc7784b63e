package belfry_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The tests of this package look at the whole module from outside: at its
// imports (arch_test.go), at its size (size_test.go) and at what its documents
// claim (docs_test.go). This file reads the tree once for all of them. It
// parses files instead of asking `go list`, so that files behind build tags
// and packages that do not compile yet obey the same rules.

const modulePath = "github.com/belfryhq/belfry"

// A sourceFile is one parsed Go file.
type sourceFile struct {
	Path string // relative to the module's root, slashes
	Pkg  string // relative directory; "." for the root
	Test bool   // ends in _test.go
	Text []byte
	AST  *ast.File
}

// imports returns the import paths of the file; those inside the module are
// given relative to its root.
func (f *sourceFile) imports() (own, others []string) {
	for _, spec := range f.AST.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused such a file already
		}
		switch rest, inside := strings.CutPrefix(name, modulePath+"/"); {
		case name == modulePath:
			own = append(own, ".")
		case inside:
			own = append(own, rest)
		default:
			others = append(others, name)
		}
	}
	return own, others
}

func (f *sourceFile) generated() bool { return ast.IsGenerated(f.AST) }

// span returns the text of a declaration with its doc comment.
func (f *sourceFile) span(fn *ast.FuncDecl) string {
	from := fn.Pos()
	if fn.Doc != nil {
		from = fn.Doc.Pos()
	}
	base := f.AST.FileStart
	return string(f.Text[from-base : fn.End()-base])
}

var (
	treeFiles = sync.OnceValues(readTree)
	fileSet   = token.NewFileSet()
)

// tree returns every Go file of the module in lexical order of its path.
func tree(t *testing.T) []*sourceFile {
	t.Helper()
	files, err := treeFiles()
	if err != nil {
		t.Fatalf("reading the module's files: %v", err)
	}
	return files
}

func readTree() ([]*sourceFile, error) {
	var files []*sourceFile
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(name, d)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := readSource(filepath.ToSlash(name))
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// enter skips what the go command skips too, and nested modules.
func enter(name string, d fs.DirEntry) error {
	if name == "." {
		return nil
	}
	hidden := strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")
	if hidden || d.Name() == "testdata" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func readSource(name string) (*sourceFile, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parseSource(name, text)
}

func parseSource(name string, text []byte) (*sourceFile, error) {
	parsed, err := parser.ParseFile(fileSet, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &sourceFile{
		Path: name,
		Pkg:  path.Dir(name),
		Test: strings.HasSuffix(name, "_test.go"),
		Text: text,
		AST:  parsed,
	}, nil
}
