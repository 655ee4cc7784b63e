package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Problem is one thing that is wrong with a definition. Its texts are for the person who wrote it.
type Problem struct {
	Pointer string   `json:"pointer"`           // JSON pointer into the document: "/spec/trigger/cron"
	Code    string   `json:"code"`              // stable, upper snake: one of the Code constants
	Message string   `json:"message"`           // what is wrong, without the pointer
	Allowed []string `json:"allowed,omitempty"` // the closed list to choose from, if there is one
	Hint    string   `json:"hint,omitempty"`    // what to write instead
}

// The codes of problems. They are a promise to programs; the messages are not.
const (
	CodeRequired     = "REQUIRED"           // something must be given
	CodeExactlyOne   = "EXACTLY_ONE"        // one of several must be given, no more
	CodeUnknownKey   = "UNKNOWN_KEY"        // no such key
	CodeDuplicateKey = "DUPLICATE_KEY"      // a key is given twice
	CodeTwin         = "DUPLICATE_NAME"     // two schedules of one set have one name
	CodeWrongType    = "WRONG_TYPE"         // a list where a text belongs, and the like
	CodeUnknownValue = "UNKNOWN_VALUE"      // not in the closed list
	CodeBadFormat    = "BAD_FORMAT"         // the text does not have the form it needs
	CodeOutOfRange   = "OUT_OF_RANGE"       // too small, too large, too many, too long
	CodeConflict     = "CONFLICT"           // two keys contradict each other
	CodeCronSyntax   = "CRON_SYNTAX"        // not a cron expression
	CodeCronNever    = "CRON_NEVER"         // an expression that no date can satisfy
	CodeBadZone      = "BAD_TIME_ZONE"      // not an IANA time zone name
	CodeNotYet       = "NOT_YET_SUPPORTED"  // known, and refused rather than ignored until it is built
	CodeSyntax       = "SYNTAX"             // the document itself cannot be read
	CodeLimit        = "LIMIT"              // the document is larger than Belfry reads
	CodeUser         = "USER_NOT_SUPPORTED" // a crontab line of another user
	CodeDangling     = "BELONGS_TO_NO_LINE" // a belfry comment above no crontab line
	CodeDocument     = "UNKNOWN_DOCUMENT"   // another apiVersion or kind
)

// String prints the problem in one line, and the list of what is allowed in a second one.
func (p Problem) String() string {
	text := p.Message
	if p.Pointer != "" {
		text = p.Pointer + ": " + text
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	if len(p.Allowed) > 0 {
		text += "\n    allowed: " + strings.Join(p.Allowed, ", ")
	}
	return text
}

// Invalid is the error that lists everything that is wrong with one definition. It is never empty.
type Invalid struct {
	Problems []Problem
}

// Error prints the number of problems and each of them on lines of its own.
func (e *Invalid) Error() string {
	if len(e.Problems) == 1 {
		return e.Problems[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d problems", len(e.Problems))
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

// invalid returns the problems as an error; nil if there are none.
func invalid(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &Invalid{Problems: problems}
}

// DidYouMean returns `did you mean "x"?` for the candidate nearest to the word, or "" if none is near. Case never
// counts. The candidates should be few thousands at most: each is compared.
func DidYouMean(word string, candidates []string) string {
	if near := nearest(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// nearest allows one mistake in three characters, and takes the first of equally near candidates in lexical order.
func nearest(word string, candidates []string) string {
	const longest = 64 // nobody means a word of a kilobyte
	if word == "" || len(word) > longest {
		return ""
	}
	folded := strings.ToLower(word)
	best, bestAt := "", max(1, len(folded)/3)+1
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := distance(folded, strings.ToLower(c), bestAt); d < bestAt && d < len(c) {
			best, bestAt = c, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that lead from a to b; any number of
// at least limit stands for "too many".
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// problemsOf returns the problems of an *Invalid; any other error becomes one problem.
func problemsOf(err error) []Problem {
	var e *Invalid
	if errors.As(err, &e) {
		return slices.Clone(e.Problems)
	}
	return []Problem{{Code: CodeBadFormat, Message: err.Error()}}
}
