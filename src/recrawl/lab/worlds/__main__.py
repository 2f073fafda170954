"""The demo's log, as JSON lines."""

from __future__ import annotations

import json
import sys

from recrawl import units
from recrawl.lab.worlds.log import poisson_log

if __name__ == "__main__":  # the registry imports this file too
    log = poisson_log(pages=2_000, days=60, start=units.time("2026-01-01"), seed=1)
    sys.stdout.writelines(json.dumps(record) + "\n" for record in log.to_pylist())
