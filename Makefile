# Each target sets up all it needs on a machine with nothing but Python >= 3.11.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-fast mutants torture check docs results papers bench lock clean

LOCK := requirements/dev.txt

.venv/.ready: pyproject.toml $(LOCK)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement $(LOCK)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

demo: .venv/.ready  ## a web that changes while you watch, crawled twice and judged
	rm -rf demo
	$(BIN)/python examples/living_web.py demo

test: .venv/.ready  ## everything CI runs
	$(BIN)/pytest --numprocesses auto --durations 20 $(COVERAGE)

test-fast: .venv/.ready  ## what is not marked slow, in about a minute
	$(BIN)/pytest --numprocesses auto -m 'not slow'

SAMPLE ?= 1000
JOBS ?= 1
mutants: .venv/.ready  ## would a test notice a broken line? SAMPLE=all tries all, ONLY=rates one module
	$(BIN)/python -m mutants --sample $(SAMPLE) --jobs $(JOBS) $(ONLY)

SCALE ?= 1
torture: .venv/.ready  ## kills, power loss, full disks, fuzzing, clocks, hostile hosts, 60 days: about an hour
	-$(BIN)/pip install --quiet --disable-pip-version-check atheris  # without it, fuzzing is random
	$(BIN)/python -m torture --scale $(SCALE) $(addprefix --only ,$(ONLY))

check: .venv/.ready  ## format, lint, types, import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/.ready  ## what the code blocks of the documentation print
	$(BIN)/python docs/blocks.py

results: .venv/.ready  ## what policies find on real traces, and how the default was chosen
	$(BIN)/python -m benchmarks.results
	$(BIN)/python -m benchmarks.choose

papers: .venv/.ready  ## the papers' experiments, beside the papers' numbers
	$(BIN)/python -m recrawl.papers.santos.page
	$(BIN)/python -m recrawl.papers.dang.page
	$(BIN)/python -m recrawl.papers.pandey.page
	$(BIN)/python -m recrawl.papers.radinsky.page

bench: .venv/.ready  ## speed and memory, as ratios in one run
	$(BIN)/python -m benchmarks --write

lock: .venv/.ready  ## the newest versions that pyproject.toml allows, for every Python and platform
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--no-annotate --custom-compile-command 'make lock' \
		--extra dev --extra crawl --extra search --extra papers pyproject.toml -o $(LOCK)

clean:
	rm -rf .venv demo build dist
