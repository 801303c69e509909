.DEFAULT_GOAL := help
.PHONY: help run build static release test test-go test-postgres cover fuzz bench profile test-browser test-clients test-litestream docs lint clean

# The tools of make lint with their versions. go run builds and caches them.
GOFUMPT  := go run mvdan.cc/gofumpt@v0.12.0
GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
OASDIFF  := go run github.com/oasdiff/oasdiff@v1.33.0

# The version of Litestream that make test-litestream tests and docs/deploy/litestream.yml installs.
LITESTREAM := github.com/benbjohnson/litestream/cmd/litestream@v0.5.18

FUZZTIME ?= 60s

# The version and commit that petstore version prints. Without a git checkout, set them:
# make build VERSION=v1.2.3 COMMIT=…
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
VERSIONFLAGS := -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# nomsgpack omits the MessagePack support of Gin, which is not used.
BUILDFLAGS := -trimpath -tags nomsgpack
# The profile for profile-guided optimization, see make profile.
PGO := -pgo cmd/petstore/petstore.pgo
# The build of a statically linked binary. Its bytes depend on the code, VERSION, COMMIT, Go and the C compiler alone.
STATICBUILD = CGO_ENABLED=1 go build $(PGO) -trimpath -buildvcs=false -tags nomsgpack,netgo,osusergo,sqlite_omit_load_extension -ldflags '$(VERSIONFLAGS) -s -w -linkmode external -extldflags -static'

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## Build petstore, create the store, print a first API key and the URL of Swagger UI, and serve
	bin/petstore serve --first-key --set log.format=console

build: ## Build bin/petstore
	go build $(BUILDFLAGS) $(PGO) -ldflags '$(VERSIONFLAGS)' -o bin/petstore ./cmd/petstore

static: ## Build bin/petstore statically linked, for the Docker image
	$(STATICBUILD) -o bin/petstore ./cmd/petstore

# The files of a release beside the program: those that its README and docs/operations.md refer to.
RELEASEFILES := LICENSE README.md CHANGELOG.md SECURITY.md config/petstore.example.yaml docs/architecture.md docs/clients.md docs/embedding.md \
	docs/operations.md docs/performance.md docs/postgresql.md docs/coalescing.md docs/grafana.json docs/swagger-ui.png docs/deploy

# $(call archive,GOARCH,compiler) builds dist/petstore_VERSION_linux_GOARCH.tar.gz. Its files have the time of the commit.
define archive
	GOOS=linux GOARCH=$(1) CC=$(2) $(STATICBUILD) -o dist/petstore ./cmd/petstore
	tar -c -I 'gzip -n' --sort=name --mtime="@$$(git log -1 --format=%ct)" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -f dist/petstore_$(VERSION)_linux_$(1).tar.gz -C dist petstore -C .. $(RELEASEFILES)
	rm dist/petstore
endef

release: ## Build the statically linked release in dist for linux/amd64 and linux/arm64: make release VERSION=v1.0.0
	@echo '$(VERSION)' | grep -Exq 'v[0-9]+\.[0-9]+\.[0-9]+' || { echo 'VERSION must be vX.Y.Z, not "$(VERSION)": run make release VERSION=v1.0.0' >&2; exit 1; }
	@test -z "$$(git status --porcelain)" || { echo 'there are changes that are not committed: commit them, because the binaries name their commit' >&2; exit 1; }
	command -v aarch64-linux-gnu-gcc >/dev/null || { apt-get update && apt-get install -y --no-install-recommends gcc-aarch64-linux-gnu libc6-dev-arm64-cross; }
	rm -rf dist && mkdir dist
	$(call archive,amd64,x86_64-linux-gnu-gcc)
	$(call archive,arm64,aarch64-linux-gnu-gcc)
	cd dist && sha256sum *.tar.gz >SHA256SUMS

test: test-go test-postgres test-browser test-clients test-litestream ## Run all tests

test-go: ## Run the Go tests with the race detector
	go test -race ./...

test-postgres: ## Test the PostgreSQL engine on a temporary server; installs Debian's package postgresql if PostgreSQL is missing
	test -n "$$PETSTORE_TEST_POSTGRES_DSN" || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || { apt-get update && apt-get install -y --no-install-recommends postgresql; }
	go test -race -tags postgres ./repository/postgres/...
	go test -tags postgres -run "Postgres" ./cmd/petstore

cover: ## Run the Go tests and print their statement coverage
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out | tail -1

fuzz: ## Fuzz the parsers of requests and files, for FUZZTIME (60s) per target
	go test -run '^$$' -fuzz '^FuzzBody$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/http
	go test -run '^$$' -fuzz '^FuzzQuery$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/http
	go test -run '^$$' -fuzz '^FuzzIdempotencyKey$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/http
	go test -run '^$$' -fuzz '^FuzzReadCSV$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/file
	go test -run '^$$' -fuzz '^FuzzReadNDJSON$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/file

bench: build ## Measure against bare Gin and GORM and write docs/benchmarks.md; takes 20 minutes on an idle machine
	command -v wrk >/dev/null || apt-get install -y wrk
	go build $(BUILDFLAGS) -o bin/bench ./cmd/bench
	bin/bench $(BENCHFLAGS)

profile: build ## Profile petstore in the scenarios of bench for profile-guided optimization (go.dev/doc/pgo)
	command -v wrk >/dev/null || apt-get install -y wrk
	go build $(BUILDFLAGS) -o bin/bench ./cmd/bench
	bin/bench -big 100000 -rounds 1 -duration 5s -profile cmd/petstore/petstore.pgo -only '^(list|POST|by id|95 %)'

test-browser: ## Test Swagger UI in Chromium; installs chromium and nginx from Debian packages if they are missing
	command -v chromium >/dev/null && command -v nginx >/dev/null || { apt-get update && apt-get install -y --no-install-recommends chromium nginx-light; }
	go test -tags browser -run Browser ./cmd/petstore

test-clients: ## Generate clients, call every operation with them, and lint the OpenAPI document; installs missing Debian packages
	command -v node >/dev/null && command -v npm >/dev/null || { apt-get update && apt-get install -y --no-install-recommends nodejs npm; }
	command -v java >/dev/null && command -v mvn >/dev/null || { apt-get update && apt-get install -y --no-install-recommends default-jre-headless maven; }
	python3 -c 'import ensurepip' || { apt-get update && apt-get install -y --no-install-recommends python3-venv; }
	go test -tags clients -run 'Client|Linters' ./cmd/petstore

test-litestream: ## Restore copies that Litestream makes of a store under load; installs Litestream in bin
	GOBIN=$(CURDIR)/bin go install $(LITESTREAM)
	go test -tags litestream -run Litestream -count 1 -v ./cmd/petstore

docs: ## Generate docs/openapi.json from the annotations of the handlers
	go run ./docs/generate

lint: ## Check formatting, lint rules and go.mod, and that the API does not break clients of docs/contract.yaml
	@unformatted="$$($(GOFUMPT) -l .)"; test -z "$$unformatted" || { echo "run gofumpt -w on these files:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	go mod tidy -diff
	$(GOLANGCI) run
	$(OASDIFF) breaking --flatten-allof --fail-on WARN docs/contract.yaml docs/openapi.json

clean: ## Remove build results
	rm -rf bin dist coverage.out
