"""Speed and memory: `make bench`, or `python -m benchmarks store planner` for some of it."""
