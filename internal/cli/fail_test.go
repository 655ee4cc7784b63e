package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Exit code 3 says that a schedule or a run is not there. A port that something else took says nothing of the kind.
func TestAnswerOfAnotherProgramIsNotANotFound(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	var stderr bytes.Buffer
	e := &env{stdout: &bytes.Buffer{}, stderr: &stderr, getenv: func(string) string { return "" }, environ: func() []string { return nil }, now: time.Now}
	if code := e.run([]string{"schedule", "get", "nightly", "--server", server.URL}); code != exitUnreachable {
		t.Errorf("exit %d, want %d: %s", code, exitUnreachable, &stderr)
	}
	if !strings.Contains(stderr.String(), "not one of a belfry server") {
		t.Errorf("it says %s", &stderr)
	}
}
