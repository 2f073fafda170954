"""A trace served over HTTP: a web that changes while you watch, and whose truth is known."""

from recrawl.lab.web.clock import Clock
from recrawl.lab.web.log import Logged
from recrawl.lab.web.manners import Down, Manners
from recrawl.lab.web.serving import Web, run, serve
from recrawl.lab.web.source import trace_of

__all__ = ["Clock", "Down", "Logged", "Manners", "Web", "run", "serve", "trace_of"]
