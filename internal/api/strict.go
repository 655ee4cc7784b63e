package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/belfryhq/belfry/schedule"
)

// maxNesting bounds how deep a body may be.
const maxNesting = 64

// strictly reads one JSON object into v and refuses what encoding/json lets pass: a key given twice, in whatever place,
// a null or an unknown key at the top, text after the object. The error is a *schedule.Invalid.
func strictly(body []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	w := walker{decoder: decoder, known: keysOf(v)}
	if err := w.value("", 0); err != nil {
		return notJSON(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return notJSON(errors.New("there is text after the object"))
	}
	if len(w.problems) > 0 {
		return &schedule.Invalid{Problems: w.problems}
	}
	if err := json.Unmarshal(body, v); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return &schedule.Invalid{Problems: []schedule.Problem{{Pointer: "/" + strings.ReplaceAll(wrong.Field, ".", "/"),
				Code: schedule.CodeWrongType, Message: fmt.Sprintf("a %s does not belong here", wrong.Value)}}}
		}
		return notJSON(err)
	}
	return nil
}

func notJSON(err error) error {
	message := err.Error()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		message = fmt.Sprintf("is not JSON, at byte %d", syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		message = "ends before the JSON does"
	}
	return &schedule.Invalid{Problems: []schedule.Problem{{Code: schedule.CodeSyntax, Message: message}}}
}

// keysOf lists the keys of the struct that v points to.
func keysOf(v any) []string {
	t := reflect.TypeOf(v).Elem()
	var keys []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		keys = append(keys, name)
	}
	return keys
}

// A walker goes over the tokens of one value, and goes on after a problem that leaves the text readable.
type walker struct {
	decoder  *json.Decoder
	known    []string
	problems []schedule.Problem
}

func (w *walker) add(pointer, code, message, hint string) {
	if len(w.problems) < 100 {
		w.problems = append(w.problems, schedule.Problem{Pointer: pointer, Code: code, Message: message, Hint: hint})
	}
}

func (w *walker) value(pointer string, depth int) error {
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	switch {
	case depth > maxNesting:
		return fmt.Errorf("is nested deeper than %d levels", maxNesting)
	case depth == 0 && open != '{':
		return errors.New("is not a JSON object")
	case token == nil && depth == 1:
		w.add(pointer, schedule.CodeWrongType, "null says nothing", "leave the key out")
	case nested && open == '{':
		return w.object(pointer, depth)
	case nested:
		for i := 0; w.decoder.More(); i++ {
			if err := w.value(fmt.Sprintf("%s/%d", pointer, i), depth+1); err != nil {
				return err
			}
		}
		_, err = w.decoder.Token()
	}
	return err
}

func (w *walker) object(pointer string, depth int) error {
	seen := map[string]bool{}
	for w.decoder.More() {
		token, err := w.decoder.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string) // the decoder accepts nothing else here
		at := pointer + "/" + schedule.Escape(key)
		switch {
		case seen[key]:
			w.add(at, schedule.CodeDuplicateKey, "is given twice", "")
		case depth == 0 && !slices.Contains(w.known, key):
			w.add(at, schedule.CodeUnknownKey, "there is no such key", schedule.DidYouMean(key, w.known))
			w.problems[len(w.problems)-1].Allowed = w.known
		}
		seen[key] = true
		if err := w.value(at, depth+1); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token()
	return err
}
