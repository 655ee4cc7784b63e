package schedule

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// zoneNames are the names of the IANA database that a schedule may use, for suggestions and for their spelling. A name
// of a newer release is accepted as well, if the zone data of this machine knows it.
//
//go:embed zones.txt
var zoneNames string

var knownZones = sync.OnceValue(func() []string { return strings.Fields(zoneNames) })

// abbreviated lists what the IANA database calls zones and people use as abbreviations. They are refused because each
// has an offset that is fixed, or rules of a place that it does not name.
var abbreviated = map[string]string{
	"GMT": "UTC", "GMT0": "UTC", "GMT+0": "UTC", "GMT-0": "UTC", "UCT": "UTC", "Z": "UTC", "Zulu": "UTC",
	"EST": "America/New_York", "EDT": "America/New_York", "EST5EDT": "America/New_York", "ET": "America/New_York",
	"CST": "America/Chicago", "CDT": "America/Chicago", "CST6CDT": "America/Chicago", "CT": "America/Chicago",
	"MST": "America/Denver", "MDT": "America/Denver", "MST7MDT": "America/Denver", "MT": "America/Denver",
	"PST": "America/Los_Angeles", "PDT": "America/Los_Angeles", "PST8PDT": "America/Los_Angeles", "PT": "America/Los_Angeles",
	"HST": "Pacific/Honolulu", "AKST": "America/Anchorage",
	"CET": "Europe/Berlin", "CEST": "Europe/Berlin", "MET": "Europe/Berlin", "MEZ": "Europe/Berlin", "MESZ": "Europe/Berlin",
	"EET": "Europe/Helsinki", "EEST": "Europe/Helsinki", "WET": "Europe/Lisbon", "WEST": "Europe/Lisbon",
	"BST": "Europe/London", "MSK": "Europe/Moscow", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "KST": "Asia/Seoul",
	"AEST": "Australia/Sydney", "AEDT": "Australia/Sydney", "NZST": "Pacific/Auckland", "NZDT": "Pacific/Auckland",
}

// zones keeps the zones that were loaded: 100,000 schedules share one Location of each zone instead of reading its
// file and holding it 100,000 times. Only names that loaded are kept, so the zone data bounds it.
var zones sync.Map // name to *time.Location

// Zone returns the time zone of that IANA name; "" is UTC. Abbreviations, "Local" and names outside the database are
// refused with an *Invalid that says what to write. All callers share one Location of each zone.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	refuse := func(message, hint string) (*time.Location, error) {
		return nil, invalid([]Problem{{Code: CodeBadZone, Message: message, Hint: hint}})
	}
	switch meant, isShort := abbreviated[name]; {
	case len(name) > maxText:
		return refuse(fmt.Sprintf("a time zone name has at most %d characters", maxText), "")
	case isShort && meant == "UTC":
		return refuse(fmt.Sprintf("%q is an abbreviation, not an IANA time zone name", name), "write UTC")
	case isShort:
		return refuse(fmt.Sprintf("%q is an abbreviation, not an IANA time zone name", name),
			fmt.Sprintf("write the name of a place whose clocks you mean, such as %s", meant))
	case strings.EqualFold(name, "local"):
		return refuse(fmt.Sprintf("%q means another zone on every machine", name), "write the IANA name of the zone, such as Europe/Berlin")
	}
	if zone := load(name); zone != nil {
		zones.Store(name, zone)
		return zone, nil
	}
	hint := DidYouMean(name, knownZones())
	if hint == "" {
		hint = "write an IANA name such as UTC or Europe/Berlin"
	}
	return refuse(fmt.Sprintf("there is no time zone %q", name), hint)
}

// load returns nil for a name that is not spelt as the database spells it. Zone data lies in files, and on some systems
// file names fold case, so the spelling is compared with the list first.
func load(name string) *time.Location {
	folded := func(known string) bool { return strings.EqualFold(known, name) }
	switch i := slices.IndexFunc(knownZones(), folded); {
	case i >= 0 && knownZones()[i] != name:
		return nil
	case i < 0 && !strings.Contains(name, "/"):
		return nil // "localtime", "posixrules", "Factory" and what else lies beside the zones
	case strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/"):
		return nil // copies of the database; those under "right" count leap seconds
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}
