# Two commands do everything: `make demo` and `make test`. Both create .venv on first use and reuse it afterwards.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: help demo test lint types tests bench docs clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	@echo "==> Setting up $(VENV): downloading packages, a few minutes (once; again only when pyproject.toml changes)"
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Run: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

demo: $(STAMP) ## show the main job on the sample documents
	@echo "==> Demo: what works now, on a sample"
	@$(BIN)/python scripts/demo.py

test: lint types tests ## lint, types, tests with coverage: the same as CI
	@echo "==> Lint, types and tests passed"

lint: $(STAMP)
	@echo "==> Lint: ruff check, ruff format"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(STAMP)
	@echo "==> Types: mypy --strict"
	@$(BIN)/mypy

tests: $(STAMP)
	@echo "==> Tests with coverage (at least 85 %)"
	@$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term

bench: $(STAMP) ## speed, as tables
	@echo "==> Benchmarks"
	@$(BIN)/python -m benchmarks

docs: $(STAMP) ## write the generated parts of docs/ anew
	@echo "==> Docs: JSON Schemas, settings and the help of every command"
	@$(BIN)/python scripts/write_docs.py

clean: ## remove what the commands made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* bench-results
