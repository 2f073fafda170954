"""What an answer shows is the same, whoever got it: an archive, an adapter or the engine."""

from __future__ import annotations

import gzip
from email.utils import formatdate

import numpy as np
import pytest

from recrawl.page.responses import MOST_LINKS, Response, rows, shown
from recrawl.random import uniform

URL, NOW = "https://a.example/", 1.7e9
HTML = {"content-type": "text/html"}


def one(status=200, headers=(), body=b"<p>Hello"):
    [row] = rows([Response(URL, NOW, status, dict(headers), body, 0.1)]).to_pylist()
    return row


@pytest.mark.parametrize(
    ("etag", "kept"),
    [
        ('"1"', True),
        ('W/"x y"', True),
        ("x" * 1024, True),
        ("x" * 1025, False),
        ("", False),
        ("caf\xe9", False),
        ("a\r\nCookie: b", False),
    ],
)
def test_only_an_etag_that_can_be_sent_back_is_kept(etag, kept):
    assert one(headers={"etag": etag})["etag"] == (etag if kept else None)
    assert one(304, {"etag": etag}, b"")["etag"] == (etag if kept else None)


@pytest.mark.parametrize(
    ("modified", "kept"), [(NOW - 1e8, True), (NOW + 86_000, True), (NOW + 87_000, False)]
)
def test_a_page_was_not_modified_in_the_future(modified, kept):
    found = one(headers={"last-modified": formatdate(modified, usegmt=True)})["last_modified"]
    assert (found is not None) == kept


def test_validators_of_an_error_are_not_those_of_the_page():
    assert one(404, {"etag": '"1"'})["etag"] is None


@pytest.mark.parametrize(
    ("body", "encoding", "is_whole"),
    [
        (gzip.compress(b"<p>Hello" * 99, mtime=0), "gzip", True),
        (gzip.compress(b"<p>Hello" * 99, mtime=0)[:-20], "gzip", False),
        (gzip.compress(b"x" * 2000, mtime=0), "gzip", False),  # over the limit when unpacked
        (b"x" * 1001, None, False),
        (b"x" * 1000, None, True),
        (b"x" * 1001, "br", True),  # its bytes are compared, the first ones
    ],
)
def test_a_body_that_is_not_whole_is_a_failed_visit(body, encoding, is_whole):
    headers = HTML | ({"content-encoding": encoding} if encoding else {})
    row = shown(URL, 0, 200, headers, body, limit=1000)
    assert row["status"] == (200 if is_whole else 0)
    assert ("digest" in row) == is_whole


def test_a_page_has_so_many_links_and_no_more():
    body = b"".join(b"<a href=/%d>" % i for i in range(MOST_LINKS + 5))
    row = one(headers=HTML, body=body)
    assert len(row["links"]) == len(row["nofollow"]) == MOST_LINKS


def test_draws_are_below_one_and_depend_on_seed_and_time():
    key = np.arange(100_000, dtype=np.uint64)
    drawn = uniform(key, 1, 5.0)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    assert drawn.mean() == pytest.approx(0.5, abs=0.01)
    for other in (uniform(key, 2, 5.0), uniform(key, 1, 6.0)):
        assert abs(np.corrcoef(drawn, other)[0, 1]) < 0.02
