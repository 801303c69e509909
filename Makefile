.DEFAULT_GOAL := help
.PHONY: help run build static test test-go cover fuzz bench profile test-browser test-clients docs lint clean

# The tools of the checks, each pinned; `go run` builds and caches them.
GOFUMPT  := go run mvdan.cc/gofumpt@v0.12.0
GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
OASDIFF  := go run github.com/oasdiff/oasdiff@v1.33.0

FUZZTIME ?= 60s

# What petstore version prints. Without git or outside of a checkout, name them: make build VERSION=v1.2.3 COMMIT=…
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
VERSIONFLAGS := -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# Leave out what Gin could do and we do not.
BUILDFLAGS := -trimpath -tags nomsgpack
# A profile of petstore for the compiler (make profile).
PGO := -pgo cmd/petstore/petstore.pgo

help: ## Explain the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## Build, create the store, print a first API key and the UI's address, serve
	bin/petstore serve --first-key --set log.format=console

build: ## Build bin/petstore
	go build $(BUILDFLAGS) $(PGO) -ldflags '$(VERSIONFLAGS)' -o bin/petstore ./cmd/petstore

static: ## Build bin/petstore without a need for any shared library, as the image wants it
	CGO_ENABLED=1 go build $(PGO) -trimpath -tags nomsgpack,netgo,osusergo,sqlite_omit_load_extension -ldflags '$(VERSIONFLAGS) -s -w -linkmode external -extldflags -static' -o bin/petstore ./cmd/petstore

test: test-go test-browser test-clients ## Run every test

test-go: ## Run the tests in Go, under the race detector
	go test -race ./...

cover: ## Run the tests in Go and tell which share of the statements they reach
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out | tail -1

fuzz: ## Fuzz what clients send, FUZZTIME (60s) for each target
	go test -run '^$$' -fuzz '^FuzzBody$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/http
	go test -run '^$$' -fuzz '^FuzzQuery$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/http
	go test -run '^$$' -fuzz '^FuzzIdempotencyKey$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/http

bench: build ## Measure against bare Gin and GORM, and write docs/benchmarks.md (twenty minutes)
	command -v wrk >/dev/null || apt-get install -y wrk
	go build $(BUILDFLAGS) -o bin/bench ./cmd/bench
	bin/bench $(BENCHFLAGS)

profile: build ## Profile the program in the scenarios of bench for the compiler (PGO, go.dev/doc/pgo)
	command -v wrk >/dev/null || apt-get install -y wrk
	go build $(BUILDFLAGS) -o bin/bench ./cmd/bench
	bin/bench -big 100000 -rounds 1 -duration 5s -profile cmd/petstore/petstore.pgo -only '^(list|POST|by id|95 %)'

test-browser: ## Try the page in Chromium: as served, behind nginx under a prefix, and mounted in another engine
	command -v chromium >/dev/null && command -v nginx >/dev/null || { apt-get update && apt-get install -y --no-install-recommends chromium nginx-light; }
	go test -tags browser -run Browser ./cmd/petstore

test-clients: ## Generate clients in Go, TypeScript and Python, make every call with them, and lint the document
	command -v node >/dev/null && command -v npm >/dev/null || { apt-get update && apt-get install -y --no-install-recommends nodejs npm; }
	command -v java >/dev/null && command -v mvn >/dev/null || { apt-get update && apt-get install -y --no-install-recommends default-jre-headless maven; }
	python3 -c 'import ensurepip' || { apt-get update && apt-get install -y --no-install-recommends python3-venv; }
	go test -tags clients -run 'Client|Linters' ./cmd/petstore

docs: ## Generate docs/openapi.json from the handlers' annotations
	go run ./docs/generate

lint: ## Check form, lint rules, modules and that the API breaks no client
	@unformatted="$$($(GOFUMPT) -l .)"; test -z "$$unformatted" || { echo "gofumpt these files:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	go mod tidy -diff
	$(GOLANGCI) run
	$(OASDIFF) breaking --flatten-allof --fail-on WARN docs/contract.yaml docs/openapi.json

clean: ## Remove what was built
	rm -rf bin coverage.out
