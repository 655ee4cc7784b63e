// Package belfry names the module and carries its tests of the whole tree; it
// has no API yet.
//
// Belfry is a scheduler whose runs can be late, but never silently lost. Every
// occurrence that a schedule owed ends as exactly one run, or as a counted
// place in a gap that says why there is none.
//
// What exists today is the server: `belfry serve --file crontab` replaces cron
// on one machine, on a SQLite file. Its main program is in cmd/belfry. Go
// programs can already import the calendar arithmetic (packages cron and
// trigger); the durable engine as an embeddable library will be this package's
// API and comes with later work.
//
// ARCHITECTURE.md is the map of the packages and the order to read them in.
package belfry
