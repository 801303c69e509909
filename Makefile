.DEFAULT_GOAL := help
.PHONY: help run build static image release test test-go test-postgres cover fuzz bench profile test-browser test-clients test-litestream test-image test-alerts test-completion test-ha test-faults-quick test-faults test-model test-simulation soak vuln docs lint clean

# The tools of make lint with their versions. go run builds and caches them.
GOFUMPT    := go run mvdan.cc/gofumpt@v0.12.0
GOLANGCI   := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
OASDIFF    := go run github.com/oasdiff/oasdiff@v1.33.0
ACTIONLINT := go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
BENCHSTAT  := go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.6.0

# The version of Litestream that make test-litestream tests and docs/deploy/litestream.yml installs.
LITESTREAM := github.com/benbjohnson/litestream/cmd/litestream@v0.5.18

FUZZTIME ?= 60s
SEQUENCES ?= 10000
SEEDS ?= 1000000
SOAK ?= 30m

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
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## Build petstore, create the store, print a first API key and the URL of Swagger UI, and serve
	bin/petstore serve --first-key --set log.format=console

# go build prints nothing for the minutes in which it compiles SQLite: say so, unless it is in Go's build cache.
build: ## Build bin/petstore
	@go list $(BUILDFLAGS) $(PGO) -deps -f '{{if and .Stale (eq .ImportPath "github.com/mattn/go-sqlite3")}}compiling petstore and SQLite: about two minutes on two cores, the first time only{{end}}' ./cmd/petstore
	go build $(BUILDFLAGS) $(PGO) -ldflags '$(VERSIONFLAGS)' -o bin/petstore ./cmd/petstore

static: ## Build bin/petstore statically linked
	$(STATICBUILD) -o bin/petstore ./cmd/petstore

# The program that builds the image: make image ENGINE=docker
ENGINE ?= $(shell command -v podman || command -v docker)

# $(call licenses,FILE) writes the licenses of Go and of all linked modules to a file, which a binary must come with.
define licenses
	modules="$$(go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}' ./cmd/petstore)" && { \
		cat "$$(go env GOROOT)/LICENSE" && echo "$$modules" | sort -u | while read -r module folder; do \
			printf '\n\n=== %s ===\n\n' "$$module"; \
			find "$$folder" -maxdepth 1 -type f ! -name '*.go' -iregex '.*/\(licen[cs]e\|notice\|copyright\|third-party-notices\).*' | sort | xargs cat || exit 1; \
		done && printf '\n\n=== Swagger UI (in github.com/swaggo/files/v2) ===\n\nCopyright 2020-2021 SmartBear Software Inc.\nApache License 2.0, see github.com/prometheus/client_golang above.\n'; } >$(1)
endef

image: ## Build the container image petstore with podman or docker, without downloading anything
	@test -n '$(ENGINE)' || { echo 'there is neither podman nor docker: install one of them' >&2; exit 1; }
	test -e /etc/ssl/certs/ca-certificates.crt || { apt-get update && apt-get install -y --no-install-recommends ca-certificates; }
	$(STATICBUILD) -o bin/image/petstore ./cmd/petstore
	chmod 755 bin/image/petstore
	install -m 644 /etc/ssl/certs/ca-certificates.crt bin/image
	$(call licenses,bin/image/licenses.txt)
	install -d -m 700 bin/image/data
	$(ENGINE) build -t petstore -f Dockerfile bin/image

# The files of a release beside the program: those that its README and docs/operations.md refer to.
RELEASEFILES := LICENSE README.md CHANGELOG.md SECURITY.md config/petstore.example.yaml docs/architecture.md docs/benchmarks.md docs/cli.md docs/clients.md \
	docs/decisions.md docs/embedding.md docs/errors.md docs/licenses.md docs/metrics.md docs/operations.md docs/reliability.md docs/reliability.svg docs/grafana.json docs/swagger-ui.png docs/deploy

# $(call archive,GOARCH,compiler) builds dist/petstore_VERSION_linux_GOARCH.tar.gz. Its files have the time of the commit.
define archive
	GOOS=linux GOARCH=$(1) CC=$(2) $(STATICBUILD) -o dist/petstore ./cmd/petstore
	tar -c -I 'gzip -n' --sort=name --mtime="@$$(git log -1 --format=%ct)" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -f dist/petstore_$(VERSION)_linux_$(1).tar.gz -C dist petstore licenses.txt -C .. $(RELEASEFILES)
	rm dist/petstore
