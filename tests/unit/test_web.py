"""Responses of the living web, without sockets; tests/e2e/test_web.py uses real connections."""

import itertools
import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import write_trace

from recrawl import units
from recrawl.errors import BadInput
from recrawl.lab.trace import read_trace
from recrawl.lab.web import Behaviours, Outage, TraceClock, trace_of
from recrawl.lab.web.message import read_request
from recrawl.lab.web.responder import Responder
from recrawl.lab.web.truth import Truth, as_http
from recrawl.model import DAY
from recrawl.page import content as page
from recrawl.urls import resolve_links

BEGIN = units.time("2026-01-01")
A, B = "https://a.example/news/1", "https://b.example/2?q=x"


def trace(folder, *rows):
    return read_trace(write_trace(folder, list(rows)))


def ask(responder, url, day, **headers):
    lines = "".join(f"\r\n{name.replace('_', '-')}: {value}" for name, value in headers.items())
    return responder.respond(read_request(f"GET {url} HTTP/1.1{lines}".encode()), BEGIN + day * DAY)


def header(response, name):
    values = [
        v for n, _, v in (s.partition(": ") for s in response.headers.split("\r\n")) if n == name
    ]
    return values[0] if values else None


def seen(truth, responder, version):
    """A served version as our own reader parses it."""
    of = int(truth.trace.page[version])
    at = float(truth.trace.valid_from[version])
    response = responder.respond(read_request(f"GET {truth.urls[of]} HTTP/1.1".encode()), at)
    assert response.status == 200
    return page.parse(
        response.body, url=truth.urls[of], content_type=header(response, "Content-Type")
    )


def expected_links(truth, version):
    url = truth.trace.urls[int(truth.trace.page[version])]
    raw = truth.trace.contents["links"][version].as_py() or []
    return {as_http(link) for link in resolve_links(raw, url) if link} - {as_http(url)}


def check_round_trip(whole):
    truth = Truth(whole)
    responder = Responder(truth, Behaviours())
    read = [seen(truth, responder, version) for version in range(len(whole.valid_from))]
    for version, content in enumerate(read):
        assert content.problem is None
        assert set(content.links) == expected_links(truth, version)
    for first, last in itertools.pairwise(whole.start.tolist()):
        for one, other in itertools.combinations(range(first, last), 2):
            same = whole.content[one] == whole.content[other]
            assert (read[one].digest == read[other].digest) == same
            if same:
                assert read[one].links == read[other].links


LINKS = st.lists(
    st.one_of(
        st.sampled_from([A, B, "http://a.example/&amp;?a=1&copy=2", 'http://c.example/"><script>']),
        st.text(max_size=20),
    ),
    max_size=5,
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["a b", "a  b", "a\nb", "</p><title>x", "<!-- ", "&amp;", "<plaintext>", "\x00"]
    ),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(versions=st.lists(st.tuples(TEXTS, LINKS), min_size=1, max_size=6))
def test_served_pages_change_exactly_when_the_trace_does(versions):
    with tempfile.TemporaryDirectory() as folder:
        rows = [(A, day, 200, text, links) for day, (text, links) in enumerate(versions)]
        check_round_trip(trace(Path(folder), *rows))


@pytest.mark.parametrize("world", ["hubs", "flapping", "releases"])
def test_worlds_are_served_as_they_are(world):
    check_round_trip(trace_of(world, pages=40, days=40))


def test_a_page_appears_changes_and_is_removed(tmp_path):
    whole = trace(
        tmp_path, (A, 1, 200, "one", [B]), (A, 2, 200, "two", []), (A, 3, 410, "", []),
        (B, 0, 404, "", []), (B, 1, 301, "", []),
    )  # fmt: skip
    responder = Responder(Truth(whole), Behaviours())
    url = as_http(A)
    assert [ask(responder, url, day).status for day in (0, 0.99, 1, 2.5, 3, 9)] == [
        *(404, 404, 200, 200, 410, 410)
    ]
    assert b"<p>one</p>" in ask(responder, url, 1.5).body
    assert b'href="http://b.example/2?q=x"' in ask(responder, url, 1.5).body
    assert b"<p>two</p>" in ask(responder, url, 2).body
    assert ask(responder, as_http(B), 5).status == 404
    assert ask(responder, "http://a.example/other", 5).status == 404
    assert ask(responder, "http://c.example/", 5).status == 502


def test_spellings_of_a_page_are_one_page(tmp_path):
    responder = Responder(Truth(trace(tmp_path, (A, 0, 200, "x", []))), Behaviours())
    for url in (
        "https://a.example/news/1",
        "http://A.example:80/news/%31",
        "http://a.example/./news/1#top",
    ):
        assert ask(responder, url, 1).status == 200, url


def versions_of_a(tmp_path):
    return trace(
        tmp_path, (A, 0, 200, "one", []), (A, 1.00001, 200, "two", []), (A, 2, 200, "one", [])
    )


