package app

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/belfryhq/belfry/schedule"
)

// MachineZone finds the IANA name of the zone that cron would use on this machine, and says where from: the variable TZ,
// or the link /etc/localtime. A zone whose name cannot be found (a copied file, a rule such as "CET-1CEST") gives UTC:
// a schedule must mean the same after a move to another machine, which bytes without a name cannot promise.
func MachineZone(getenv func(string) string) (zone, source string) {
	return machineZone(getenv("TZ"), "/etc/localtime")
}

func machineZone(tz, link string) (zone, source string) {
	if tz = strings.TrimPrefix(tz, ":"); tz != "" {
		if name := zoneName(tz); name != "" {
			return name, "TZ"
		}
		return "UTC", "TZ names no zone of the IANA database"
	}
	if path, err := filepath.EvalSymlinks(link); err == nil && path != link {
		if name := zoneName(path); name != "" {
			return name, link
		}
	}
	// a link that is broken on this machine still says the name
	if path, err := os.Readlink(link); err == nil {
		if name := zoneName(path); name != "" {
			return name, link
		}
	}
	return "UTC", "the machine's zone has no name that can be found"
}

// zoneName is the name of the zone in a path or a name; "" if it is none that a schedule may have.
func zoneName(path string) string {
	if _, after, ok := strings.Cut(path, "zoneinfo/"); ok {
		path = after
	}
	switch path {
	case "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu", "GMT", "Etc/GMT", "UTC0":
		return "UTC"
	}
	if _, err := schedule.Zone(path); err != nil || strings.HasPrefix(path, "/") {
		return ""
	}
	return path
}
