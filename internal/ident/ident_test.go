package ident

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestEncodedIdentifierReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var id ID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		text := Encode("run_", id)
		if len(text) != 30 {
			t.Fatalf("length %d of %q", len(text), text)
		}
		back, err := Decode("run_", text)
		if err != nil || back != id {
			t.Fatalf("Decode(%q) = %v, %v; want %v", text, back, err, id)
		}
	})
}

func TestTextSortsAsBytesDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var a, b ID
		copy(a[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "a"))
		copy(b[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "b"))
		if (Encode("", a) < Encode("", b)) != (bytes.Compare(a[:], b[:]) < 0) {
			t.Fatalf("order of %x and %x is lost", a, b)
		}
	})
}

func TestKnownTexts(t *testing.T) {
	t.Parallel()
	all := ID{}
	for i := range all {
		all[i] = 0xff
	}
	for text, want := range map[string]ID{
		"sch_00000000000000000000000000": {},
		"sch_7zzzzzzzzzzzzzzzzzzzzzzzzz": all,
		"sch_0000000000000000000000000Z": {15: 31},
	} {
		got, err := Decode("sch_", text)
		if err != nil || got != want {
			t.Errorf("Decode(%q) = %x, %v; want %x", text, got, err, want)
		}
	}
}

func TestBadTextsAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "run_", "sch_00000000000000000000000000", "run_0000000000000000000000000", "run_80000000000000000000000000", "run_0000000000000000000000000u"} {
		if _, err := Decode("run_", text); err == nil {
			t.Errorf("Decode(%q) was accepted", text)
		}
	}
}