def test_validators_are_right_by_default(tmp_path):
    responder, url = Responder(Truth(versions_of_a(tmp_path)), Behaviours()), as_http(A)
    first, second = ask(responder, url, 0.5), ask(responder, url, 1.5)
    tag, since = header(first, "ETag"), header(second, "Last-Modified")
    assert since == "Fri, 02 Jan 2026 00:00:00 GMT"
    assert ask(responder, url, 0.9, If_None_Match=tag).status == 304
    assert ask(responder, url, 0.9, If_None_Match=f'"x", W/{tag}').status == 304
    assert ask(responder, url, 0.9, If_None_Match="*").status == 304
    assert ask(responder, url, 0.9, If_None_Match=tag).body == b""
    assert ask(responder, url, 1.5, If_None_Match=tag).status == 200
    assert ask(responder, url, 2.5, If_None_Match=tag).status == 304  # it is as it was
    assert ask(responder, url, 1.9, If_Modified_Since=since).status == 304
    assert ask(responder, url, 2.5, If_Modified_Since=since).status == 200
    assert ask(responder, url, 1.9, If_Modified_Since="yesterday").status == 200
    assert ask(responder, url, 1.9, If_Modified_Since=since, If_None_Match=tag).status == 200


def test_lying_wrong_and_missing_validators(tmp_path):
    truth, url = Truth(versions_of_a(tmp_path)), as_http(A)
    lying = Responder(truth, Behaviours(lying=1.0))
    tag = header(ask(lying, url, 0.5), "ETag")
    assert ask(lying, url, 1.5, If_None_Match=tag).status == 304
    assert b"two" in ask(lying, url, 1.5).body
    wrong = Responder(truth, Behaviours(wrong=1.0))
    tags = {header(ask(wrong, url, 0.5), "ETag") for _ in range(5)}
    assert len(tags) == 5
    assert header(ask(wrong, url, 0.5), "Last-Modified") == "Thu, 01 Jan 2026 12:00:00 GMT"
    assert ask(wrong, url, 0.5, If_None_Match=tags.pop()).status == 200
    none = ask(Responder(truth, Behaviours(no_validators=1.0)), url, 0.5, If_None_Match=tag)
    assert (none.status, header(none, "ETag"), header(none, "Last-Modified")) == (200, None, None)


def test_gzip_for_clients_that_accept_it(tmp_path):
    responder = Responder(Truth(trace(tmp_path, (A, 0, 200, "word " * 500, []))), Behaviours())
    plain = ask(responder, A, 1, Accept_Encoding="br, gzip;q=0.0")
    packed = ask(responder, A, 1, Accept_Encoding="br, GZIP;q=0.5")
    assert header(plain, "Content-Encoding") is None
    content = page.parse(packed.body, url=A, content_encoding=header(packed, "Content-Encoding"))
    assert len(packed.body) < len(plain.body)
    assert content.digest == page.parse(plain.body, url=A).digest
    assert header(packed, "ETag") == "W/" + header(plain, "ETag")
    assert ask(responder, A, 1, If_None_Match=header(packed, "ETag")).status == 304


def test_moved_pages_redirect_to_their_new_url(tmp_path):
    whole = trace(tmp_path, (A, 1, 200, "x", []), (B, 0, 200, "y", []), (B, 2, 410, "", []))
    responder = Responder(Truth(whole), Behaviours(redirects=1.0))
    assert ask(responder, A, 0).status == 404
    for url, to in ((A, "http://a.example/news/1?moved"), (B, "http://b.example/2?q=x&moved")):
        response = ask(responder, url, 1)
        assert (response.status, header(response, "Location")) == (301, to)
        assert ask(responder, to, 1).status == 200
    assert ask(responder, B, 2).status == ask(responder, B + "&moved", 2).status == 410
    assert ask(Responder(Truth(whole), Behaviours()), A + "?moved", 1).status == 404


def test_robots(tmp_path):
    truth = Truth(trace(tmp_path, (A, 0, 200, "x", [])))
    body = ask(Responder(truth, Behaviours()), "http://a.example/robots.txt", 0).body.decode()
    assert "Disallow: /private/" in body
    assert "Sitemap: http://a.example/sitemap.xml" in body
    assert "Crawl-delay" not in body
    strict = Behaviours(robots_delay=1.5, disallowed=1.0)
    body = ask(Responder(truth, strict), "http://a.example/robots.txt", 0).body.decode()
    assert "Crawl-delay: 1.5" in body
    assert "Disallow: /news/" in body


def listed(response):
    return dict(
        entry.removeprefix("<url><loc>").removesuffix("</lastmod></url>").split("</loc><lastmod>")
        for entry in response.body.decode().splitlines()
        if entry.startswith("<url>")
    )


def test_sitemaps_true_stale_and_restamped(tmp_path):
    other = "https://a.example/3"
    whole = trace(
        tmp_path, (A, 0, 200, "x", []), (A, 2, 200, "y", []), (other, 3, 200, "z", []), (other, 4, 410, "", [])
    )  # fmt: skip
    url, a, c = "http://a.example/sitemap.xml", as_http(A), as_http(other)
    day_text = "2026-01-0{}T00:00:00Z".format

    def at(day, **behaviours):
        return listed(ask(Responder(Truth(whole), Behaviours(**behaviours)), url, day))

    assert [at(day) for day in (1, 3, 4)] == [
        {a: day_text(1)}, {a: day_text(3), c: day_text(4)}, {a: day_text(3)},
    ]  # fmt: skip
    assert at(4, stale=1.0) == {a: day_text(1)}
    assert at(3, restamped=1.0) == {a: day_text(4), c: day_text(4)}


