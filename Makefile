# `make` lists what can be done; `make check` is what continuous integration runs.

PYTHON ?= python3
BIN := .venv/bin
TREES := $(wildcard src tests benchmarks examples)
LOCKS := requirements/test.txt requirements/lint.txt requirements/docs.txt
SYSTEM_PACKAGES := postgresql

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export NO_MKDOCS_2_WARNING := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: help install system test lint docs check demo bench soak chaos web lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: .venv/installed ## Create .venv with the locked requirements and the package itself

.venv/installed: pyproject.toml $(LOCKS)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet $(addprefix -r ,$(LOCKS))
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@

.venv/runtime: pyproject.toml requirements/runtime.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -r requirements/runtime.txt
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@

system: ## Install the Debian packages that the tests need (as root, where missing)
	@scripts/install-system-packages $(SYSTEM_PACKAGES)

test: install system ## Run every test (ARGS="-k cron" chooses some)
	@$(BIN)/python -m pytest $(ARGS)

lint: install ## Check format, style, types and the direction of imports
	$(BIN)/ruff format --check $(TREES)
	$(BIN)/ruff check $(TREES)
	$(BIN)/mypy $(TREES)
	$(BIN)/pyright
	$(BIN)/lint-imports

docs: install ## Build the documentation into site/
	$(BIN)/mkdocs build --strict --quiet

check: lint docs test ## Run all that continuous integration runs, in its order

demo: .venv/runtime ## Run the demonstration (ONCE=1 ends it after one round)
	$(BIN)/python -m examples.demo $(if $(ONCE),--once)

web: ## Build the dashboard into the package (needs Node.js 20 and npm)
	cd web && npm ci && npm run build

bench: install system ## Measure against raw statements on the same server
	$(BIN)/python -m benchmarks $(ARGS)

soak: install system ## Kill and stop nodes for SECONDS (900) with SEED (random), then check every job
	$(BIN)/python -m benchmarks.soak $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) $(ARGS)

chaos: install system ## Schedules under random faults (SECONDS=60 SEED=1 ARGS="--database sqlite")
	$(BIN)/python -m tests.chaos $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) $(ARGS)

lock: install ## Resolve the locked requirements anew (ARGS=--upgrade for newer versions)
	$(BIN)/python -m pip install --quiet pip-tools
	scripts/lock-requirements $(ARGS)

clean: ## Remove what the other targets made
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis site
