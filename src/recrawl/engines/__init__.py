"""Whatever carries out a plan on the real web."""

from recrawl.engines.answer import Answer, Skipped
from recrawl.engines.live import LiveEngine

__all__ = ["Answer", "LiveEngine", "Skipped"]
