# make demo     the point, in one real run
# make test     every check, and the tests on every supported Python that is found
# make check    lint, types and layers alone
# make unit     the tests alone, on $(PYTHON)
# make test-faults       crashes, power loss, races and a hostile agent, on a sample; installs tools of the system
# make test-faults-full  the same, every point of it
# make fuzz              fuzzes every decoder, for FUZZ_SECONDS each
# make mutants           changes the core and sees that the tests notice
# make bench    what things cost, as ratios; takes minutes, QUICK=1 fewer; ONLY=words measures some and writes nothing
# make guard    counts instructions against the committed figures; guard-update writes those anew
# make docs     the documentation as a site, in build/site
# make docs-drawn        draws anew what the pages take from the code
# make lock     resolve the development dependencies anew (needs uv)

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready
DOCS = .venv-docs
COMPILE = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --all-extras --upgrade \
    --custom-compile-command 'make lock' pyproject.toml

# nothing of the caller's own Python set-up reaches what is tested
unexport PYTHONPATH PYTHONHOME SANDBOX_PIN_RUNS SANDBOX_PIN_LAUNCH
export PYTHONNOUSERSITE = 1

.PHONY: demo test check unit test-faults test-faults-full fuzz mutants guard guard-update bench docs docs-drawn lock clean
.DELETE_ON_ERROR:

demo: $(READY)
	$(BIN)/python demo/demo.py

test: check unit guard
	sh tests/on-other-pythons $(BIN)/python

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports
	$(BIN)/python tests/typing/check.py
	$(BIN)/python tests/typing/completeness.py

unit: $(READY)
	$(BIN)/pytest --numprocesses auto --dist worksteal --cov --cov-report term

FAULT_SAMPLE ?= 10
test-faults: $(READY)
	sh tests/install-fault-tools
	SANDBOX_PIN_FAULT_SAMPLE=$(FAULT_SAMPLE) $(BIN)/pytest -m faults --numprocesses 2 --dist worksteal tests/faults

test-faults-full: $(READY)
	sh tests/install-fault-tools
	SANDBOX_PIN_FAULT_SAMPLE=all SANDBOX_PIN_SPACE_SECONDS=60 SANDBOX_PIN_RACE_COMMANDS=20000 \
	    $(BIN)/pytest -m 'faults or not faults' --numprocesses 2 --dist worksteal tests/faults tests/core/test_state_space.py

FUZZ_SECONDS ?= 120
fuzz: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check 'atheris>=3' || echo 'atheris has no wheel here: plain mutation'
	$(BIN)/python tests/fuzz/run.py --seconds $(FUZZ_SECONDS)

mutants: $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check 'mutmut>=3.8,<4'
	$(BIN)/python tests/mutants/run.py

guard: $(READY)
	$(BIN)/python benchmarks/guard.py

guard-update: $(READY)
	$(BIN)/python benchmarks/guard.py --update

DATE ?= $(shell date +%F)
bench: $(READY)
	$(BIN)/python -m benchmarks --date $(DATE) $(if $(QUICK),--quick) $(if $(ONLY),--only '$(ONLY)')

# not --quiet: what MkDocs does not print, its --strict does not see
docs: $(DOCS)/.ready
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict

docs-drawn: $(READY)
	$(BIN)/python docs/generate.py

lock:
	$(COMPILE) --group dev --output-file requirements/dev.txt
	$(COMPILE) --group test --output-file requirements/test.txt
	$(COMPILE) --group docs --output-file requirements/docs.txt
	$(COMPILE) --resolution lowest-direct --output-file requirements/oldest.txt

clean:
	rm -rf .venv* .coverage* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "sandbox-pin needs Python 3.11 or newer"'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(DOCS)/.ready: requirements/docs.txt
	$(PYTHON) -m venv --clear $(DOCS)
	$(DOCS)/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/docs.txt
	touch $@
