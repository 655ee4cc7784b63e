// Package crontab reads crontabs: those of one user, and in the system form of /etc/crontab with a user before each
// command. Each line becomes a schedule with a shell command.
//
// What a line means is what cron makes of it:
//
//   - NAME=value sets a variable for the lines below; quotes around the name or the value are taken off and nothing
//     is expanded. SHELL is the interpreter, HOME also the directory that commands start in.
//   - CRON_TZ is the zone in which the times below are read. TZ does not move times: like any other variable it is
//     given to the commands.
//   - The first % that is not escaped ends the command; what follows is given to its input, every other % being a
//     newline there. \% is a percent sign.
//   - @daily and its like stand for times; "@every 90s" is an interval. @reboot names no time and is reported, as are
//     MAILTO (the output is kept with the run) and RANDOM_DELAY (see jitter).
//
// A comment that begins with "belfry:" sets keys of the line below it; blank lines and assignments may not come between:
//
//	# belfry: name=nightly overlap=skip timeout=1h description="the nightly report"
//	30 2 * * *  /opt/report
//
// The keys are those of a manifest's spec that have a single value (see Settings), and name. With seconds=true the line
// has six time fields. Other comments directly above a line become its description.
//
// A line without a name is named by its command: the command's word, a hyphen and six hex digits of a digest of user,
// zone, environment and command. Its times are no part of the name, so editing them keeps the schedule. Lines with
// equal names get -2, -3 in their order. A name is part of a schedule's identity, so the digest never changes.
//
// A crontab is taken whole or not at all: Read returns all problems, each with file, line, column and remedy. What is
// taken but differs from cron is in the Report, and so is what cron would do and Belfry does not.
package crontab