endef

release: ## Build the statically linked release in dist for linux/amd64 and linux/arm64: make release VERSION=v1.0.0
	@echo '$(VERSION)' | grep -Exq 'v[0-9]+\.[0-9]+\.[0-9]+' || { echo 'VERSION must be vX.Y.Z, not "$(VERSION)": run make release VERSION=v1.0.0' >&2; exit 1; }
	@test -z "$$(git status --porcelain)" || { echo 'there are changes that are not committed: commit them, because the binaries name their commit' >&2; exit 1; }
	command -v aarch64-linux-gnu-gcc >/dev/null || { apt-get update && apt-get install -y --no-install-recommends gcc-aarch64-linux-gnu libc6-dev-arm64-cross; }
	rm -rf dist && mkdir dist
	$(call licenses,dist/licenses.txt)
	$(call archive,amd64,x86_64-linux-gnu-gcc)
	$(call archive,arm64,aarch64-linux-gnu-gcc)
	rm dist/licenses.txt
	cd dist && sha256sum *.tar.gz >SHA256SUMS

test: test-go test-postgres test-browser test-clients test-litestream test-image test-alerts test-completion test-faults-quick ## Run all tests but the long ones: test-ha, test-faults, test-model, test-simulation and soak

test-go: ## Run the Go tests with the race detector
	go test -race ./...
	cd cmd/bench && go test -race ./...

# Installs Debian's package of PostgreSQL if PostgreSQL is missing.
INSTALLPOSTGRES = ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || { apt-get update && apt-get install -y --no-install-recommends postgresql; }

test-postgres: ## Test the PostgreSQL engine, and all above it, on a temporary server; installs Debian's package postgresql if PostgreSQL is missing
	test -n "$$PETSTORE_TEST_POSTGRES_DSN" || $(INSTALLPOSTGRES)
	go test -race -tags postgres ./repository/postgres/... ./repository/storecopy
	go test -tags postgres ./usecase ./delivery/http
	go test -tags postgres -run 'Postgres|ServiceContract' ./cmd/petstore

cover: ## Run the Go tests and print their statement coverage
	go test -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out | tail -1

fuzz: ## Fuzz the parsers of requests and files and the access log, for FUZZTIME (60s) per target
	go test -run '^$$' -fuzz '^FuzzBody$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/http
	go test -run '^$$' -fuzz '^FuzzQuery$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/http
	go test -run '^$$' -fuzz '^FuzzIdempotencyKey$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/http
	go test -run '^$$' -fuzz '^FuzzAccessLog$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/http
	go test -run '^$$' -fuzz '^FuzzFile$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./config
	go test -run '^$$' -fuzz '^FuzzReadCSV$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/file
	go test -run '^$$' -fuzz '^FuzzReadNDJSON$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x ./delivery/file

# Installs wrk if it is missing, and builds bin/bench.
define buildbench
	command -v wrk >/dev/null || apt-get install -y --no-install-recommends wrk
	cd cmd/bench && go build $(BUILDFLAGS) -o ../../bin/bench .
endef

bench: build ## Measure petstore against bare Gin and plain Gin and GORM in 15 minutes, with the flags BENCHFLAGS of bin/bench
	$(buildbench)
	$(INSTALLPOSTGRES)
	bin/bench $(BENCHFLAGS) >bin/bench.txt
	$(BENCHSTAT) -col /server bin/bench.txt

profile: build ## Profile petstore in the rows of bench for profile-guided optimization (go.dev/doc/pgo)
	$(buildbench)
	bin/bench -rounds 1 -duration 5s -profile cmd/petstore/petstore.pgo -only 'store=sqlite/load=64'

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

# policy-rc.d keeps the packages from starting services.
test-ha: ## Lose servers of a PostgreSQL cluster under load, for 13 minutes; installs missing Debian packages
	@echo 'make test-ha takes about 13 minutes'
	@command -v patroni >/dev/null && command -v etcd >/dev/null && test -x /usr/sbin/nginx && ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { \
		test -e /usr/sbin/policy-rc.d || { printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d; trap 'rm /usr/sbin/policy-rc.d' EXIT; }; \
		apt-get update && apt-get install -y --no-install-recommends postgresql patroni etcd-server nginx-light; }
	go test -tags ha -count 1 -v -failfast -timeout 25m ./cmd/petstore/ha

