"""What would a visit find?"""

from recrawl.forecast.rates import from_rate

__all__ = ["from_rate"]
