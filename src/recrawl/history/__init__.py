"""Visits → store → page columns."""

from recrawl.history.append import Appended
from recrawl.history.store import Store, Summary

__all__ = ["Appended", "Store", "Summary"]
