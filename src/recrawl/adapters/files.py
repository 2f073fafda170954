"""Plans as lines of text, in the formats that other crawlers read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recrawl.planner import Plan


def lines(plan: Plan, format: str) -> Iterator[str]:  # noqa: A002
    """The lines of a plan in one of `FORMATS`, best page first, without line ends."""
    return (FORMATS[format](record, plan) for record in plan.records())


def _jsonl(record: dict[str, Any], _plan: Plan) -> str:
    return json.dumps(record, ensure_ascii=False)


def _urls(record: dict[str, Any], _plan: Plan) -> str:
    return str(record["url"])


def _nutch(record: dict[str, Any], _plan: Plan) -> str:
    """For `nutch inject -update`: a fetch interval of a second makes the page due."""
    return f"{record['url']}\tnutch.score={record['score']:.6g}\tnutch.fetchInterval=1"


def _heritrix(record: dict[str, Any], _plan: Plan) -> str:
    """For a file `action/x.s.force` of a running job."""
    return f"F+ {record['url']}"


def _urlfrontier(record: dict[str, Any], plan: Plan) -> str:
    """For `PutURLs -f`: all dates are in the past, the earliest for the best page."""
    due = int(plan.now) - len(plan) + record["rank"] - 1
    info = {"url": record["url"], "key": urlsplit(record["url"]).hostname}
    return json.dumps({"known": {"info": info, "refetchableFromDate": str(due)}})


FORMATS: dict[str, Callable[[dict[str, Any], Plan], str]] = {
    "jsonl": _jsonl,
    "urls": _urls,
    "nutch": _nutch,
    "heritrix": _heritrix,
    "urlfrontier": _urlfrontier,
}
