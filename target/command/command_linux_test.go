package command

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/schedule"
)

func TestAnswerIsTheCommands(t *testing.T) {
	t.Parallel()
	a := execute(timeout(t, 20*time.Second), t, shell("echo out; echo err >&2; exit 3"))
	if a.Code != "EXIT_CODE" || a.ExitCode == nil || *a.ExitCode != 3 || a.stdout != "out\n" || a.stderr != "err\n" || a.OutputBytes != 8 || a.Truncated {
		t.Errorf("got %+v", a)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := func(name, text string, mode os.FileMode) string {
		t.Helper()
		if err := os.WriteFile(dir+"/"+name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return dir + "/" + name
	}
	argv := func(args ...string) schedule.Command {
		c := shell("")
		c.Argv = args
		return c
	}
	elsewhere := shell("true")
	elsewhere.Dir = dir + "/gone"
	lenient := shell("exit 3")
	lenient.SuccessCodes = []int{0, 3}
	strict := shell("exit 0")
	strict.SuccessCodes = []int{7}
	for name, c := range map[string]struct {
		command schedule.Command
		code    string
		exit    int
		message string // part of it
	}{
		"success":               {shell("true"), "", 0, ""},
		"failure":               {shell("exit 9"), "EXIT_CODE", 9, "exit code 9"},
		"listed as success":     {lenient, "", 3, ""},
		"zero is not listed":    {strict, "EXIT_CODE", 0, "exit code 0"},
		"killed by a signal":    {shell("kill -9 $$"), "EXIT_CODE", 137, "signal 9"},
		"terminated":            {shell("kill -15 $$"), "EXIT_CODE", 143, "signal 15"},
		"no such program":       {argv("no-such-program"), "EXIT_CODE", 127, "not in PATH"},
		"no such file":          {argv(dir + "/nothing"), "EXIT_CODE", 127, "no such file"},
		"not executable":        {argv(script("text", "x", 0o644)), "EXIT_CODE", 126, "permission denied"},
		"no interpreter":        {argv(script("bang", "#!/no/such/shell\n", 0o755)), "EXIT_CODE", 126, "interpreter"},
		"no such directory":     {elsewhere, "EXIT_CODE", 126, "directory"},
		"a program of the PATH": {argv("true"), "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := execute(timeout(t, 20*time.Second), t, c.command)
			if a.Code != c.code || a.ExitCode == nil || *a.ExitCode != c.exit || !strings.Contains(a.Message, c.message) {
				t.Errorf("got code %q, exit %v, message %q; want %q, %d, %q", a.Code, a.ExitCode, a.Message, c.code, c.exit, c.message)
			}
		})
	}
}

// Nothing of the server's environment reaches a command but PATH, HOME, LANG and TZ: it may hold secrets.
func TestEnvironmentIsTheContracts(t *testing.T) {
	t.Parallel()
	c := shell("")
	c.Argv = []string{"env", "-0"}
	c.Env = map[string]string{"COLOUR": "gr\xfcn \"x\"\n", "LANG": "de_DE", "BELFRY_FENCE": "1"}
	d := delivery(c)
	var out sink
	d.Stdout = &out
	x := newTarget(t, Options{Environ: []string{"PATH=/usr/bin:/bin", "HOME=/root", "TZ=Asia/Tokyo", "LANG=C", "SECRET=x", "BELFRY_DB=y"}})
	if r := x.Run(timeout(t, 20*time.Second), d); !r.OK() {
		t.Fatalf("got %+v", r)
	}
	id := schedule.ID{4}.String()
	want := []string{
		"BELFRY_ATTEMPT=2", "BELFRY_DUE=2026-07-01T10:00:00.25Z", "BELFRY_FENCE=77", "BELFRY_KEY=" + id + ":2026-07-01T10:00:00.25Z",
		"BELFRY_KIND=scheduled", "BELFRY_RUN_ID=" + d.Run.ID.String(), "BELFRY_SCHEDULE=nightly",
		"COLOUR=gr\xfcn \"x\"\n", "HOME=/root", "LANG=de_DE", "PATH=/usr/bin:/bin", "TZ=Asia/Tokyo",
	}
	got := strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("environment\n%q, want\n%q", got, want)
	}
}

func TestInputAndDirectory(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "command")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := shell("pwd; cat")
	c.Dir, c.Stdin = dir, strings.Repeat("line\n", 100_000)
	a := execute(timeout(t, 20*time.Second), t, c)
	if !a.OK() || a.stdout != dir+"\n"+c.Stdin {
		t.Errorf("got %+v with %d bytes", a.Result, len(a.stdout))
	}
	c = shell("true") // reads nothing of half a megabyte
	c.Stdin = strings.Repeat("line\n", 100_000)
	if a := execute(timeout(t, 20*time.Second), t, c); !a.OK() {
		t.Errorf("unread input: %+v", a.Result)
	}
	c = shell("cat")
	if a := execute(timeout(t, 20*time.Second), t, c); !a.OK() || a.stdout != "" {
		t.Errorf("no input: %+v, %q", a.Result, a.stdout)
	}
}

func TestHomeIsTheDefaultDirectory(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	c := shell("pwd")
	c.Dir = ""
	c.Env = map[string]string{"HOME": home}
	if a := execute(timeout(t, 20*time.Second), t, c); a.stdout != home+"\n" {
		t.Errorf("ran in %q, want %q (%+v)", a.stdout, home, a.Result)
	}
}

func TestOutputBeyondTheLimitIsCountedAndDropped(t *testing.T) {
	t.Parallel()
	c := shell("head -c 1000 /dev/zero; head -c 500000 /dev/zero >&2")
	c.OutputLimit = 5000
	a := execute(timeout(t, 20*time.Second), t, c)
	if !a.OK() || !a.Truncated || a.OutputBytes != 501_000 || len(a.stdout)+len(a.stderr) != 5000 {
		t.Errorf("got %+v, kept %d and %d", a.Result, len(a.stdout), len(a.stderr))
	}
	c.OutputLimit = 501_000
	if a := execute(timeout(t, 20*time.Second), t, c); a.Truncated || len(a.stdout)+len(a.stderr) != 501_000 {
		t.Errorf("just within the limit: %+v", a.Result)
	}
	c.OutputLimit = 0
	if a := execute(timeout(t, 20*time.Second), t, c); !a.Truncated || len(a.stdout)+len(a.stderr) != 0 {
		t.Errorf("nothing is to be kept: %+v", a.Result)
	}
}

func TestManyCommandsAtOnce(t *testing.T) {
	t.Parallel()
	x := newTarget(t, Options{})
	results := make(chan string)
	const n = 40
	for i := range n {
		go func() {
			var out sink
			d := delivery(shell(fmt.Sprintf("echo %d", i)))
			d.Stdout = &out
			r := x.Run(timeout(t, 20*time.Second), d)
			results <- r.Code + strings.TrimSpace(out.String())
		}()
	}
	seen := map[string]bool{}
	for range n {
		seen[<-results] = true
	}
	for i := range n {
		if !seen[fmt.Sprint(i)] {
			t.Errorf("command %d did not answer as it should", i)
		}
	}
}
