# Penstock's commands. Needed on the machine: make, and Python 3.11 or newer. `make` alone prints the list.

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
NATIVE := $(shell find src -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi')
PIP := $(BIN)/python -m pip --disable-pip-version-check

# The first of these that is new enough builds the environment; `make install PYTHON=…` names another.
PYTHON := python3 python3.14 python3.13 python3.12 python3.11

# Tests run on so many workers; tests/lanes.toml says what never runs side by side.
JOBS := 2
COMMA := ,

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help install dev run wheel docs test check lint types imports bench sim faults clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: $(STAMP) ## build .venv with all that running needs, .venv/bin/penstock among it

dev: $(DEV_STAMP) ## add the tools of tests and checks; the targets below do so themselves

run: install ## start the platform with a live example: trades in, statistics out, a console to watch them
	@$(BIN)/penstock up --data .data --run examples/stock_statistics.py --hints

wheel: install ## build dist/penstock-…whl, which `pip install 'dist/…whl[all]'` installs
	$(PIP) wheel --quiet --no-deps --no-build-isolation -w dist .

docs: dev ## build the site of docs/ into build/site; needs no network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "Built: build/site/index.html"

test: lint types imports ## everything, as CI runs it; ONLY=spark,faults chooses areas
	$(BIN)/pytest -n $(JOBS) $(addprefix tests/,$(subst $(COMMA), ,$(ONLY)))

check: lint types imports ## the fast part: lint, types, imports, and the tests of packages that only decide
	$(BIN)/pytest -q -n $(JOBS) --fast

lint: dev ## ruff, its rules and its format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: dev ## mypy
	$(BIN)/mypy

imports: dev ## the layers: who may import whom
	$(BIN)/lint-imports --no-logo

bench: dev ## measure against Apache Kafka; ONLY=produce,latency chooses, QUICK=1 has a look, JSON=FILE keeps samples
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY)) $(if $(QUICK),--quick) $(if $(JSON),--json $(JSON))

sim: dev ## simulate a cluster in one process; ONLY=cluster chooses, SEED=n repeats a run
	$(BIN)/pytest tests/simulation -s --long $(if $(ONLY),-k "$(ONLY)") $(if $(SEED),--seed $(SEED))

faults: dev ## kill, cut and starve real processes at length; ONLY=A1 chooses a claim, APACHE=1 breaks Apache Kafka's cluster
	$(BIN)/pytest -m claim --long $(if $(ONLY),--only $(ONLY)) $(if $(APACHE),--apache)

clean: ## remove .venv, caches and what was built; .data stays
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis src/*.egg-info
	find src tests -name __pycache__ -prune -exec rm -rf {} +
	find src -name '*.so' -exec rm -f {} +
	rm -f $(patsubst %.pyx,%.c,$(filter %.pyx,$(NATIVE)))

# A link to an interpreter that is gone counts as missing, so the environment is built anew.
$(BIN)/python:
	@for python in $(PYTHON); do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  echo "Building $(VENV) with $$("$$python" --version)"; \
	  "$$python" -m venv --clear $(VENV) && exit 0; \
	  echo "make install: $$python cannot build an environment; on Debian and Ubuntu, install python3-venv."; exit 1; \
	done; \
	echo "make install: Penstock needs Python 3.11 or newer, and none of these is: $(PYTHON)."; exit 1

# Build tools come first and pinned, so that nothing unpinned is fetched to build PySpark or our own native walk.
$(STAMP): pyproject.toml constraints.txt $(wildcard setup.py) $(NATIVE) $(BIN)/python
	@echo "[1/3] build tools into $(VENV)"
	@$(PIP) install --quiet -c constraints.txt pip setuptools Cython
	@echo "[2/3] Penstock and Spark: about 1 GB in the end. PySpark is one archive of 456 MB; a minute or two are usual."
	@$(PIP) install --no-build-isolation -c constraints.txt -e '.[all]'
	@touch $@
	@echo "[3/3] installed: $(BIN)/penstock"

# What tests and checks need, on top; `make run` does without.
$(DEV_STAMP): $(STAMP)
	@echo "Installing the tools of tests and checks into $(VENV)"
	@$(PIP) install --quiet --no-build-isolation -c constraints.txt -e '.[all,dev]'
	@touch $@
