package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxSpecBytes bounds the stored form of a spec.
const maxSpecBytes = 4 << 20

// EncodeSpec returns the canonical JSON of a complete spec. Equal specs have equal bytes, so that saving a definition
// that did not change can be seen and writes nothing (D32).
func EncodeSpec(s Spec) ([]byte, error) {
	text, err := marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write a spec as JSON: %w", err)
	}
	if len(text) > maxSpecBytes {
		return nil, invalid([]Problem{{Pointer: "/spec", Code: CodeOutOfRange,
			Message: fmt.Sprintf("takes %d bytes; at most %d are stored", len(text), maxSpecBytes)}})
	}
	return text, nil
}

// marshal is json.Marshal without the escapes that are meant for HTML, which make a shell line hard to read.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// DecodeSpec reads what EncodeSpec wrote and validates it, since somebody may have edited the row by hand
// (R-CRON-9). The error names the reason: it becomes the quarantine that operators see.
func DecodeSpec(text []byte) (Spec, error) {
	var s Spec
	if len(text) > maxSpecBytes {
		return Spec{}, fmt.Errorf("the stored spec has %d bytes, more than %d", len(text), maxSpecBytes)
	}
	if err := strictly(text, &s); err != nil {
		return Spec{}, fmt.Errorf("the stored spec cannot be read: %w", err)
	}
	if err := s.Validate(); err != nil {
		return Spec{}, fmt.Errorf("the stored spec is not valid: %w", err)
	}
	return s, nil
}

// strictly reads one JSON value and nothing after it; keys that v does not have are refused.
func strictly(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(v); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON value")
	}
	return nil
}

// triggerJSON is the written form of a trigger: one expression and one instant are written alone, several as a list.
type triggerJSON struct {
	Cron      any       `json:"cron,omitempty"`
	Seconds   *bool     `json:"seconds,omitempty"`
	DSTGap    string    `json:"dst_gap,omitempty"`
	DSTRepeat string    `json:"dst_repeat,omitempty"`
	Every     *Duration `json:"every,omitempty"`
	Anchor    *Instant  `json:"anchor,omitempty"`
	At        any       `json:"at,omitempty"`
}

// MarshalJSON writes the keys of the trigger's own kind, as a manifest has them: a single expression or instant as a
// string, several as a list.
func (t Trigger) MarshalJSON() ([]byte, error) {
	out := triggerJSON{DSTGap: t.DSTGap, DSTRepeat: t.DSTRepeat, Anchor: t.Anchor,
		Cron: alone(t.Cron), At: alone(t.At)}
	if t.Cron != nil {
		out.Seconds = &t.Seconds
	}
	if t.Every != 0 {
		out.Every = &t.Every
	}
	return marshal(out)
}

// alone returns the only element of a list, the list when there are several, and nil for none.
func alone[T any](list []T) any {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return list
}

// UnmarshalJSON reads what MarshalJSON writes, lists of one element included. Unknown keys are refused.
func (t *Trigger) UnmarshalJSON(text []byte) error {
	var in struct {
		Cron      oneOrMore[string]  `json:"cron"`
		Seconds   bool               `json:"seconds"`
		DSTGap    string             `json:"dst_gap"`
		DSTRepeat string             `json:"dst_repeat"`
		Every     Duration           `json:"every"`
		Anchor    *Instant           `json:"anchor"`
		At        oneOrMore[Instant] `json:"at"`
	}
	if err := strictly(text, &in); err != nil {
		return err
	}
	*t = Trigger{Cron: in.Cron, Seconds: in.Seconds, DSTGap: in.DSTGap, DSTRepeat: in.DSTRepeat,
		Every: in.Every, Anchor: in.Anchor, At: in.At}
	return nil
}

type oneOrMore[T any] []T

func (l *oneOrMore[T]) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]T)(l))
	}
	*l = make(oneOrMore[T], 1)
	return json.Unmarshal(text, &(*l)[0])
}
