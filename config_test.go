package belfry_test

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/config"
	"github.com/belfryhq/belfry/schedule"
)

// docs/reference/configuration.md has each setting once, with the flag, the
// variable and the default that the code gives it.
func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string][]string{}
	for line := range strings.Lines(readText(t, "docs/reference/configuration.md")) {
		row := cells(strings.TrimSpace(line))
		if len(row) != 4 || !strings.HasPrefix(line, "| `") {
			continue
		}
		key := strings.Trim(row[0], "`")
		if documented[key] != nil || row[3] == "" {
			t.Errorf("configuration.md: %s stands twice or without a meaning", key)
		}
		documented[key] = row
	}
	defaults := settingDefaults(t)
	for _, key := range config.Keys() {
		row := documented[key]
		if row == nil {
			t.Errorf("configuration.md does not have %s", key)
			continue
		}
		delete(documented, key)
		if want := "`" + config.Variable(key) + "`"; row[1] != want {
			t.Errorf("configuration.md gives %s the variable %s, the code %s", key, row[1], want)
		}
		if want, has := defaults[key]; has && row[2] != want {
			t.Errorf("configuration.md gives %s the default %s, the code %s", key, row[2], want)
		}
		delete(defaults, key)
	}
	for key := range documented {
		t.Errorf("configuration.md has %s, which is no setting", key)
	}
	for key := range defaults {
		t.Errorf("Config has a field for %q, which is no setting", key)
	}
}

// settingDefaults gives, by key, how the document writes the default of each
// field of Config.
func settingDefaults(t *testing.T) map[string]string {
	t.Helper()
	byField := map[string]string{}
	for _, key := range config.Keys() {
		byField[strings.NewReplacer("_", "", ".", "").Replace(key)] = key
	}
	c := reflect.ValueOf(config.Default(func(name string) string {
		return map[string]string{"HOME": "~"}[name]
	}))
	defaults := map[string]string{}
	for i := range c.NumField() {
		field := c.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		key, known := byField[strings.ToLower(field.Name)]
		if !known {
			key = field.Name
		}
		defaults[key] = settingText(t, c.Field(i).Interface())
	}
	return defaults
}

func settingText(t *testing.T, value any) string {
	t.Helper()
	text := ""
	switch v := value.(type) {
	case string:
		text = v
	case time.Duration:
		text = schedule.FormatDuration(v)
	case schedule.Duration:
		text = v.String()
	case slog.Level:
		text = strings.ToLower(v.String())
	case map[string]int:
		var parts []string
		for name, n := range v {
			parts = append(parts, fmt.Sprintf("%s=%d", name, n))
		}
		slices.Sort(parts)
		text = strings.Join(parts, ",")
	default:
		t.Fatalf("a setting of type %T: say how it is written", value)
	}
	if text == "" {
		return "none"
	}
	return "`" + text + "`"
}
