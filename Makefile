# Two commands do all the set-up: `make reproduce` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= results

# The revision that changes are counted from. Override it: make test SINCE=HEAD~3
SINCE ?= $(shell git merge-base HEAD origin/main 2> /dev/null || echo HEAD)
PYTEST := -m pytest -n logical

# $(call install-into,FOLDER) starts a command that installs into the environment there. pip prints
# errors but no warnings: with several indexes configured, it warns once per package and index.
UV ?= $(shell command -v uv 2> /dev/null)
install-into = $(if $(UV),$(UV) pip install --quiet --python $(1)/bin/python,$(1)/bin/python -m pip install -qq --disable-pip-version-check)
failed-install = { echo 'the installation failed$(if $(UV),; uv ignores the settings of pip: `make UV= $@` installs with pip)' >&2; exit 1; }

.PHONY: help install kernels browser typescript pgbouncer constraints format check lint test test-full test-postgres test-seeds \
	test-oldest test-newest chaos chaos-serve chaos-local audit reproduce results docs changelog wheel sbom clean \
	bench

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-26s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ------------------------------------------------------------------------------ set up

install: $(VENV)/.kernels  ## create .venv with the package, all extras, the tools and compiled kernels (2 minutes)

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("varts needs Python 3.11 or newer, got " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo 'installing into $(VENV) with $(if $(UV),uv,pip): a minute or so'
	$(PYTHON) -m venv $(VENV)
	$(call install-into,$(VENV)) -c constraints.txt -e '.[all,dev,docs]' || $(failed-install)
	@touch $@

$(VENV)/.kernels: $(VENV)/.installed
	@echo 'compiling the kernels of the built-in policies: a minute or so'
	$(BIN)/python -m varts.simulation.engine.prebuild --native
	@touch $@

kernels: $(VENV)/.installed  ## compile the kernels of the built-in policies again, after a change to the engine
	$(BIN)/python -m varts.simulation.engine.prebuild --native

AXE := 4.10.3
BROWSERS := chromium-headless-shell chromium chromium-browser google-chrome
browser:  ## install a browser (on Debian, as root) and axe-core (with npm) for the tests of the pages
	@for one in $(BROWSERS); do command -v $$one && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -q && apt-get install -q -y --no-install-recommends chromium-headless-shell; \
	else echo 'no browser: install Chromium, or set VARTS_BROWSER' >&2; exit 1; fi
	@if command -v npm > /dev/null; then \
		npm install --silent --prefix .browser --no-save --no-package-lock axe-core@$(AXE); \
	else echo 'no npm: axe-core cannot be fetched' >&2; exit 1; fi

TYPESCRIPT := 5.9.3
typescript:  ## install the TypeScript compiler (with npm) for the test of the JavaScript client's types
	@if command -v npm > /dev/null; then \
		npm install --silent --prefix .typescript --no-save --no-package-lock typescript@$(TYPESCRIPT); \
	else echo 'no npm: TypeScript cannot be fetched' >&2; exit 1; fi

pgbouncer:  ## install PgBouncer (on Debian, as root or with sudo) for the tests of PostgreSQL behind it
	@command -v pgbouncer && exit 0; \
	if command -v apt-get > /dev/null; then \
		sudo=$$([ "$$(id -u)" = 0 ] || command -v sudo); \
		$$sudo apt-get update -q && $$sudo apt-get install -q -y --no-install-recommends pgbouncer; \
	else echo 'no PgBouncer: install it' >&2; exit 1; fi

# soupsieve, which the theme of the documentation needs, has no release for Python before 3.11.5.
constraints:  ## resolve constraints.txt again (needs uv); UPGRADE=--upgrade takes newer versions
	uv pip compile --quiet --universal --no-python-downloads --python-version 3.11.5 --all-extras \
		--no-annotate --custom-compile-command 'make constraints' $(UPGRADE) -o constraints.txt pyproject.toml

# ------------------------------------------------------------------------------ check

format: install  ## format the code and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lint: install  ## lint, formatting, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint  ## lint, then the quick tests related to what changed since SINCE (under a minute)
	$(BIN)/python $(PYTEST) --tier check --since $(SINCE)

# ------------------------------------------------------------------------------ test

test: install  ## the tests that must pass before a change lands, given SINCE (5 to 10 minutes)
	$(BIN)/python $(PYTEST) --tier gate --since $(SINCE)

COV = --cov --cov-report=term-missing:skip-covered
test-full: lint  ## lint, every test and every page, with coverage; COV= leaves that out (25 minutes)
	$(BIN)/python $(PYTEST) --tier full $(COV)

test-postgres: install  ## every test that uses PostgreSQL; the tests start their own server
	$(BIN)/python $(PYTEST) --tier full -m postgres

SEED ?= $(shell $(PYTHON) -c 'import secrets; print(secrets.randbelow(10**9))')
test-seeds: SEED := $(SEED)
test-seeds: install  ## the statistical tests with a fresh seed, or with SEED=
	@echo 'to repeat this run: make test-seeds SEED=$(SEED)'
	VARTS_TEST_SEED=$(SEED) $(BIN)/python $(PYTEST) --tier full -m statistical

# Warnings are errors elsewhere; old versions warn about each other.
test-oldest:  ## every test with the oldest versions that pyproject.toml allows, in .venv-oldest
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python .ci/oldest.py pyproject.toml > .venv-oldest/oldest.txt
	$(call install-into,.venv-oldest) -c .venv-oldest/oldest.txt -e '.[all,dev]' || $(failed-install)
	.venv-oldest/bin/python $(PYTEST) --tier full -W ignore $(TESTS)

# Numba has an upper bound; this tries the newest release beyond it.
test-newest:  ## every test with the newest versions, of Numba beyond what pyproject.toml allows, in .venv-newest
	$(PYTHON) -m venv .venv-newest
	$(call install-into,.venv-newest) --upgrade -e '.[all,dev]' || $(failed-install)
	$(call install-into,.venv-newest) --upgrade numba || $(failed-install)
	.venv-newest/bin/python $(PYTEST) --tier full $(TESTS)

chaos: install  ## live experiments under kills, pauses, restarts, restores and wrong clocks; CHAOS='--kills 10' is short
	$(BIN)/python -m tests.live.chaos $(CHAOS)

chaos-serve: install  ## varts serve under kills, lost stores, full disks and wrong clocks
	$(BIN)/python -m tests.serve.chaos $(CHAOS)

chaos-local: install  ## a million local decisions while clients, network and service fail; CHAOS='--store sqlite'
	$(BIN)/python -m tests.serve.local_chaos $(CHAOS)

audit:  ## known vulnerabilities of the pinned dependencies and of the workflows, in .venv-audit
	$(PYTHON) -m venv .venv-audit
	$(call install-into,.venv-audit) --upgrade pip-audit zizmor || $(failed-install)
	.venv-audit/bin/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip
	.venv-audit/bin/zizmor .github

# ------------------------------------------------------------------------------ run

# This may be the first thing you run, so it doesn't compile the kernels of every policy.
PAPER := VarTS UCB1 UCB1-Tuned UCB-V Bernoulli-TS Gaussian-TS
reproduce: $(VENV)/.installed  ## figures 1 and 2 of the paper and its claims, into results/
	$(BIN)/python -m varts.simulation.engine.prebuild --native --policies $(PAPER)
	$(BIN)/varts reproduce --out $(OUT)

results: install  ## the same into docs/results, for docs/results.md
	$(BIN)/varts reproduce --out docs/results
	rm -f docs/results/*.svg

# ------------------------------------------------------------------------------ docs

docs: install  ## the documentation site, into site/; warnings are errors
	$(BIN)/sphinx-build --quiet --fresh-env --fail-on-warning -b html docs site
	@echo 'open site/index.html'

# ------------------------------------------------------------------------------ release

changelog: install  ## print the next section of the changelog; writes nothing
	$(BIN)/towncrier build --draft --version next

# What builds a release sees no package but `build` and what that needs.
wheel:  ## the sdist and the wheel, into dist/
	rm -rf dist .venv-build
	$(PYTHON) -m venv .venv-build
	$(call install-into,.venv-build) -c constraints.txt build || $(failed-install)
	.venv-build/bin/python -m build --outdir dist .

# Installed by name, because pip records the path of a wheel that is installed by its file. Not in
# dist/, because everything there goes to the package index.
sbom: wheel  ## what a user installs with the wheel, as CycloneDX, into sbom/varts.cdx.json
	rm -rf .venv-wheel .venv-sbom
	$(PYTHON) -m venv .venv-wheel
	$(call install-into,.venv-wheel) --no-deps --no-index --find-links dist varts || $(failed-install)
	$(call install-into,.venv-wheel) -c constraints.txt varts || $(failed-install)
	.venv-wheel/bin/python -m pip uninstall -qq --yes setuptools pip
	$(PYTHON) -m venv .venv-sbom
	$(call install-into,.venv-sbom) cyclonedx-bom || $(failed-install)
	mkdir -p sbom
	.venv-sbom/bin/cyclonedx-py environment --output-reproducible --validate --output-file sbom/varts.cdx.json .venv-wheel/bin/python

clean:  ## remove what was built, but not the results
	rm -rf $(VENV) .venv-* .browser .typescript build dist sbom site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage*
	rm -rf src/varts/simulation/engine/prebuilt
	find src tests -name __pycache__ -prune -exec rm -rf {} +

# ------------------------------------------------------------------------------ benchmarks

bench: install  ## run a benchmark by NAME= (tables: all that docs/ compares with others); without one, list them
	@$(BIN)/python -m benchmarks $(NAME)
