"""A request to the living web, and its response."""

from __future__ import annotations

from typing import NamedTuple

from recrawl.errors import BadInput
from recrawl.urls import host

HTML = "text/html; charset=utf-8"


class Request(NamedTuple):
    """What a client requests."""

    method: str
    url: str  #: with its host, as the client spelled it
    host: str
    path: str  #: with its query
    headers: dict[str, str]  #: names in lower case
    keep_alive: bool  #: the connection stays open


class WebResponse(NamedTuple):
    """What the client gets."""

    status: int
    body: bytes = b""
    headers: str = ""  #: lines, each with its line end
    delay: float = 0.0  #: real seconds before it is sent


def read_request(head: bytes) -> Request:
    """Parse the head of a request; raises `BadInput` if it is not HTTP/1."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadInput(f"A request must be METHOD TARGET HTTP/1.1. Got {first[:100]!r}.")
    method, target, version = words
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    url = target
    if target.startswith("/"):
        url = f"http://{headers.get('host', '')}{target}"
    name = host(url).lower().removesuffix(":80")
    if method != "CONNECT" and not name:
        raise BadInput(f"A target must be http://host/path, or have a Host. Got {target[:100]!r}.")
    connection = headers.get("connection", headers.get("proxy-connection", "")).lower()
    keep_alive = connection == "keep-alive" if version == "HTTP/1.0" else connection != "close"
    path = "/" + url.partition("://")[2].partition("/")[2]
    return Request(method, url, name, path, headers, keep_alive)
