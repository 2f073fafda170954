"""Worlds: made-up webs whose true changes are known. One file each."""

from recrawl.lab.worlds.files import write
from recrawl.lab.worlds.log import poisson_log
from recrawl.lab.worlds.world import World

__all__ = ["World", "poisson_log", "write"]
