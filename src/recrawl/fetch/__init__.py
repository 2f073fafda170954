"""Carries out a plan on the web, politely."""

from recrawl.fetch.live import LiveEngine
from recrawl.fetch.result import FetchResult, SkippedPage

__all__ = ["FetchResult", "LiveEngine", "SkippedPage"]