SLOWHTTPTEST := command -v slowhttptest >/dev/null || { apt-get update && apt-get install -y --no-install-recommends slowhttptest; }

test-faults-quick: ## Inject faults into a running service, in less than two minutes; installs slowhttptest if it is missing
	$(SLOWHTTPTEST)
	go test -tags faults -short -count 1 ./cmd/petstore/faults

test-faults: ## Inject faults into a running service, in less than 15 minutes, and write the figures to bin/reliability.md
	$(SLOWHTTPTEST)
	mkdir -p bin
	go test -tags faults -count 1 -timeout 30m ./cmd/petstore/faults -figures $(CURDIR)/bin/reliability.md

test-model: ## Compare the service with a model of it in SEQUENCES (10000) random sequences of requests, on both engines
	go test -run '^TestStoreAgreesWithItsModel$$' -count 1 -timeout 4h ./repository/sqlite -rapid.checks $(SEQUENCES)
	go test -tags postgres -run '^TestStoreAgreesWithItsModel$$' -count 1 -timeout 4h ./repository/postgres -rapid.checks $(SEQUENCES)

test-simulation: ## Simulate the commit path with SEEDS (1000000) seeds, and show that the simulation finds planted defects
	PETSTORE_TEST_SEEDS=$(SEEDS) go test -count 1 -timeout 4h -v ./repository/simulation

# The race detector itself uses more and more memory, so only the second run shows that the service does not.
soak: ## Run mixed load for SOAK (30m) under the race detector, then as long without it, and plot what the service uses in docs/reliability.svg
	go test -tags faults -run '^TestSoakIsFlat$$' -count 1 -timeout 4h -v ./cmd/petstore/faults -soak $(SOAK) -racedetector
	go test -tags faults -run '^TestSoakIsFlat$$' -count 1 -timeout 4h -v ./cmd/petstore/faults -soak $(SOAK) -soakplot $(CURDIR)/docs/reliability.svg

vuln: ## Look for known vulnerabilities in the code that is used, in the database of vuln.go.dev or a copy: VULNDB=file:///…
	$(GOVULNCHECK) $(if $(VULNDB),-db $(VULNDB)) ./...

test-image: ## Build the container image and run it with podman; installs podman and runc from Debian packages if they are missing
	command -v podman >/dev/null && command -v runc >/dev/null || { apt-get update && apt-get install -y --no-install-recommends podman runc; }
	go test -tags image -run Image -count 1 ./cmd/petstore

test-alerts: ## Test the alerting rules, and the queries of the dashboard against a running server; unpacks Debian's prometheus in bin if it is missing
	command -v promtool >/dev/null || test -x bin/prometheus/usr/bin/promtool || { apt-get update && mkdir -p bin/prometheus && cd bin/prometheus && apt-get download prometheus && dpkg-deb -x prometheus_*.deb .; }
	PATH="$$PATH:$(CURDIR)/bin/prometheus/usr/bin" go test -tags alerts -run Alert -count 1 ./cmd/petstore

test-completion: ## Install the shell completion of the README in bash, zsh and fish; installs zsh and fish if they are missing
	command -v zsh >/dev/null && command -v fish >/dev/null || { apt-get update && apt-get install -y --no-install-recommends zsh fish; }
	go test -tags completion -run Completion -count 1 ./cmd/petstore

docs: ## Generate docs/openapi.json from the annotations of the handlers, and docs/cli.md from the commands
	go run ./docs/generate
	go test ./cmd/petstore/internal/cli -run TestCommandPage -update

lint: ## Check formatting, lint rules, go.mod and the workflow, and that the API does not break clients of docs/contract.yaml
	@unformatted="$$($(GOFUMPT) -l .)"; test -z "$$unformatted" || { echo "run gofumpt -w on these files:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	go mod tidy -diff
	$(GOLANGCI) run
	cd cmd/bench && go vet ./... && go mod tidy -diff && $(GOLANGCI) run
	$(ACTIONLINT)
	$(OASDIFF) breaking --flatten-allof --fail-on WARN --err-ignore docs/contract.ignore docs/contract.yaml docs/openapi.json

clean: ## Remove build results
	rm -rf bin dist coverage.out
