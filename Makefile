# make demo   a first release with its report, from nothing but Python and pip
# make test   the tests that take some minutes;  make test-all: those of CI as well (tests/tiers.py)
# make check  tests, style, types, borders
# make nightly  all tests: full products and more seeds, Spark, and whether tests notice what is broken on purpose
# make docs   the site, in build/html; every link in it is followed
# make dist   sdist and wheel, and the wheel tried in an environment of its own
# make spark  tests on a small Spark of this machine; needs Java 17, installs pyspark
# make lowest a short suite under the lowest versions that pyproject.toml declares
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
DATA := $(wildcard ../shared/data)
export HEDGEROW_DATA ?= $(if $(DATA),$(abspath $(DATA)),)
# an empty variable is no folder
ifeq ($(strip $(HEDGEROW_DATA)),)
unexport HEDGEROW_DATA
endif

# another Python: make lowest PYTHON=python3.13 LOWEST=.venv-lowest-3.13
LOWEST := .venv-lowest
# versions between the lowest and the newest: help pages and errors must be the same with all
TYPERS := typer==0.19.0,click typer==0.23.2,click==8.2.1 typer==0.23.2,click typer==0.25.0,click typer
WHEEL := .venv-wheel

# what starts Python some hundred times need not read the same sources each time
unexport PYTHONDONTWRITEBYTECODE

# in a checkout the loops are compiled when they are first used; only a wheel brings their code along
export HATCH_BUILD_NO_HOOKS := true

.PHONY: demo test test-all nightly spark lowest docs dist lint types borders check kernels clean

.venv/installed: pyproject.toml
	@echo "Installing Hedgerow and the packages that it needs into .venv, which takes about a minute"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: .venv/installed
	$(BIN)/hedgerow demo

test: .venv/installed-dev
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

test-all: test
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "slow and not nightly"

# where Spark is installed, test-all runs its tests as well
nightly: .venv/installed-spark
	$(MAKE) test-all
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m nightly
	$(BIN)/python scripts/mutants.py

# anew when what it installs changes here
.venv/installed-spark: .venv/installed-dev Makefile
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[spark]' 'pyspark[connect]'
	touch $@

spark: .venv/installed-spark
	$(BIN)/python -m pytest -q tests/backends/test_spark.py tests/backends/test_spark_methods.py \
	  tests/backends/test_spark_audit.py tests/backends/test_spark_frames.py \
	  tests/backends/test_spark_executors.py

# built from a copy, so that what is generated lies in build/ alone
docs: .venv/installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	rm -rf build/site build/html
	mkdir -p build/site
	cp -R docs examples *.md build/site/
	$(BIN)/python -m sphinx -W --keep-going -q build/site/docs build/html
	$(BIN)/python scripts/check_site.py build/html

$(LOWEST)/installed: pyproject.toml scripts/lowest_versions.py
	test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check packaging
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
	  $$($(LOWEST)/bin/python scripts/lowest_versions.py dev) -e .
	touch $@

lowest: $(LOWEST)/installed
	NUMBA_CACHE_DIR=$(abspath $(LOWEST)/kernels) $(LOWEST)/bin/python -m pytest -q -n 2 --dist worksteal \
	  tests/test_cli.py tests/test_cli_first.py tests/kernels/test_compiled.py tests/io/test_files.py \
	  tests/io/test_labels.py tests/io/test_workbook.py tests/backends/test_sql.py \
	  tests/backends/test_duckdb.py tests/studio/test_guard.py tests/studio/test_server.py \
	  tests/audit/test_compare_models.py
	set -e; for pair in $(TYPERS); do \
	  rm -rf $(LOWEST)/typer; \
	  $(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
	    --target $(LOWEST)/typer $${pair//,/ }; \
	  PYTHONPATH=$(abspath $(LOWEST)/typer) $(LOWEST)/bin/python -m pytest -q tests/test_cli_first.py \
	    -k "help or list_of_commands or shell"; \
	done

# the demo and README's commands run in a folder apart, where nothing but the wheel can be imported, and
# nothing of them is compiled
dist: .venv/installed-dev
	rm -rf dist $(WHEEL)
	mkdir -p build
	$(BIN)/python -m build --quiet --sdist
	HATCH_BUILD_NO_HOOKS= $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
	  --wheel-dir dist dist/*.tar.gz
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	awk '/^```/ { on = /console/; next } on { sub(/^\$$ /, ""); print }' README.md > build/readme.sh
	away=$$(mktemp -d) && cd $$away && export PATH=$(abspath $(WHEEL))/bin:$$PATH NUMBA_CACHE_DIR=$$away/kernels \
	  && hedgerow demo && bash -e $(CURDIR)/build/readme.sh \
	  && hedgerow protect demo/people.csv --quasi age,job --sensitive income --method mart --no-report --out ranges \
	  && python -m hedgerow apply ranges/plan.json demo/people.csv \
	    --out again.csv && ! find kernels -name "*.nbc" | grep . && rm -r $$away

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# of other systems too, each with a cache of its own, for one would empty the others'
types: types-linux types-darwin types-win32

types-%: .venv/installed-dev
	$(BIN)/mypy --platform $* --cache-dir .mypy_cache/$*

borders: .venv/installed-dev
	$(BIN)/python scripts/check_borders.py
	$(BIN)/python scripts/check_words.py
	$(BIN)/python scripts/check_budget.py

check: lint types borders test

kernels:
	find src -name '*.nbi' -delete -o -name '*.nbc' -delete

clean: kernels
	rm -rf .venv .venv-lowest* $(WHEEL) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
