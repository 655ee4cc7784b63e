package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// testTimeout bounds one run of a guard's tests. A mutant may hang instead of failing, which shows nothing.
const testTimeout = 45 * time.Second

// builds holds the test binaries of this run, one a package.
type builds struct {
	root, dir string
	binaries  map[string]string
}

func newBuilds(ctx context.Context) (*builds, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", explain(err))
	}
	dir, err := os.MkdirTemp("", "belfry-mutants-")
	if err != nil {
		return nil, err
	}
	return &builds{root: strings.TrimSpace(string(root)), dir: dir, binaries: map[string]string{}}, nil
}

// explain adds what a program said on its error output.
func explain(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return err
}

func (b *builds) remove() { _ = os.RemoveAll(b.dir) } // best effort: the system clears it as well

// binary compiles a package's tests, with the faults in them, when they are first asked for.
func (b *builds) binary(ctx context.Context, pkg string) (string, error) {
	if file, ok := b.binaries[pkg]; ok {
		return file, nil
	}
	file := filepath.Join(b.dir, strings.ReplaceAll(pkg, "/", "-")+".test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-tags", "belfry_fault", "-o", file, "./"+pkg)
	build.Dir = b.root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	b.binaries[pkg] = file
	return file, nil
}

// verdict is what is known of one guard after its tests have run twice.
type verdict struct {
	noticed bool
	word    string // for the table
	why     string // it was not noticed
}

// try runs the guard's tests with it and without it. It returns what the run said that decided.
func (b *builds) try(ctx context.Context, g *guard) (verdict, string) {
	file, err := b.binary(ctx, g.pkg)
	if err != nil {
		return verdict{word: "no build", why: "its tests do not compile"}, err.Error()
	}
	whole := b.run(ctx, file, g, "")
	if v, ok := judgeWhole(g, whole); !ok {
		return v, whole.said
	}
	broken := b.run(ctx, file, g, g.name)
	return judgeBroken(g, broken), broken.said
}

// outcome is what a test binary did.
type outcome struct {
	failed bool              // its status
	tests  map[string]string // PASS, FAIL or SKIP by name
	said   string
}

// run executes the guard's tests in their package's directory, as go test does.
func (b *builds) run(ctx context.Context, file string, g *guard, without string) outcome {
	ctx, cancel := context.WithTimeout(ctx, testTimeout+5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, "-test.v", "-test.count=1", "-test.timeout="+testTimeout.String(), "-test.run="+pattern(g.show))
	cmd.Dir = filepath.Join(b.root, filepath.FromSlash(path.Clean(g.pkg)))
	cmd.Env = append(os.Environ(), "BELFRY_FAULT_WITHOUT="+without, "BELFRY_FAULT_CRASH=", "BELFRY_FAULT_EVERY=")
	cmd.WaitDelay = 5 * time.Second // a command that a mutant left behind may hold the output
	out, err := cmd.CombinedOutput()
	o := outcome{failed: err != nil, tests: results(out), said: string(out)}
	if ctx.Err() != nil {
		o.said += "\n" + context.Cause(ctx).Error()
	}
	return o
}

// pattern matches exactly the named tests: each part of a name between slashes by itself, and a name by a bar.
func pattern(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		parts := strings.Split(spelled(name), "/")
		for j, part := range parts {
			parts[j] = "^" + regexp.QuoteMeta(part) + "$"
		}
		list[i] = strings.Join(parts, "/")
	}
	return strings.Join(list, "|")
}

// spelled is a test's name as the testing package writes it.
func spelled(name string) string { return strings.ReplaceAll(name, " ", "_") }

var resultLine = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) `)

// results reads how each test ended.
func results(out []byte) map[string]string {
	tests := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if m := resultLine.FindStringSubmatch(lines.Text()); m != nil {
			tests[m[2]] = m[1]
		}
	}
	return tests
}

// judgeWhole reports whether every named test ran and passed in an unbroken build.
func judgeWhole(g *guard, o outcome) (verdict, bool) {
	for _, name := range g.show {
		switch o.tests[spelled(name)] {
		case "PASS":
		case "":
			return verdict{word: "no test", why: name + " did not run to its end"}, false
		default:
			return verdict{word: "broken", why: name + " does not pass with the guard in its place"}, false
		}
	}
	if o.failed {
		return verdict{word: "broken", why: "the tests fail with the guard in its place"}, false
	}
	return verdict{}, true
}

// judgeBroken decides whether the tests noticed. A test that hangs or brings the binary down has not said what is
// wrong, so only a failure of its own counts.
func judgeBroken(g *guard, o outcome) verdict {
	for _, name := range g.show {
		switch o.tests[spelled(name)] {
		case "FAIL":
		case "":
			return verdict{word: "no verdict", why: name + " did not run to its end without the guard"}
		default:
			return verdict{word: "SURVIVES", why: name + " passes without the guard"}
		}
	}
	if !o.failed {
		return verdict{word: "SURVIVES", why: "the tests pass without the guard"}
	}
	return verdict{noticed: true, word: "noticed"}
}
