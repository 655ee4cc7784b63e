package target

import (
	"fmt"

	"github.com/belfryhq/belfry/schedule"
)

// Consent says whose schedules may run commands on this machine: the setting command.allow. A command is arbitrary
// code under the account of the server, so only what its own operator wrote runs unless told otherwise (D35).
type Consent string

// The consents. The zero value means ConsentFile.
const (
	ConsentFile Consent = "file" // schedules of the file named on this server's own command line
	ConsentAll  Consent = "all"
	ConsentNone Consent = "none"
)

// ParseConsent reads a setting. "" is the default.
func ParseConsent(text string) (Consent, error) {
	switch c := Consent(text); c {
	case "":
		return ConsentFile, nil
	case ConsentFile, ConsentAll, ConsentNone:
		return c, nil
	default:
		return "", fmt.Errorf("command.allow is %q; allowed are file, all and none", text)
	}
}

// Permits answers whether a schedule of this origin may execute this target here. Only commands need consent. The
// error says which setting refuses it. It is asked when a definition is written, and again when a run starts, since
// the definition may have been stored under another setting.
func (c Consent) Permits(o schedule.Origin, t schedule.Target) error {
	if t.Command == nil {
		return nil
	}
	switch c {
	case ConsentAll:
		return nil
	case ConsentNone:
		return fmt.Errorf("commands are switched off on this server (command.allow: none)")
	default:
		if o == schedule.OriginFile {
			return nil
		}
		return fmt.Errorf("only schedules of this server's own file may run commands (command.allow: file); this one is of origin %s", o)
	}
}

// OriginOf tells whether a schedule was declared in a file. The identity of a declared schedule is a hash of its
// origin, tenant and name, which no other door can give it, so the answer needs no look into the store. Anything that
// is not from a file or from code counts as made through the API.
func OriginOf(id schedule.ID, tenant, name string) schedule.Origin {
	for _, o := range []schedule.Origin{schedule.OriginFile, schedule.OriginCode, schedule.OriginSystem} {
		if schedule.DeclaredID(o, tenant, name) == id {
			return o
		}
	}
	return schedule.OriginAPI
}
