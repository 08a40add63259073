# `make` lists the targets; `make check` runs what continuous integration runs.

PYTHON ?= python3
BIN := .venv/bin
FAST := $(addprefix tests/,unit properties storage client runtime schedules)
TREES := $(wildcard src tests benchmarks examples)
LOCKS := requirements/test.txt requirements/lint.txt requirements/docs.txt
SYSTEM_PACKAGES := postgresql pgbouncer redis-server iproute2 chromium-headless-shell jq
NODE := scripts/with-node
DASHBOARD := src/horae/api/static/index.html
MODULES := web/node_modules/.package-lock.json
WEB_FILES := $(shell find web -type f -not -path '*/node_modules/*' -not -path '*/dist/*')

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export NO_MKDOCS_2_WARNING := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# Images of containers often set it. Then each process of pytest compiles its plugins, their packages and Horae.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help dev test-fast install system test pytest test-nightly combinations oldest fuzz lint docs check demo demo-celery bench bench-peers first-view soak faults model simulate ablations screenshots web web-check dist changelog lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: .venv/dev ## Create .venv with what `make test-fast` needs: the package, pytest and ruff

.venv/dev: pyproject.toml requirements/dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@

test-fast: dev ## Run the tests that need no other program, on SQLite (ARGS="-k cron" selects some)
	@TEST_EXAMPLES=15 $(BIN)/python -m pytest -n 5 --dist loadfile -m "not slow and not postgres and not redis" $(FAST) $(ARGS)

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

test: install system web ## Run all tests, five files at a time, as many wait (ARGS="-k cron" selects some)
	@$(MAKE) --silent --jobs 2 pytest web/node_modules/.checked-test

pytest:
	@$(BIN)/python -m pytest -n 5 --dist loadfile --durations 30 --durations-min 5 --durations-json=.pytest_cache/durations.json $(ARGS)

test-nightly: install system ## Run the tests that are too slow for `make test` (ARGS="-k fifty" selects some)
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m nightly $(ARGS)

combinations: install system ## Run the tests that start jobs, behind PgBouncer, with Redis and with Celery (ARGS="-k rescue")
	@TEST_BEHIND=pgbouncer $(BIN)/python -m pytest -n 2 --dist loadfile -m postgres tests/storage tests/client tests/audit $(ARGS)
	@TEST_WITH=redis $(BIN)/python -m pytest -n 2 --dist loadfile -m postgres tests/client tests/audit tests/runtime $(ARGS)
	@$(BIN)/python -m pytest -n 2 --dist loadfile tests/contrib tests/runtime/test_dispatching.py $(ARGS)

# pip always takes the newest versions. Old ones warn of what has become deprecated since, what Alembic finds in a
# database depends on what SQLAlchemy reads there, and SQLAlchemy 2.0 hides the first error of a connection.
oldest: install system ## Run the tests with the oldest versions that pyproject.toml allows (ARGS="-k cron" selects some)
	test -x .venv/oldest/bin/uv || { $(PYTHON) -m venv .venv/oldest && .venv/oldest/bin/python -m pip install --quiet uv; }
	.venv/oldest/bin/uv pip install --quiet --python .venv/oldest --resolution lowest-direct --editable '.[all,test]'
	.venv/oldest/bin/python -m pytest -n 3 --dist loadfile -m "not slow" -W ignore::DeprecationWarning \
		--deselect tests/storage/test_migrations.py::test_alembic_finds_no_difference_from_the_table_definitions \
		--deselect tests/runtime/test_pooler.py::test_a_pooler_in_statement_mode_is_named_as_the_cause \
		$(addprefix tests/,alerts api audit cli client contrib properties runtime schedules storage testing unit) $(ARGS)

fuzz: install system ## Run each property test with EXAMPLES (1000) new random values (ARGS="-k cron" selects some)
	@TEST_FUZZ=$(or $(EXAMPLES),1000) $(BIN)/python -m pytest -n 2 -m hypothesis --timeout 3600 --randomly-seed default $(ARGS)

