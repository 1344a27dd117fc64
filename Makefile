# Every target sets up what it needs: python3 (3.11 to 3.14) and make are enough to start.
# A stamp file makes later set-ups instant.

PYTHON ?= python3
JOBS ?= 2
AXE ?= all
N ?= 1
PRESET ?= quick
export PYDEVD_DISABLE_FILE_VALIDATION = 1
# Without Python's .pyc files, each kernel and worker would compile its imports again.
unexport MPLBACKEND PYTHONDONTWRITEBYTECODE PYTHONPATH VIRTUAL_ENV

BIN := .venv/bin
STAMP := .venv/.stamp
HTML := _build/html
UV := .tools/bin/uv
BUILD := $(BIN)/jupyter-book build . -W -n --keep-going
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
PYTEST := $(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --no-loadscope-reorder --durations=10 --durations-min=1
NBVAL := --nbval --nbval-current-env --nbval-sanitize-with tests/nbval_sanitize.cfg

.DEFAULT_GOAL := help
.PHONY: help setup lock chapter book html book-sphinx format lint types quick unit notebooks together test test-long check-pages pdf dist bench clean distclean

help: ## show this list
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'

$(UV):
	@python=$$(.ci/interpreter $(PYTHON)) || python=$(PYTHON); set -x; $$python -m venv .tools
	.tools/bin/python -m pip --quiet --disable-pip-version-check install uv==0.13.8

$(STAMP): pyproject.toml book/pyproject.toml requirements.lock | $(UV)
	@rm -f $@
	@python=$$(.ci/interpreter $(PYTHON)) || exit 1; \
	    test "$$($(BIN)/python -V 2>&1)" = "$$($$python -V 2>&1)" || \
	    { set -x && $(UV) venv --quiet --clear --python $$python .venv; }
	$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --editable . --editable book
	@touch $@

setup: $(STAMP) ## build .venv from requirements.lock, install the package and the companion in it

lock: | $(UV) ## renew requirements.lock from pyproject.toml (versions and hashes, no addresses)
	$(UV) lock --quiet --python $$(.ci/interpreter $(PYTHON))
	$(UV) export --quiet --all-extras --no-emit-project --no-header --no-annotate \
	    --format requirements-txt --output-file requirements.lock
	rm -f uv.lock

chapter: $(STAMP) ## execute chapter N in a copy of the book, at PRESET smoke, quick or paper
	$(BIN)/companion execute $(N) --preset $(PRESET)

book: $(STAMP) ## execute every chapter at the paper preset, then build the pages
	$(BIN)/companion execute --at-a-time $(JOBS)
	@$(MAKE) --no-print-directory html

# If only sentences have changed since the last build, only their pages are rebuilt.
html: $(STAMP) ## build the pages from the outputs in the repository
	@all=$$($(BIN)/python -m companion.changed_pages) && set -x && $(BUILD) $$all
	@$(BIN)/python -m companion.changed_pages --done
	@echo "The book: $(HTML)/index.html"

# The configuration has to be where the pages are; it is made from _config.yml, and goes again.
book-sphinx: $(STAMP) ## build the same pages to _build/sphinx by Sphinx alone
	@trap 'rm -f conf.py' EXIT INT TERM; set -ex; $(BIN)/jupyter-book config sphinx .; \
	    PYTHONPATH=book/_ext $(BIN)/sphinx-build -b html -j auto -n --keep-going . _build/sphinx
	$(BIN)/python -m pytest -q tests/test_toc.py -k sphinx

format: $(STAMP) ## format code and notebooks
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .

lint: $(STAMP) ## check format, style (notebooks included) and the imports between layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

# The annotations match the oldest Python and its NumPy; later stubs differ.
types: $(STAMP) ## check the types, on Python 3.11
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; \
	    then set -x; $(BIN)/mypy; else echo "types are checked on Python 3.11 alone"; fi

quick: $(STAMP) ## check the changes since main, and run the tests they touch, in 90 seconds
	@$(BIN)/python tests/quick.py --jobs $(JOBS)

unit: $(STAMP) ## run the tests and the docstring examples of the package and the companion
	$(PYTEST) tests

notebooks: $(STAMP) ## run every chapter again and compare the outputs
	$(if $(NOTEBOOKS),$(PYTEST) $(NBVAL) $(NOTEBOOKS),@echo "no chapter to run")

# The chapters take longest, so they start first; single-process jobs run in parallel.
together: $(STAMP)
	$(PYTEST) $(NBVAL) $(NOTEBOOKS) tests

test: $(STAMP) ## all of lint, types, unit, notebooks and html, side by side
	@$(MAKE) --no-print-directory --keep-going -j 3 BUILD='$(BUILD) -q' html together lint types

test-long: $(STAMP) ## run the tests marked "long", which make test omits, before a release
	$(PYTEST) -m long tests

check-pages: $(STAMP) ## build the pages, and check them in a headless browser
	@$(MAKE) --no-print-directory BUILD='$(BUILD) -q' html
	$(BIN)/python -m pytest -q -n $(JOBS) tests/pages --build $(HTML) --axe $(AXE)

# A build of the pages hides the PDF of an older one.
pdf: $(STAMP) ## print the book to one PDF, which the pages then offer, where Chromium is installed
	@test -e $(HTML)/index.html || $(MAKE) --no-print-directory html
	$(BIN)/python tests/print_pages.py $(PRINT) $(HTML) _build/pdf

dist: $(STAMP) ## build wheel and sdist, and test both with only the run-time dependencies
	rm -rf _build/dist _build/trial
	$(UV) build --quiet --python $(BIN)/python --out-dir _build/dist
	$(UV) venv --quiet --python $(BIN)/python _build/trial
	$(UV) pip install --quiet --python _build/trial/bin/python _build/dist/*.whl
	cd / && $(CURDIR)/_build/trial/bin/dpbandits run dp-se --means 0.9,0.8 --epsilon 1 --runs 3
	cd / && $(CURDIR)/_build/trial/bin/dpbandits estimate dp-nas --mean 0.3 --epsilon 1 --set alpha=0.5 --set beta=0.1 --runs 2
	! _build/trial/bin/python -c "import companion" 2>/dev/null
	! _build/trial/bin/python -c "import pandas" 2>/dev/null
	$(UV) pip install --quiet --python _build/trial/bin/python --reinstall --no-deps _build/dist/*.tar.gz
	cd / && $(CURDIR)/_build/trial/bin/dpbandits plan --means 0.9,0.5 --epsilon 1 --delta 0.1 --runs 3

bench: $(STAMP) ## measure the speed of the algorithms; RECORD=book/data renews the book's table
	$(BIN)/python -m pytest -q benchmarks --benchmark-only --benchmark-sort=name \
	    --benchmark-columns=median,iqr,rounds $(if $(RECORD),--record $(RECORD))
	$(if $(RECORD),$(BIN)/python benchmarks/edition.py $(RECORD))

clean: ## remove build products
	rm -rf _build book/reference .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks
	find . -name __pycache__ -not -path './.venv/*' -not -path './.tools/*' -prune -exec rm -rf {} +

distclean: clean ## remove the environments as well
	rm -rf .venv .tools
