# Everything the project does, by name. `make` lists it.

GO          ?= go
BIN         := bin/retrylab
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME    ?= 10s
LOADTIME    ?= 30s
LAB_FLAGS   ?=
XK6_BUILD   := xk6 build --with github.com/retrylab/retrylab/xk6-resilience=./xk6-resilience --replace github.com/retrylab/retrylab=.

# The race detector needs cgo and a C compiler.
RACE := $(shell [ "$$(go env CGO_ENABLED)" = 1 ] && command -v $$(go env CC) >/dev/null 2>&1 && echo -race)

.DEFAULT_GOAL := help
.PHONY: help build test race lint fuzz load bench bench-runner bench-compare conformance types k6 lab lab-short check clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/retrylab.
	$(GO) build -o $(BIN) ./cmd/retrylab

test: ## Run all tests, with the race detector where there is a C compiler.
	@[ -n "$(RACE)" ] || echo "no cgo or no C compiler: testing without the race detector" >&2
	$(GO) test $(RACE) -timeout 5m ./...
	cd yardstick && $(GO) test $(RACE) -timeout 5m ./... && $(GO) test -run Allocate .
	cd xk6-resilience && $(GO) test $(RACE) -timeout 5m -modfile=go.ci.mod ./...

race: ## Run the tests of what is shared between goroutines, ten times over.
	$(GO) test -race -count=10 -timeout 10m ./resilience/... ./downstream/... ./runner/metrics/... ./jsmodule/...

lint: ## gofmt, go vet, staticcheck.
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "not gofmt-ed: $$unformatted" >&2; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	cd yardstick && $(GO) mod tidy -diff && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./...
	cd xk6-resilience && $(GO) mod tidy -diff -modfile=go.ci.mod && $(GO) vet -modfile=go.ci.mod ./...

conformance: ## Run the runner's conformance suite; with K6=PATH also on that k6, comparing script by script.
	@if [ -n "$(K6)" ]; then \
		K6=$$(command -v "$(K6)") && K6=$$(realpath "$$K6") || { echo "there is no k6 at $(K6)" >&2; exit 1; }; \
		export K6; \
	fi; \
	out=$$(mktemp) && trap 'rm -f "$$out"' EXIT; \
	$(GO) test -count=1 -v -timeout 10m -run '^TestConformance$$' ./cli >"$$out" 2>&1; code=$$?; \
	grep -v '^=== ' "$$out"; grep -o 'conformance: [0-9].*' "$$out"; exit $$code

types: ## Check the scripts against the types of k6 and of k6/x/resilience. Needs npm.
	@cd types && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent; } && npm run --silent check

fuzz: ## Run every fuzz target for FUZZTIME (default 10s).
	@set -e; for file in $$(git grep -l '^func Fuzz' -- '*_test.go'); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' $$file); do \
			echo "$$target in $$(dirname $$file)"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) ./$$(dirname $$file); \
		done; \
	done

load: ## Load the servers for LOADTIME each (default 30s), and check their accounts.
	$(GO) test -count=1 -v -run UnderLoad ./downstream -load $(LOADTIME)
	$(GO) test -count=1 -v -run UnderLoad ./cli -load $(LOADTIME)

bench: ## Run the benchmarks, and print our ratios to other libraries.
	$(GO) test -run '^$$' -bench . -benchmem ./...
	cd yardstick && $(GO) run ./ratios

bench-runner: build ## Measure CPU time and memory of the built-in runner; with K6=PATH beside that k6's.
	$(GO) run ./runner/internal/cost -retrylab $(BIN) -k6 "$(K6)"

bench-compare: ## Measure the reading of summaries and of 1 GB of samples, beside jq if it is installed.
	$(GO) test -run '^$$' -bench 'Summaries|Stream' -timeout 10m ./compare -megabytes 1000 -targets

k6: ## Build ./k6 with the extension where xk6 is installed, and else say how.
	@echo '$(XK6_BUILD)'
	@if command -v xk6 >/dev/null; then $(XK6_BUILD); else echo 'xk6 is not installed: go install go.k6.io/xk6/cmd/xk6@latest' >&2; fi

lab: build ## Run the 17 published runs (quick mode) and print the report.
	./$(BIN) lab $(LAB_FLAGS)

lab-short: build
	@out=$$(mktemp -d) && trap 'rm -rf "$$out"' EXIT && ./$(BIN) lab --duration 1s --out "$$out/lab" && \
	cd "$$out/lab" && [ "$$(ls *.summary.json | wc -l)" = 17 ] && [ "$$(ls *.run.json | wc -l)" = 17 ] && \
	ls comparison.csv comparison.md comparison.json comparison.html >/dev/null

check: lint types test lab-short ## All that must pass before a change lands.

clean: ## Remove what was built.
	rm -rf bin
