"""A living web: a trace served over HTTP. It changes while you watch, and its truth is known."""

from recrawl.lab.web.behaviours import Behaviours, Outage
from recrawl.lab.web.clock import TraceClock
from recrawl.lab.web.request_log import LoggedRequest
from recrawl.lab.web.server import LivingWeb, run, serve
from recrawl.lab.web.source import trace_of

__all__ = [
    "Behaviours",
    "LivingWeb",
    "LoggedRequest",
    "Outage",
    "TraceClock",
    "run",
    "serve",
    "trace_of",
]
