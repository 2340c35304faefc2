# make demo     the point, in one real run
# make test     every check, and the tests on every supported Python found
# make check    lint, types and layers alone
# make unit     the tests alone, on $(PYTHON)
# make lock     resolve the development dependencies anew

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready
# nothing of the caller's Python set-up reaches the environment that is tested
export PYTHONPATH =
export PYTHONNOUSERSITE = 1

.PHONY: demo test check unit lock clean
.DELETE_ON_ERROR:

demo: $(READY)
	$(BIN)/python demo/demo.py

test: check
	PYTHON=$(PYTHON) sh tests/run-on-every-python

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

unit: $(READY)
	$(BIN)/pytest --cov --cov-report=term

lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --all-extras --group dev \
	    pyproject.toml -o requirements/dev.txt --upgrade

clean:
	rm -rf .venv* .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist mutants

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@
