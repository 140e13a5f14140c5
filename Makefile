# What developers type; CI types the same. `make help` lists it.

CARGO_TARGET_DIR ?= $(CURDIR)/target
export CARGO_TARGET_DIR
BIN = $(CARGO_TARGET_DIR)/debug

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Run a whole cluster in one process, with a demo page; needs Rust alone
	cargo run -p clientmcp-cli -- dev

.PHONY: test
test: setup build ## Run every test: Rust, SDKs, browser, real agents, official suite
	cargo nextest run --workspace
	cargo test --workspace --doc
	cd sdk/js && npm test
	e2e/browser/run
	$(MAKE) agents
	$(MAKE) conformance
	$(MAKE) chaos-short

.PHONY: setup
setup: ## Install what the tests need (Debian packages, npm packages, cargo-nextest)
	e2e/setup

.PHONY: build
build: ## Build the programs that the end-to-end tests start
	cargo build -p clientmcp-cli -p clientmcp-e2e

.PHONY: agents
agents: build ## Real MCP clients against real processes: a line per scenario, a closing count
	e2e/agents/run

.PHONY: chaos
chaos: ## Every fault at full size against real processes, audited; takes an hour; cuts need root
	cargo build --release -p clientmcp-cli
	$(CARGO_TARGET_DIR)/release/clientmcp loadtest chaos all

.PHONY: chaos-short
chaos-short: build ## The same faults, some seconds each
	e2e/chaos/run

.PHONY: conformance
conformance: build ## The official MCP suite, both requirement sets
	e2e/conformance/run
	e2e/conformance/run --app js

.PHONY: check
check: ## Formatting, lints, docs, licences, layering
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
	e2e/layering
	e2e/licences

.PHONY: bench
bench: ## Benchmarks of the hot functions
	cargo bench -p clientmcp-core

.PHONY: clean
clean: ## Remove what was built
	cargo clean