lint: install web-check ## Check format, style, types and the direction of imports
	$(BIN)/ruff format --check $(TREES)
	$(BIN)/ruff check $(TREES)
	$(BIN)/mypy $(TREES)
	$(NODE) $(BIN)/pyright
	$(BIN)/lint-imports

# With --quiet it overlooks the warnings that --strict refuses.
docs: install ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

check: lint docs test ## Run everything that continuous integration runs, in the same order

demo: .venv/runtime ## Run the demonstration (ONCE=1: only one round)
	@if $(NODE) --present; then $(MAKE) --no-print-directory $(DASHBOARD); else test -f $(DASHBOARD); fi \
		|| echo "The dashboard is not built, so its page will be empty: see \`make web\`."
	$(BIN)/python -m examples.demo $(if $(ONCE),--once)

demo-celery: install ## Show jobs in a Celery worker, with a Redis broker that it starts (ONCE=1: only one round)
	$(BIN)/python -m examples.celery $(if $(ONCE),--once)

web: $(DASHBOARD) ## Build the dashboard into the package (installs Node.js 20 into .venv if it is missing)

$(DASHBOARD): $(MODULES) $(filter-out %/README.md web/app/tests/% web/packages/client/tests/% web/packages/vue/tests/% web/packages/react/%,$(WEB_FILES))
	@cd web && ../$(NODE) npm run --silent build

$(MODULES): web/package-lock.json web/package.json web/app/package.json $(wildcard web/packages/*/package.json)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@cd web && ../$(NODE) npm ci
	touch $@

web-check: $(MODULES) ## Check format, style and types of web/, and run its tests
	@$(MAKE) --silent $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs 2) $(addprefix web/node_modules/.checked-,lint types test)

web/node_modules/.checked-%: $(MODULES) $(WEB_FILES) tests/api/openapi.json
	cd web && ../$(NODE) npm run --silent $*
	touch $@

dist: install web ## Build the sdist and the wheel, both with the dashboard, into dist/
	$(BIN)/python -m build --no-isolation

screenshots: install system web ## Take a screenshot of every view of the dashboard, into docs/images/
	$(BIN)/python -m tests.e2e.screenshots $(ARGS)

bench: install system ## Run the benchmarks, compared with raw statements on the same server
	$(BIN)/python -m benchmarks $(ARGS)

bench-peers: install system ## Run Horae beside other job systems, each in an environment of its own (ARGS="--only pgqueuer")
	$(BIN)/python -m benchmarks.peers $(ARGS)

first-view: install system web ## Measure how fast the views of the dashboard appear over a million jobs
	$(BIN)/python -m benchmarks.dashboard $(ARGS)

soak: install system ## Run a mixed load under faults for MINUTES (15) and judge memory, tables, latency and results (SEED=1)
	$(BIN)/python -m benchmarks.soak $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) $(ARGS)

faults: install system ## Cause faults one by one under load, and print rates and verdicts (ARGS="read-only --only postgresql")
	$(BIN)/python -m tests.faults.measure $(ARGS)

simulate: install system ## Simulate clusters under faults: SEEDS (1000) on all cores, or one SEED with its trace (ARGS="--database postgresql")
	@$(BIN)/python -m tests.simulation $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),1000)) $(ARGS)

ablations: install system ## Remove one guard at a time, and report which simulation catches it (ARGS=name)
	@$(BIN)/python -m tests.simulation.ablate $(ARGS)

model: install ## Check every state of the models of leases and ticks, and that each mutation of them is caught
	@$(BIN)/python -m tests.model

changelog: install ## Write CHANGELOG.md from the news fragments (VERSION=0.2.0 makes the section of a release)
	$(BIN)/python scripts/write-changelog $(VERSION)

lock: install ## Write the locked requirements again (ARGS=--upgrade for newer versions)
	$(BIN)/python -m pip install --quiet pip-tools
	scripts/lock-requirements $(ARGS)

clean: ## Remove everything that the other targets created
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist site
	rm -rf web/node_modules web/*/node_modules web/packages/*/dist src/horae/api/static examples/tables/static
