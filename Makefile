# make demo   a first release, from nothing but Python and pip
# make test   all tests;  make check: tests, style, types, borders
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
DATA := $(wildcard ../shared/data)
export HEDGEROW_DATA ?= $(if $(DATA),$(abspath $(DATA)),)
# an empty variable is no folder
ifeq ($(strip $(HEDGEROW_DATA)),)
unexport HEDGEROW_DATA
endif

.PHONY: demo test lint types borders check kernels clean

.venv/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: .venv/installed
	$(BIN)/python examples/demo.py demo

test: .venv/installed-dev
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

lint: .venv/installed-dev
	$(BIN)/ruff check .

types: .venv/installed-dev
	$(BIN)/mypy

borders: .venv/installed-dev
	$(BIN)/python scripts/check_borders.py
	$(BIN)/python scripts/check_words.py

check: lint types borders test

kernels:
	find src -name '*.nbi' -delete -o -name '*.nbc' -delete

clean: kernels
	rm -rf .venv demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
