"""Optimal visit rates under a budget, given how often each page changes."""

from recrawl.allocate.age import AGE, age_rates
from recrawl.allocate.ephemeral import ephemeral_rates
from recrawl.allocate.freshness import FRESHNESS, freshness_rates
from recrawl.allocate.harmonic import HARMONIC, complete_probabilities, harmonic_rates, mixed_rates
from recrawl.allocate.hosts import within_host_caps
from recrawl.allocate.memoryless import MEMORYLESS, memoryless_rates
from recrawl.allocate.objective import AllocationObjective

__all__ = [
    "AGE",
    "FRESHNESS",
    "HARMONIC",
    "MEMORYLESS",
    "AllocationObjective",
    "age_rates",
    "complete_probabilities",
    "ephemeral_rates",
    "freshness_rates",
    "harmonic_rates",
    "memoryless_rates",
    "mixed_rates",
    "within_host_caps",
]
