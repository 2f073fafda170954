"""An HTTP response becomes the same visit in an archive, an adapter and the live engine."""

from __future__ import annotations

import gzip
from email.utils import formatdate

import pytest

from recrawl.page.responses import MAX_LINKS_KEPT, Response, read_response, to_visits

URL, NOW = "https://a.example/", 1.7e9
HTML = {"content-type": "text/html"}


def visit_row(status=200, headers=(), body=b"<p>Hello"):
    [row] = to_visits([Response(URL, NOW, status, dict(headers), body, 0.1)]).to_pylist()
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
    assert visit_row(headers={"etag": etag})["etag"] == (etag if kept else None)
    assert visit_row(304, {"etag": etag}, b"")["etag"] == (etag if kept else None)


@pytest.mark.parametrize(
    ("modified", "kept"), [(NOW - 1e8, True), (NOW + 86_000, True), (NOW + 87_000, False)]
)
def test_a_page_was_not_modified_in_the_future(modified, kept):
    row = visit_row(headers={"last-modified": formatdate(modified, usegmt=True)})
    assert (row["last_modified"] is not None) == kept


def test_validators_of_an_error_are_not_those_of_the_page():
    assert visit_row(404, {"etag": '"1"'})["etag"] is None


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
    row = read_response(Response(URL, NOW, 200, headers, body), max_body_bytes=1000).row
    assert row["status"] == (200 if is_whole else 0)
    assert ("digest" in row) == is_whole


def test_the_links_of_a_page_are_limited():
    body = b"".join(b"<a href=/%d>" % i for i in range(MAX_LINKS_KEPT + 5))
    row = visit_row(headers=HTML, body=body)
    assert len(row["links"]) == len(row["nofollow"]) == MAX_LINKS_KEPT


@pytest.mark.parametrize(
    ("named", "canonical"),
    [
        ("/other", "https://a.org/other"),
        ("https://www.a.org/", "https://www.a.org/"),
        ("https://b.org/", None),
        ("/", None),
        ("", None),
        ("ftp://a.org/", None),
    ],
)
def test_a_page_names_another_page_of_its_site(named, canonical):
    body = f"<link rel=canonical href='{named}'>".encode()
    site = "https://a.org/"
    for sent, encoding in ((body, {}), (gzip.compress(body), {"content-encoding": "gzip"})):
        response = Response(site, NOW, 200, HTML | encoding, sent)
        assert read_response(response).canonical == canonical
    assert read_response(Response(site, NOW, 404, HTML, body)).canonical is None
    assert read_response(Response(site, NOW, 200, {"content-type": "text/plain"}, body))[1] is None
