# Two commands do all the set-up: `make reproduce` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= results

.PHONY: help install reproduce results test browser test-fast test-oldest docs wheel chaos chaos-serve bench bench-versions bench-fit bench-real bench-anytime bench-best-arm bench-family bench-evaluation bench-evaluation-contexts bench-metrics bench-obp bench-context bench-linear bench-live bench-logs bench-serve bench-history bench-pages bench-large lint format clean

help:  ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(VENV)/.installed  ## create .venv with the package, the command `varts` and all extras

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("varts needs Python 3.11 or newer, got " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo 'installing into $(VENV): a minute or two'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev,docs]'
	@touch $@

reproduce: install  ## figures 1 and 2 of the paper and its claims, into results/
	$(BIN)/varts reproduce --out $(OUT)

results: install  ## the same into docs/results, for docs/results.md
	$(BIN)/varts reproduce --out docs/results
	rm -f docs/results/*.svg

test: install lint  ## everything that must pass: lint, types, layers, tests, doctests, coverage
	$(BIN)/python -m pytest --cov --cov-report=term-missing:skip-covered

AXE := 4.10.3
BROWSERS := chromium-headless-shell chromium chromium-browser google-chrome
browser:  ## a browser (on Debian, as root) and axe-core (with npm), for the tests of the pages
	@for one in $(BROWSERS); do command -v $$one && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -q && apt-get install -q -y --no-install-recommends chromium-headless-shell; \
	else echo 'no browser: its tests are skipped; install Chromium, or set VARTS_BROWSER'; exit 1; fi
	@if command -v npm > /dev/null; then \
		npm install --silent --prefix .browser --no-save --no-package-lock axe-core@$(AXE); \
	else echo 'no npm: the test with axe-core is skipped'; exit 1; fi

test-fast: install  ## the tests without the slow ones: no statistics, PostgreSQL, crashes or pages
	$(BIN)/python -m pytest -m 'not slow'

# Warnings are errors elsewhere; old versions warn about each other.
test-oldest:  ## the tests with the oldest versions that pyproject.toml allows, in .venv-oldest
	$(PYTHON) -m venv .venv-oldest
	grep -oE '"[a-z]+(\[[a-z]+\])?>=[0-9.]+"' pyproject.toml \
		| sed -E 's/"|\[.*\]//g; s/>=(.*)/==\1.*/' > .venv-oldest/oldest.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-oldest/oldest.txt -e '.[all,dev]'
	.venv-oldest/bin/python -m pytest -W ignore $(TESTS)

docs: install  ## the documentation site, into site/; warnings are errors
	$(BIN)/sphinx-build --quiet --fresh-env --fail-on-warning -b html docs site
	@echo 'open site/index.html'

wheel: install  ## the sdist and the wheel, into dist/
	$(BIN)/python -m build --outdir dist .

chaos: install  ## live experiments under kills, pauses, restarts, restores and wrong clocks: nothing is lost
	$(BIN)/python -m tests.live.chaos $(CHAOS)

chaos-serve: install  ## varts serve under kills, lost stores, full disks and wrong clocks: nothing is lost
	$(BIN)/python -m tests.serve.chaos $(CHAOS)

bench: install  ## times beside C, NumPy and other packages, into docs/benchmarks.md
	$(BIN)/python benchmarks/run.py $(BENCH)
	$(BIN)/python benchmarks/linear.py --speed $(BENCH)
	$(BIN)/python benchmarks/asking.py $(BENCH)

bench-versions: install  ## what people wait for, by revision BEFORE and by this one, into docs/benchmarks.md
	$(BIN)/python benchmarks/versions.py $(BEFORE) $(BENCH)

bench-fit: install  ## priors from history: recovery, gain, large logs, into docs/priors.md
	$(BIN)/python benchmarks/fitting.py $(BENCH)

bench-real: install  ## reports and choices on rewards the model did not make, into docs/tails.md
	$(BIN)/python benchmarks/real.py $(BENCH)

bench-live: install  ## live experiments on SQLite and PostgreSQL, into docs/benchmarks-live.md
	$(BIN)/python benchmarks/live.py $(BENCH)

bench-logs: install  ## reading a log of a million decisions, into docs/benchmarks-live.md
	$(BIN)/python benchmarks/logs.py $(BENCH)

bench-serve: install  ## varts serve beside the library and a thread pool, into docs/benchmarks-serve.md
	$(BIN)/python benchmarks/serve.py $(BENCH)

bench-history: install  ## the history of a million decisions, for docs/history.md
	$(BIN)/python benchmarks/history.py $(BENCH)

bench-pages: install  ## the pages of varts serve with ten million decisions, for docs/dashboard.md
	$(BIN)/python benchmarks/pages.py $(BENCH)

bench-large: install  ## long runs with many arms
	$(BIN)/python benchmarks/large.py $(BENCH)

bench-anytime: install  ## errors and detection times of always-valid inference, into docs/anytime.md
	$(BIN)/python benchmarks/anytime.py $(BENCH)

bench-best-arm: install  ## how soon the best arm is found, and how often rules err, into docs/best-arm.md
	$(BIN)/python benchmarks/best_arm.py $(BENCH)

bench-family: install  ## regret and identification of all policies beside published numbers, into docs/family.md
	$(BIN)/python benchmarks/family.py $(BENCH)

bench-linear: install  ## policies with features on problems with context, into docs/context-results.md
	$(BIN)/python benchmarks/linear.py $(BENCH)

bench-evaluation: install  ## bias and coverage of estimates from logs, into docs/evaluation.md
	$(BIN)/python benchmarks/evaluation.py $(BENCH)

bench-evaluation-contexts: install  ## the same of logs with contexts
	$(BIN)/python -m benchmarks.evaluation_contexts $(BENCH)

bench-metrics: install  ## which policy for revenue, ratings, latency and clicks, into docs/recipes.md
	$(BIN)/python benchmarks/metrics.py $(BENCH)

bench-obp: install  ## estimates from logs beside those of the Open Bandit Pipeline, into docs/evaluation.md
	$(BIN)/python -m benchmarks.agreement

bench-context: install  ## linear policies beside other packages on scikit-learn's tables, into docs/benchmarks-context.md
	$(BIN)/python -m benchmarks.context $(BENCH)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install  ## put the code in its format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove what was built, not the results
	rm -rf $(VENV) .venv-oldest .browser build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage*
	find src tests -name __pycache__ -prune -exec rm -rf {} +
