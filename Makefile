# make play    set up, then watch HyperPlay-II defuse the bomb
# make test    set up, then lint, types and tests
PYTHON := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help setup play test lint prepared verify format endurance timed docs findings clean

help:
	@sed -n 's/^# //p' Makefile

setup:
	@sh scripts/setup.sh
	@$(PYTHON) -m compileall -qq ggp match_runner tests

play: setup
	@$(PYTHON) -m match_runner.demo

test:
	@$(MAKE) --no-print-directory --jobs=2 lint prepared
	$(PYTHON) -m pytest --numprocesses auto --dist worksteal

## What tests need and takes long to make, made beside the lint, which keeps one processor busy.
prepared: setup
	@$(PYTHON) -m tests.prepared

# make verify  set up, then everything that is checked, in about 100 minutes; goes on where it stopped
verify: setup
	$(PYTHON) scripts/verify.py

# make lint    set up, then style, format and types only
lint: setup
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy

# make format  set up, then rewrite the code in the house format
format: setup
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

# make endurance  set up, then 200 matches of `ggp serve` over HTTP with its memory watched (goes on where
#              it stopped; MATCHES=1800 takes an hour), and 200 with controllers that never ask again
endurance: setup
	$(PYTHON) scripts/endurance.py --flat --matches $(or $(MATCHES),200) --out runs/endurance
	$(PYTHON) -m tests.controllers --matches 200

# make timed   set up, then matches of OpenSpiel's games whose every answer has to be in time: for a
#              machine that does nothing else
timed: setup
	$(PYTHON) -m pytest -m timed

# make docs    set up, then build the site of the documentation into site/
docs: setup
	@echo 'docs: installing what builds the site'
	$(PYTHON) -m pip install --quiet --editable '.[docs]'
	@echo 'docs: building the site, which takes a minute'
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --quiet

# make findings  run the scripts of findings/, which need no setup, and say which packages changed
findings:
	@changed=0; export PIP_NO_COMPILE=1; for script in findings/*.sh; do \
	  if bash $$script > /dev/null 2>&1; then echo "as found: $$script"; \
	  else echo "CHANGED:  $$script"; changed=1; fi; done; exit $$changed

# make setup   SWI-Prolog, Chromium, .venv and the project in it; quick the second time
# make clean   remove .venv, caches and build results
clean:
	rm -rf .venv build dist ggp/_kernels site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
