"""Whatever carries out a plan on the real web."""

from recrawl.fetch.answer import Answer, Skipped
from recrawl.fetch.live import LiveEngine

__all__ = ["Answer", "LiveEngine", "Skipped"]
