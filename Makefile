# Each target sets up all it needs on a machine with nothing but Python >= 3.11.
PYTHON ?= python3
BIN := .venv/bin
NOW := 2026-03-03T00:00:00Z

.PHONY: demo test check docs results bench clean

.venv/.ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

demo: .venv/.ready  ## a crawl log in, a plan out, one page explained; four policies replayed
	rm -rf demo && mkdir demo
	$(BIN)/python -m recrawl.lab.worlds > demo/crawl.jsonl
	$(BIN)/recrawl ingest demo/store demo/crawl.jsonl
	$(BIN)/recrawl info demo/store
	$(BIN)/recrawl plan demo/store --budget 12 --now $(NOW) --format table
	$(BIN)/recrawl explain demo/store https://docs.example/00/page-170 --now $(NOW)
	$(BIN)/recrawl world poisson --pages 1500 --days 90 --seed 1 -o demo/trace
	$(BIN)/recrawl replay demo/trace --policy poisson --policy tx --policy freshness --budget 2% --budget 5% --report demo/report.html

test: .venv/.ready  ## everything CI runs
	$(BIN)/pytest --numprocesses auto

check: .venv/.ready  ## format, lint, types, import contract
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/.ready  ## what the code blocks of the documentation print
	$(BIN)/python docs/blocks.py

results: .venv/.ready  ## what policies find on real traces
	$(BIN)/python docs/results.py

bench: .venv/.ready  ## speed and memory, as ratios in one run
	$(BIN)/python -m benchmarks --write

clean:
	rm -rf .venv demo build dist
