.DEFAULT_GOAL := help
.PHONY: help run build static image release test check deps nightly bench bin/bench layers profile vuln docs pictures lint clean

# The tools of make lint, make vuln, make bench and make release with their versions. go run builds and caches them.
GOFUMPT     := go run mvdan.cc/gofumpt@v0.12.0
GOLANGCI    := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
OASDIFF     := go run github.com/oasdiff/oasdiff@v1.33.0
ACTIONLINT  := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
BENCHSTAT   := go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.6.0
# Its document has a hash of the tool itself, which -trimpath makes independent of the machine.
CYCLONEDX   := CGO_ENABLED=0 GOFLAGS=-trimpath go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0

# The version and commit that petstore version prints. Without a git checkout, set them:
# make build VERSION=v1.2.3 COMMIT=…
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
VERSIONFLAGS := -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# SQLite's C is compiled without debug information. It syncs with fdatasync, which its source calls always adequate.
export CGO_CFLAGS ?= -O2 -g0 -DHAVE_FDATASYNC

# nomsgpack omits the MessagePack support of Gin, which is not used. cmd/petstore/default.pgo is the profile for profile-guided optimization.
BUILDFLAGS := -trimpath -tags nomsgpack
# The build of a statically linked binary. Its bytes depend on the code, VERSION, COMMIT, Go and the C compiler alone.
STATICBUILD = CGO_ENABLED=1 go build -trimpath -buildvcs=false -tags nomsgpack,netgo,osusergo,sqlite_omit_load_extension -ldflags '$(VERSIONFLAGS) -s -w -linkmode external -extldflags -static'

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## Build petstore, create the store, print a first API key and the URL of Swagger UI, and serve
	bin/petstore serve --first-key --set log.format=console

# go build prints nothing for the minutes in which it compiles SQLite: say so, unless it is in Go's build cache.
build: ## Build bin/petstore
	@go list $(BUILDFLAGS) -deps -f '{{if and .Stale (eq .ImportPath "github.com/mattn/go-sqlite3")}}compiling petstore and SQLite: about two minutes on two cores, the first time only{{end}}' ./cmd/petstore
	go build $(BUILDFLAGS) -ldflags '$(VERSIONFLAGS)' -o bin/petstore ./cmd/petstore

static: ## Build bin/petstore statically linked
	$(STATICBUILD) -o bin/petstore ./cmd/petstore

# The program that builds the image: make image ENGINE=docker
ENGINE ?= $(shell command -v podman || command -v docker)

image: ## Build the container image petstore with podman or docker, without downloading anything
	@test -n '$(ENGINE)' || { echo 'there is neither podman nor docker: install one of them' >&2; exit 1; }
	$(STATICBUILD) -o bin/image/petstore ./cmd/petstore
	scripts/image '$(ENGINE)'

release: ## Build the statically linked release in dist, with an SBOM, for linux/amd64 and linux/arm64: make release VERSION=v1.0.0
	@STATICBUILD="$(STATICBUILD)" CYCLONEDX="$(CYCLONEDX)" scripts/release '$(VERSION)'

test: ## Run the Go tests; those of PostgreSQL where it is installed
	go test ./...
	@if [ -n "$$PETSTORE_TEST_ENGINE" ]; then echo "The tests of both engines ran with $$PETSTORE_TEST_ENGINE only."; \
		elif scripts/deps has initdb; then echo 'The tests ran with SQLite and with PostgreSQL.'; \
		else echo 'The tests ran with SQLite, those of PostgreSQL did not: make deps installs it, or set PETSTORE_TEST_POSTGRES_DSN.'; fi

check: ## Run what CI runs: lint, the Go tests with the race detector, and the tests of the folder test, which need other programs
	scripts/check

deps: ## Install the programs that make check needs from Debian's packages, after asking (unless CI=true)
	scripts/deps install

nightly: ## Run what takes hours: failovers, all faults, the histories, fuzzing and the soak
	scripts/nightly

bin/bench:
	cd cmd/bench && go build $(BUILDFLAGS) -o ../../bin/bench .

bench: build bin/bench ## Measure petstore against bare Gin and plain Gin and GORM, with the flags BENCHFLAGS of bin/bench
	scripts/deps require wrk initdb
	bin/bench $(BENCHFLAGS) >bin/bench.txt
	$(BENCHSTAT) -col /server bin/bench.txt

layers: build bin/bench ## Print the processor time of a request by layer, the table of docs/benchmarks.md
	scripts/deps require wrk initdb
	bin/bench -rounds 3 -duration 5s -layers \
		-only '^(List|ListUncached|ByID|Post|PostWithKey)/store=sqlite/load=64|^(List|Post|PostWithKey)/store=postgres/load=64'

profile: build bin/bench ## Profile petstore in the rows of bench for profile-guided optimization (go.dev/doc/pgo)
	scripts/deps require wrk
	bin/bench -rounds 1 -duration 5s -profile cmd/petstore/default.pgo -only 'store=sqlite/load=64'

vuln: ## Look for known vulnerabilities in the code that is used, in the database of vuln.go.dev or a copy: VULNDB=file:///…
	$(GOVULNCHECK) $(if $(VULNDB),-db $(VULNDB)) ./...

docs: ## Generate docs/openapi.json from the annotations of the handlers, and docs/cli.md from the commands
	go -C docs/generate run .
	go test ./cmd/petstore/internal/cli -run TestCommandPage -update

pictures: ## Draw docs/pictures with graphviz and gnuplot
	scripts/deps require dot gnuplot
	for source in docs/pictures/*.dot; do dot -Tsvg -o "$${source%.dot}.svg" "$$source" || exit 1; done
	gnuplot docs/pictures/benchmarks.gnuplot

# All four modules: that of the product, cmd/bench, docs/generate and test.
lint: ## Check formatting, lint rules, go.mod and the workflows, and that the API does not break clients of docs/contract.yaml
	@unformatted="$$($(GOFUMPT) -l .)"; test -z "$$unformatted" || { echo "run gofumpt -w on these files:"; echo "$$unformatted"; exit 1; }
	for module in . cmd/bench docs/generate test; do (cd $$module && go vet ./... && go mod tidy -diff && $(GOLANGCI) run) || exit 1; done
	for module in . test; do (cd $$module && GOOS=darwin go vet ./...) || exit 1; done
	GOOS=windows CGO_ENABLED=0 go build -o /dev/null ./cmd/petstore
	$(ACTIONLINT)
	$(OASDIFF) breaking --flatten-allof --fail-on WARN --err-ignore docs/contract.ignore docs/contract.yaml docs/openapi.json

clean: ## Remove build results
	rm -rf bin dist coverage.out
