"""Seeded worlds: webs whose truth is known because we made them. One file each."""

from recrawl.lab.worlds.files import write
from recrawl.lab.worlds.log import poisson_log
from recrawl.lab.worlds.world import World

__all__ = ["World", "poisson_log", "write"]
