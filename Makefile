# Everything a clone needs: `make run` to try Espalier, `make test` to check it.
# A fresh Debian 12 with Rust is enough; `make setup` installs what else is missing.

CARGO ?= cargo
BUILD_PACKAGES := build-essential cmake pkg-config libpcre2-dev curl git
TEST_PACKAGES := openssl openssh-client openssh-server netconfd yangcli libnetconf2-dev libyang2-dev libssh-dev redis-server etcd-server etcd-client postgresql libcurl4 faketime libpam0g-dev
# PAM is not in the default build: it needs a library that not every system has.
ALL_FEATURES := espalier-cli/all,espalier-cli/pam

.DEFAULT_GOAL := help
.PHONY: help setup servers build run test check fmt bench performance clean

help: ## Show this list.
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install the system packages that building needs (Debian; does nothing where all are there).
	@./scripts/setup $(BUILD_PACKAGES)

servers: setup ## Install or build the servers that the tests start and stop.
	@./scripts/setup $(TEST_PACKAGES) $$(command -v go >/dev/null || echo golang-go) \
		$$(python3 -m pip --version >/dev/null 2>&1 || echo python3-pip)
	@./scripts/ferretdb/build
	@./scripts/mongod/fetch
	@./scripts/netconf-clients/fetch

build: setup ## Build the release binary with every engine, target/release/espalier.
	$(CARGO) build --release --locked -p espalier-cli

run: build ## Make an example network, load it, serve it and print three commands to try.
	@./scripts/run-example

test: servers ## Run every test, with servers that they start (ESPALIER_TEST_SERVERS=redis,etcd narrows the set).
	@CARGO=$(CARGO) ./scripts/test --workspace --features $(ALL_FEATURES) --locked --no-fail-fast

check: setup ## Formatting, clippy and tidy.
	@./scripts/setup libpam0g-dev
	@$(CARGO) clippy --version >/dev/null 2>&1 && $(CARGO) fmt --version >/dev/null 2>&1 \
		|| rustup component add clippy rustfmt
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --features $(ALL_FEATURES) --all-targets --locked -- -D warnings
	$(CARGO) xtask tidy

fmt: ## Format the code.
	$(CARGO) fmt --all

bench: build ## Measure the embedded engine from 1,000 to 1,000,000 entries.
	target/release/espalier bench scale

performance: setup servers ## Measure every suite on every engine, and write docs/performance.md and README's table.
	@./scripts/performance

clean: ## Remove what was built, the example's data too.
	$(CARGO) clean
