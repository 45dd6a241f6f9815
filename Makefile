# Two commands for everybody: `make demo` and `make test`. `make check` is what CI runs besides; `make bench` measures.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -q -n auto --dist worksteal

.PHONY: demo test check docs bench clean

demo: .venv/demo
	@$(BIN)/python examples/demo.py

test: .venv/test
	$(PYTEST)

check: .venv/check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/cog --check --diff README.md docs/*.md
	$(PYTEST) -m long

docs: .venv/check
	$(BIN)/cog -r README.md docs/*.md

bench: .venv/bench
	$(BIN)/python -m bench

clean:
	rm -rf .venv build dist .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -m venv .venv

# Each set of packages leaves a mark that is renewed when pyproject.toml changes.
.venv/demo: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/test .venv/check .venv/bench: .venv/%: pyproject.toml | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@