def test_a_large_sitemap_comes_in_parts(tmp_path):
    urls = [f"https://a.example/{i:05}" for i in range(5_001)]
    responder = Responder(
        Truth(trace(tmp_path, *((u, 0, 200, "x", []) for u in urls))), Behaviours()
    )
    index = ask(responder, "http://a.example/sitemap.xml", 1).body.decode()
    assert index.count("<sitemap>") == 2
    parts = [listed(ask(responder, f"http://a.example/sitemap-{i}.xml", 1)) for i in (1, 2)]
    assert [len(part) for part in parts] == [5_000, 1]
    assert set(parts[0]) | set(parts[1]) == set(map(as_http, urls))
    assert ask(responder, "http://a.example/sitemap-3.xml", 1).status == 404


def test_shares_of_hosts_are_seeded_and_about_right():
    behaviours = Behaviours(lying=0.1, wrong=0.2, no_validators=0.3, stale=0.5, slow=0.25, seed=3)
    of = [behaviours.of(f"h{i}.example") for i in range(4_000)]
    assert of == [behaviours.of(f"h{i}.example") for i in range(4_000)]
    assert of != [Behaviours(lying=0.1, seed=4).of(f"h{i}.example") for i in range(4_000)]
    for name, share in (("lying", 0.1), ("wrong", 0.2), ("none", 0.3), ("right", 0.4)):
        assert sum(m.validators == name for m in of) / 4_000 == pytest.approx(share, abs=0.03)
    assert sum(m.lastmod == "stale" for m in of) / 4_000 == pytest.approx(0.5, abs=0.03)
    both = sum(m.slow and m.lastmod == "stale" for m in of) / 4_000
    assert both == pytest.approx(0.125, abs=0.03)  # one has nothing to do with the other


def test_failing_hosts_fail_half_of_the_time_except_for_robots_txt(tmp_path):
    responder = Responder(Truth(trace(tmp_path, (A, 0, 200, "x", []))), Behaviours(failing=1.0))
    got = [ask(responder, A, 1) for _ in range(400)]
    failed = [response for response in got if response.status == 503]
    assert 140 < len(failed) < 260
    assert {header(response, "Retry-After") for response in failed} == {"1"}
    robots = [ask(responder, "http://a.example/robots.txt", 1).status for _ in range(20)]
    assert robots == [200] * 20


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"lying": 1.2}, "lying must be from 0 to 1"),
        ({"lying": 0.6, "wrong": 0.6}, "lying_wrong_and_no_validators"),
        ({"stale": 0.6, "restamped": 0.6}, "stale_and_restamped"),
        ({"latency": -1}, "latency must be"),
        ({"down": (Outage("a.example", 7, 3),)}, "down must start before"),
        ({"robots_delay": math.nan}, "robots_delay must be"),
    ],
)
def test_behaviours_that_make_no_sense_are_refused(wrong, says):
    with pytest.raises(BadInput, match=says):
        Behaviours(**wrong)


def test_only_a_host_of_the_trace_can_be_down(tmp_path):
    truth = Truth(trace(tmp_path, (A, 0, 200, "x", [])))
    with pytest.raises(BadInput, match=r"c\.example"):
        Responder(truth, Behaviours(down=(Outage("c.example", 0, 1),)))


def test_clocks():
    ticks = iter([10.0, 10.0, 12.0, 12.5])
    running = TraceClock((BEGIN, BEGIN + DAY), units.speed("1d/2s"), lambda: next(ticks))
    assert [running.now() - BEGIN for _ in range(3)] == [0.0, DAY, DAY * 1.25]
    with pytest.raises(BadInput, match="manual"):
        running.set(BEGIN)
    manual = TraceClock((BEGIN, BEGIN + DAY), None)
    manual.set(BEGIN + 5)
    assert manual.now() == BEGIN + 5
    for back in (BEGIN, math.nan, math.inf, 1e12):
        with pytest.raises(BadInput, match="forward"):
            manual.set(back)


def test_speeds_are_refused_with_a_reason():
    for text in ("1d", "1d/0s", "fast", "1d/2"):
        with pytest.raises(BadInput):
            units.speed(text)
    assert units.show_time(TraceClock((BEGIN, BEGIN + DAY), 1e300).now()).startswith("9999-12-31")
    with pytest.raises(BadInput, match="speed"):
        TraceClock((BEGIN, BEGIN + DAY), 0.0)


def test_a_world_without_texts_is_refused():
    with pytest.raises(BadInput, match="texts"):
        trace_of("brdc", pages=10)
    with pytest.raises(BadInput, match="folder with"):
        trace_of("no/such/folder")
    with pytest.raises(BadInput, match="poisson"):
        trace_of("poison")
