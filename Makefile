# Every target makes the virtual environment that it needs; nothing is installed outside .venv.
PYTHON ?= python3
PROFILE ?= ci
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo test quick wheel nightly bench pythons quality reference fix

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/cli.stamp ## compile the two shipped networks down to VHDL, into build/
	rm -rf build/digits build/classes
	$(BIN)/graphrewrite compile graphrewrite/models/digits.onnx -o build/digits
	$(BIN)/graphrewrite compile graphrewrite/models/classes.onnx -o build/classes

test: .venv/dev.stamp ## format, lint, types and tests (CASES=all: all cases of slow ones, all examples, PROFILE=slow: further ones, PYTEST=... adds options)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto --hypothesis-profile=$(PROFILE) $(if $(CASES),,-p tests.support.some_cases) $(PYTEST)

quick: .venv/dev.stamp ## the tests that take a moment: nothing slow, no VHDL simulation, no browser, few seeds
	$(BIN)/python -m pytest -n auto --hypothesis-profile=quick -m "not slow and not ghdl and not browser" \
	  -p tests.support.first_seeds -p tests.support.touched_modules $(PYTEST)

wheel: .venv/bin/python ## build dist/graphrewrite-VERSION-py3-none-any.whl, which installs anywhere
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

nightly: .venv/dev.stamp ## 10,000 configurations of each component, designs against GHDL and programs over memory, 1,000 mutants of each format (SEED=1, EXECUTOR=module:name)
	$(BIN)/python -m pytest $(if $(EXECUTOR),--executor=$(EXECUTOR),-n auto) --hypothesis-profile=slow --hdl-seed=$(or $(SEED),$(shell date +%s)) tests/hdl tests/lowering/memory tests/lowering/exchange/test_mutated_*.py $(PYTEST)

bench: .venv/dev.stamp ## the benchmarks, one by one (PROFILE=quick: at their smallest, slow: full size, PEERS=python: who else)
	$(BIN)/python -m pytest tests/benchmarks -s -o python_files='bench_*.py' --hypothesis-profile=$(PROFILE) \
	  $(if $(PEERS),--peers=$(PEERS)) $(PYTEST)

pythons: ## a smoke test on each Python that is found, and with the lowest versions of what is needed
	PYTHON=$(PYTHON) .ci/versions

reference: .venv/dev.stamp ## write what follows from the definitions of ops: docs/ops.md, and the stub for type checkers
	$(BIN)/python -m tests.support.op_reference

quality: .venv/quality.stamp ## coverage, mutation score, what generators reach (PARTS="mutation faults", OF=hdl, SAMPLE=40, FULL=1, SEED=1)
	$(BIN)/python -m tests.quality.figures $(PARTS) $(if $(FULL),--full) \
	  $(if $(SEED),--seed=$(SEED)) $(if $(SAMPLE),--sample=$(SAMPLE)) $(OF:%=--of=%)

fix: .venv/dev.stamp ## format the code and mend what the linter can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The stamps say which extras are installed; they are renewed when pyproject.toml changes.
.venv/%.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "graphrewrite needs Python 3.11 or newer, '$(PYTHON)' is `$(PYTHON) --version 2>&1 || true`."; \
	  echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; \
	  echo "'$(PYTHON)' cannot make a virtual environment. On Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
