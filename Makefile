# Everything the project does, by name. `make` lists it.

GO          ?= go
BIN         := bin/retrylab
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME    ?= 10s
LOADTIME    ?= 30s
LAB_FLAGS   ?=

# The race detector needs cgo and a C compiler.
RACE := $(shell [ "$$(go env CGO_ENABLED)" = 1 ] && command -v $$(go env CC) >/dev/null 2>&1 && echo -race)

.DEFAULT_GOAL := help
.PHONY: help build test race lint fuzz load bench lab lab-short check clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/retrylab.
	$(GO) build -o $(BIN) ./cmd/retrylab

test: ## Run all tests, with the race detector where there is a C compiler.
	@[ -n "$(RACE)" ] || echo "no cgo or no C compiler: testing without the race detector" >&2
	$(GO) test $(RACE) -timeout 5m ./...
	cd yardstick && $(GO) test $(RACE) -timeout 5m ./... && $(GO) test -run Allocate .

race: ## Run the tests of what is shared between goroutines, ten times over.
	$(GO) test -race -count=10 -timeout 10m ./resilience/... ./downstream/... ./runner/metrics/... ./jsmodule/...

lint: ## gofmt, go vet, staticcheck.
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "not gofmt-ed: $$unformatted" >&2; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	cd yardstick && $(GO) mod tidy -diff && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./...

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

lab: build ## Run the 17 published runs (quick mode) and print the report.
	./$(BIN) lab $(LAB_FLAGS)

lab-short: build
	@out=$$(mktemp -d) && trap 'rm -rf "$$out"' EXIT && ./$(BIN) lab --duration 1s --out "$$out/lab" && \
	cd "$$out/lab" && [ "$$(ls *.summary.json | wc -l)" = 17 ] && [ "$$(ls *.run.json | wc -l)" = 17 ] && \
	ls comparison.csv comparison.md comparison.json comparison.html >/dev/null

check: lint test lab-short ## All that must pass before a change lands.

clean: ## Remove what was built.
	rm -rf bin
