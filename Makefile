# What the project needs done, each by one word. `make test` is what a change must pass.

GO       ?= go
BIN      ?= bin/belfry
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT   ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
APP      := github.com/belfryhq/belfry/internal/app
LDFLAGS  ?= -s -w -X $(APP).version=$(VERSION) -X $(APP).commit=$(COMMIT)

PKGS           ?= ./...
RACE_FLAGS     ?= -race -timeout 15m
FUZZ_TIME      ?= 10s
# The crash harness runs apart from the other tests: it measures, and wants both processors.
CRASH_PKG      ?= ./internal/crash
CRASH_SHORT    ?= $(GO) test -count=1 -timeout 5m $(CRASH_PKG)/...
CRASH_LONG     ?= $(GO) test -count=1 -timeout 20m -v $(CRASH_PKG) -crash.duration=2m -crash.rounds=10
MUTANTS        ?= $(GO) run $(CRASH_PKG)/mutants
# How many days `make sim` simulates, each from a seed of its own.
SIM_SEEDS        ?= 8
GOLANGCI_VERSION ?= v2.15.0

.NOTPARALLEL:
.PHONY: setup build check clean crash crash-short docs-report fuzz lint mutants race sim sim-short test

## test: race detector on everything, a virtual day, 10 s of each fuzz target, the short crash run, the mutants
# (each by scripts/stage, which prints its minutes; `make -k test` goes on after a failure)
test: setup stage-race stage-sim-short stage-fuzz stage-crash-short stage-mutants

setup:
	@scripts/setup

stage-%:
	@scripts/stage $* $(MAKE) --no-print-directory $*

race:
	scripts/gotest $(RACE_FLAGS) -- $(PKGS) -$(CRASH_PKG)

## fuzz: every fuzz target of the tree for FUZZ_TIME
fuzz:
	scripts/fuzz $(FUZZ_TIME)

crash-short:
	$(CRASH_SHORT)

## crash: the crash harness at full length, two minutes of kills
crash:
	$(CRASH_LONG)

sim-short:
	$(GO) test -count=1 -timeout 10m ./internal/sim -sim.seeds=1

## sim: whole virtual days against an independent count; the race run plays them shortened
sim:
	$(GO) test -count=1 -timeout 30m -v ./internal/sim -sim.seeds=$(SIM_SEEDS)

## mutants: remove one guard at a time; a named test must fail for each
mutants:
	$(MUTANTS)

## lint: go vet and golangci-lint
lint:
	$(GO) vet $(PKGS)
	$(GO) vet -tags belfry_fault $(PKGS)
	scripts/lint $(GOLANGCI_VERSION)

## check: what CI does
check: lint test

## build: the static binary
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/belfry

## docs-report: fill the test columns of docs/requirements.md and docs/scenarios.md from the ids that tests name
docs-report:
	$(GO) test -count=1 -v -run 'TestRequirementsTable|TestScenariosTable' . -update

clean:
	rm -rf bin .cache
