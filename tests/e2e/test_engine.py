"""The live engine against real servers: it is polite and bounded, and its visits are true."""

from __future__ import annotations

import gzip
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from email.utils import formatdate
from ipaddress import IPv4Address
from itertools import count, pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from loopback import serving

import recrawl
from recrawl.errors import BadInput
from recrawl.fetch import LiveEngine
from recrawl.history import Store
from recrawl.model import VISITS

pytest.importorskip("scrapy", reason="the live engine needs the extra 'crawl'")
pytest.importorskip("warcio", reason="archives need the extra 'crawl'")

NOW = 1_700_000_000.0
PAGE = b"<title>Hello</title><p>Some text <a href=/b>there</a>"


class UrlPlan:
    """A plan of URLs without history."""

    def __init__(self, *urls):
        self._urls = urls

    def __len__(self):
        return len(self._urls)

    def urls(self):
        return self._urls


def fetch_rows(engine, *urls):
    """All rows of one fetch."""
    batches = list(engine.fetch(UrlPlan(*urls)))
    assert all(batch.schema == VISITS for batch in batches)
    return pa.concat_tables([VISITS.empty_table(), *batches]).to_pylist()


def get_file(engine, url):
    """An auxiliary file, fetched in the thread of the network."""
    return engine.run_beside(engine.get_file(url)).result(timeout=60)


def statuses(rows):
    return {row["url"]: row["status"] for row in rows if row["at"] is not None}


def local_engine(**arguments):
    return LiveEngine(**({"allow_private": True, "delay": 0.0, "backoff": 0.05} | arguments))


def validators_of(store):
    return lambda pages: store.validators(pages.page_id)


def gaps(site):
    """Seconds from the end of each response to the next request, as the server saw them."""
    return [after.started - before.ended for before, after in pairwise(site.log)]


def test_each_host_has_its_own_delay_between_requests():
    paths = [f"/{i}" for i in range(4)]
    pages = dict.fromkeys(paths, PAGE)
    with serving(pages) as one, serving(pages) as two, local_engine(delay=0.25) as engine:
        rows = fetch_rows(engine, *map(one.url, paths), *map(two.url, paths))
    assert len(rows) == 8
    assert {row["status"] for row in rows} == {200}
    for site in (one, two):
        assert site.paths() == ["/robots.txt", *paths]
        assert min(gaps(site)) >= 0.25
        assert not {"Cookie", "Referer"} & set(site.log[1].headers)
    assert two.log[0].started < one.log[-1].started


def test_a_fetched_page_is_read_as_ingest_reads_it():
    with (
        serving(
            {"/": (200, {"Etag": '"1"', "Last-Modified": formatdate(1e9, usegmt=True)}, PAGE)}
        ) as site,
        local_engine(clock=lambda: 1.7e9) as engine,
    ):
        [row] = fetch_rows(engine, site.url())
    found = recrawl.page.parse(PAGE, url=site.url())
    assert (row["digest"], row["digest_of"]) == (found.digest, "text")
    assert (row["title"], row["text"], row["links"]) == ("Hello", found.text, [site.url("/b")])
    assert row["at"].timestamp() == 1.7e9
    assert (row["etag"], row["last_modified"].timestamp()) == ('"1"', 1e9)
    assert row["bytes"] == len(PAGE)


def test_the_crawl_delay_of_robots_txt_applies_from_the_first_page():
    robots = b"User-agent: *\nCrawl-delay: 0.4\nDisallow: /no"
    pages = {"/robots.txt": robots, "/a": PAGE, "/b": PAGE, "/c": PAGE}
    with serving(pages) as site, local_engine() as engine:
        rows = fetch_rows(engine, site.url("/a"), site.url("/no"), site.url("/b"))
        assert [skip.url for skip in engine.skipped] == [site.url("/no")]
        time.sleep(0.5)
        rows += fetch_rows(engine, site.url("/c"), site.url("/a"))
        assert engine.skipped == []
    assert min(gaps(site)) >= 0.4
    assert site.paths() == ["/robots.txt", "/a", "/b", "/c", "/a"]
    assert statuses(rows)[site.url("/no")] == 0
    assert {row["problem"] for row in rows if row["url"] == site.url("/no")} == {
        "robots.txt forbids it"
    }
    assert {row["url"] for row in rows if row["skipped"]} == {site.url("/no")}


ROBOTS = {
    "absent": ((404, {}, b""), True),
    "forbidden": ((403, {}, b""), True),
    "broken": ((500, {}, b""), None),
    "binary": (bytes(range(256)) * 40, True),
    "not UTF-8": (b"User-agent: *\nDisallow: /\xe9\nDisallow: /a", False),
    "with a mark": (b"\xef\xbb\xbfUser-agent: *\nDisallow: /a", False),
    "UTF-16": ("User-agent: *\nDisallow: /a".encode("utf-16"), False),
    "big-endian": (b"\xfe\xff" + "User-agent: *\nDisallow: /a".encode("utf-16-be"), False),
    "for us": (b"User-agent: recrawl\nDisallow:\n\nUser-agent: *\nDisallow: /", True),
    "long": (b"User-agent: *\n" + b"#" * 499 * 1024 + b"\nDisallow: /a", False),
    "too long to be read": (b"User-agent: *\n" + b"#" * 600 * 1024 + b"\nDisallow: /a", True),
    "packed": (
        (200, {"Content-Encoding": "gzip"}, gzip.compress(b"User-agent: *\nDisallow: /a")),
        False,
    ),
    "elsewhere": ((302, {"Location": "/other.txt"}, b""), False),
    "in a circle": ((302, {"Location": "/robots.txt"}, b""), True),
}


@pytest.mark.parametrize(("robots", "allowed"), ROBOTS.values(), ids=ROBOTS)
def test_robots_txt_of_any_kind(robots, allowed):
    pages = {"/robots.txt": robots, "/other.txt": b"User-agent: *\nDisallow: /a", "/a": PAGE}
    with serving(pages) as site, local_engine() as engine:
        rows = fetch_rows(engine, site.url("/a"))
        assert [skip.url for skip in engine.skipped] == [site.url("/a")] * (allowed is False)
    requested = site.paths()
    assert ("/a" in requested) == (allowed is True)
    # A page that is or may be forbidden is a failed visit without a request, so that it backs off.
    [row] = rows
    assert row["status"] == (200 if allowed else 0)
    assert bool(row["skipped"]) == (allowed is not True)
    assert len(requested) <= 7


def test_retry_after_is_respected():
    later = formatdate(NOW + 3600, usegmt=True)
    pages = {"/a": (429, {"Retry-After": "1"}, b""), "/b": (503, {"Retry-After": later}, b"")}
    with serving(pages) as site, local_engine(clock=lambda: NOW, deadline=60) as engine:
        rows = fetch_rows(engine, *map(site.url, ("/a", "/b", "/c", "/d")))
        skipped = {skip.url for skip in engine.skipped}
        assert fetch_rows(engine, site.url("/e")) == []  # returns at once, not after the pause
    assert statuses(rows) == {site.url("/a"): 429, site.url("/b"): 503}
    assert site.log[2].started - site.log[1].ended >= 1
    assert skipped == {site.url("/c"), site.url("/d")}


def test_a_pause_that_robots_txt_asks_for_does_not_hold_a_cycle():
    robots = {"/robots.txt": (503, {"Retry-After": "3600"}, b"")}
    with serving(robots) as site, local_engine(clock=lambda: NOW, deadline=600) as engine:
        assert fetch_rows(engine, site.url("/a"), site.url("/b")) == []
        reasons = {skip.reason for skip in engine.skipped}
    assert reasons == {"the host asked for a longer pause"}


def test_what_hosts_asked_for_holds_after_a_restart(tmp_path):
    """A pause, robots.txt, one that cannot be read, a Crawl-delay and failures."""

    def hang_up(handler):
        handler.close_connection = True

    sites = {
        "paused": {"/a": (503, {"Retry-After": "3000"}, b"")},
        "closed": {"/robots.txt": b"User-agent: *\nDisallow: /a\nSitemap: /s.xml", "/b": PAGE},
        "broken": {"/robots.txt": (500, {}, b"")},
        "slow": {"/robots.txt": b"User-agent: *\nCrawl-delay: 0.7", "/a": PAGE, "/b": PAGE},
        "dead": {"/a": hang_up, **{f"/{i}": hang_up for i in range(9)}},
    }
    arguments = {"hosts_file": tmp_path / "hosts.jsonl", "deadline": 60}
    with ExitStack() as stack:
        running = {name: stack.enter_context(serving(pages)) for name, pages in sites.items()}
        with local_engine(**arguments) as engine:
            first = fetch_rows(
                engine,
                *(site.url("/a") for site in running.values()),
                *(running["dead"].url(f"/{i}") for i in range(9)),
            )
        seen = {name: len(site.log) for name, site in running.items()}
        requests = {"paused": 2, "closed": 1, "broken": 3, "slow": 2, "dead": 6}
        assert seen == requests
        assert statuses(first)[running["slow"].url("/a")] == 200
        with local_engine(**arguments) as engine:
            again = fetch_rows(
                engine,
                *(site.url(path) for site in running.values() for path in ("/a", "/b")),
            )
            why = {skip.url: skip.reason for skip in engine.skipped}
            assert engine.sitemaps(running["closed"].host) == [running["closed"].url("/s.xml")]
        log = {name: site.paths()[seen[name] :] for name, site in running.items()}
    assert log == {
        "paused": [],
        "closed": ["/b"],
        "broken": [],
        "slow": ["/a", "/b"],
        "dead": ["/a"],  # one more try, not five
    }
    assert min(gaps(running["slow"])[1:]) >= 0.7
    assert why[running["paused"].url("/a")] == "the host asked for a longer pause"
    assert why[running["closed"].url("/a")] == "robots.txt forbids it"
    assert why[running["dead"].url("/b")] == "the host does not answer"
    problems = {row["url"]: row["problem"] for row in again}
    assert problems[running["broken"].url("/a")] == "robots.txt cannot be read"


def test_a_host_whose_robots_txt_fails_again_gives_failed_visits():
    """Its pages must back off, though the host has only one try left."""
    pages = {"/robots.txt": b"User-agent: *", **{f"/{i}": (500, {}, b"") for i in range(6)}}
    times = [1.7e9]
    with serving(pages) as site, local_engine(clock=lambda: times[0]) as engine:
        fetch_rows(engine, *map(site.url, pages))
        site.pages["/robots.txt"] = (500, {}, b"")
        times[0] += 2 * 86_400
        rows = fetch_rows(engine, site.url("/0"), site.url("/1"))
    assert {row["problem"] for row in rows} == {"robots.txt cannot be read"}
    assert len(rows) == 2
    assert site.paths()[-2:] == ["/4", "/robots.txt"]


def test_names_at_one_address_share_its_connections(monkeypatch):
    real = socket.getaddrinfo

    def shared(name, *rest, **named):
        return real("127.0.0.1" if str(name).endswith("example") else name, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", shared)
    active, most, lock = 0, 0, threading.Lock()

    def page(handler):
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
        time.sleep(0.05)
        with lock:
            active -= 1
        return PAGE

    with (
        serving({"/": page, "/robots.txt": page}) as site,
        local_engine(concurrency=60, delay=0.06) as engine,
    ):
        rows = fetch_rows(engine, *[f"http://h{i}.example:{site.port}/" for i in range(60)])
        open_now = len(site.connections)
    assert {row["status"] for row in rows} == {200}
    assert most <= 6
    assert open_now <= 8  # and those being closed
    assert site.most_connections <= 20  # six in flight, six idle, and those being closed
    starts = sorted(request.started for request in site.log)
    assert starts[-1] - starts[0] >= 119 * 0.01  # 120 requests


def test_pages_beyond_the_deadline_are_not_visited():
    paths = [f"/{i}" for i in range(20)]
    with (
        serving(dict.fromkeys(paths, PAGE)) as site,
        local_engine(delay=0.3, deadline=1.0) as engine,
    ):
        rows = fetch_rows(engine, *map(site.url, paths))
        assert len(rows) + len(engine.skipped) == 20
    assert 1 <= len(rows) <= 4
    assert len(site.log) == 1 + len(rows)


def test_a_host_that_does_not_answer_is_skipped_and_others_are_not():
    def hang_up(handler):
        handler.close_connection = True

    paths = [f"/{i}" for i in range(9)]
    with (
        serving(dict.fromkeys(paths, hang_up)) as dead,
        serving({"/": PAGE}) as alive,
        local_engine() as engine,
    ):
        rows = fetch_rows(engine, *map(dead.url, paths), alive.url(), "http://127.0.0.1:9/")
    found = statuses(rows)
    assert found[alive.url()] == 200
    assert found["http://127.0.0.1:9/"] == 0
    assert [found.get(dead.url(path)) for path in paths] == [0] * 5 + [None] * 4
    assert dead.paths() == ["/robots.txt", *paths[:5]]  # no request was repeated


def test_conditional_requests_send_the_validators_of_the_store(tmp_path):
    def page(handler):
        if handler.headers.get("If-None-Match") == '"7"':
            return 304, {"Etag": '"7"'}, b""
        return 200, {"Etag": '"7"', "Last-Modified": formatdate(1e9, usegmt=True)}, PAGE

    with (
        serving({"/": page, "/plain": PAGE}) as site,
        Store.open(tmp_path / "s", create=True) as store,
    ):
        seen = pa.table({"url": [site.url(), site.url("/plain")]})
        store.append(seen, now=NOW)
        times = count(NOW)
        with local_engine(validators=validators_of(store), clock=lambda: next(times)) as engine:
            for now in (NOW, NOW + 100):
                plan = recrawl.plan(store, 2, now=now, policy="oldest")
                for batch in engine.fetch(plan):
                    store.append(batch, now=now)
        pages = store.pages()
        assert (pages.n_compared.tolist(), pages.n_changes.tolist()) == ([1, 1], [0, 0])
        second = [request for request in site.log if request.path == "/"][1].headers
        assert second["If-None-Match"] == '"7"'
        assert second["If-Modified-Since"] == formatdate(1e9, usegmt=True)
        assert (
            "If-None-Match"
            not in [request for request in site.log if request.path == "/plain"][1].headers
        )
        assert sorted(store.query("SELECT status FROM visits")["status"].to_pylist()) == [
            200
        ] * 3 + [304]


def test_redirect_targets_and_canonical_urls_are_returned_as_pages():
    pages = {
        "/moved": (301, {"Location": "/new#part"}, b""),
        "/loop": (302, {"Location": "/loop"}, b""),
        "/away": (302, {"Location": "ftp://example.org/"}, b""),
        "/copy": b'<LINK href="/original" REL=canonical>text',
        "/stolen": b"<link rel=canonical href=http://elsewhere.example/>text",
    }
    with serving(pages) as site, local_engine() as engine:
        rows = fetch_rows(engine, *map(site.url, pages))
    found = {
        site.url(path): status
        for path, status in zip(pages, (301, 302, 302, 200, 200), strict=True)
    }
    assert statuses(rows) == found
    assert sorted(row["url"] for row in rows if row["at"] is None) == [
        site.url("/new"),
        site.url("/original"),
    ]
    assert {row["url"]: row["leads_to"] for row in rows if row["leads_to"]} == {
        site.url("/moved"): site.url("/new"),
        site.url("/copy"): site.url("/original"),
    }
    assert len(site.log) == 6


PRIVATE = [
    "127.0.0.1",
    "0x7f.1",
    "2130706433",
    "169.254.169.254",
    "10.0.0.1",
    "[::1]",
    "[::ffff:10.1.1.1]",
]


def test_private_addresses_are_neither_fetched_nor_returned():
    redirects = {
        f"http://public.example/{i}": (302, {"Location": f"http://{host}/"}, b"")
        for i, host in enumerate(PRIVATE)
    }
    with serving(redirects) as site, LiveEngine(proxy=site.url(), delay=0.0) as engine:
        rows = fetch_rows(engine, *redirects)
        assert [row["status"] for row in rows] == [302] * len(PRIVATE)
        assert {row["problem"] for row in rows} == {"leads to an address that is not public"}
        before = len(site.log)
        rows = fetch_rows(
            engine, *[recrawl.urls.canonical(f"http://{host}/") for host in set(PRIVATE)]
        )
        assert {row["status"] for row in rows} == {0}
        assert engine.skip_reasons == {"the address is not public": len(rows)}
        result = get_file(engine, "http://127.1/sitemap.xml")
        assert result.problem == "the address is not public"
    assert len(site.log) == before


def test_a_name_that_resolves_to_a_private_address_is_refused(monkeypatch):
    real = socket.getaddrinfo

    def rebound(name, *rest, **named):
        return real("127.0.0.1" if str(name).endswith("example") else name, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", rebound)
    with serving({"/": PAGE}) as site:
        url = f"http://rebound.example:{site.port}/"
        with LiveEngine(contact="https://example.org/bot", delay=0.0, backoff=0.01) as engine:
            [row] = fetch_rows(engine, url)
            assert (row["status"], row["skipped"]) == (0, True)
            assert get_file(engine, url).status == 0
        assert site.log == []
        with local_engine() as engine:
            assert statuses(fetch_rows(engine, url)) == {url: 200}


def drip(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(60):
        handler.wfile.write(b"x")
        time.sleep(0.1)


def endless(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(10_000):
        handler.wfile.write(b"x" * 10_000)


def flood(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for i in range(1_000_000):
        handler.wfile.write(b"X-%d: %s\r\n" % (i, b"y" * 900))


def continues(handler):
    for _ in range(1_000_000):
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


def cut(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort")
    handler.close_connection = True


def nonsense(handler):
    handler.wfile.write(b"\0\1\2 nonsense\r\n\r\n")
    handler.close_connection = True


def test_hostile_responses_are_bounded_and_fail_alone():
    packed = {"Content-Encoding": "gzip"}
    bad = {
        "drip": drip,
        "endless": endless,
        "flood": flood,
        "continues": continues,
        "cut": cut,
        "nonsense": nonsense,
        "announced": b"x" * 1_000_001,
        "bomb": (200, packed, gzip.compress(b"x" * 50_000_000)),
        "cut gzip": (200, packed, gzip.compress(PAGE * 100)[:60]),
        "odd status": (999, {}, b""),
    }
    crowd = b"".join(b"<a href=/%d>" % i for i in range(12_000))
    with serving(
        {f"/{name.replace(' ', '')}": page for name, page in bad.items()} | {"/crowd": crowd}
    ) as site:
        good = [site.url("/crowd")]
        with local_engine(
            timeout=1.5, max_bytes=1_000_000, host_concurrency=20, backoff=0.0
        ) as engine:
            rows = []
            for path in [
                *site.pages
            ]:  # one at a time: after five failures in a row a host is skipped
                rows += fetch_rows(engine, site.url(path))
    found = statuses(rows)
    assert {url for url, status in found.items() if status == 200} == set(good)
    assert {url for url, status in found.items() if status == 0} == set(
        map(site.url, site.pages)
    ) - set(good)
    assert all(row["digest"] is None for row in rows if row["status"] == 0)
    [crowded] = [row["links"] for row in rows if row["status"] == 200]
    assert len(crowded) == 10_000
    assert sum(row["seconds"] for row in rows) < 15


@pytest.mark.skipif(sys.platform != "linux", reason="needs all addresses of loopback")
def test_a_hundred_hosts_that_send_large_bodies_take_less_than_a_gibibyte():
    body = b"a word " * 1_400_000
    with serving({"/": body}, address="0.0.0.0") as site:
        done = subprocess.run(
            [sys.executable, Path(__file__).with_name("large_bodies.py"), str(site.port)],
            capture_output=True,
            text=True,
            timeout=280,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found.pop("peak") < 2**30
    assert found.keys() <= {"fetched", "too large while memory is short"}
    assert sum(found.values()) == 100
    assert found["fetched"] >= 15  # about as many as there is memory for


@pytest.mark.parametrize("trusted", [False, True])
def test_a_page_is_visited_only_if_its_certificate_is_trusted(tmp_path, monkeypatch, trusted):
    certificate = self_signed(tmp_path)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    wrap = lambda raw: context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)  # noqa: E731
    with serving({"/": PAGE}, wrap) as site, local_engine(backoff=0.01) as engine:
        url = f"https://{site.host}/"
        assert statuses(fetch_rows(engine, url)) == {url: 200 if trusted else 0}
    assert bool(site.log) == trusted


def self_signed(folder):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2100, 1, 1, tzinfo=UTC))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "server.pem"
    path.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
    return path


def test_stop_waits_for_requests_in_flight():
    under_way = threading.Event()

    def slow(handler):
        under_way.set()
        time.sleep(0.5)
        return PAGE

    paths = [f"/{i}" for i in range(10)]
    with serving(dict.fromkeys(paths, slow)) as site, local_engine() as engine:
        stopper = threading.Thread(target=lambda: (under_way.wait(10), engine.stop()))
        stopper.start()
        rows = fetch_rows(engine, *map(site.url, paths))
        stopper.join()
        assert statuses(rows) == {site.url("/0"): 200}
        assert len(engine.skipped) == 9
        assert fetch_rows(engine, site.url("/1")) == []
    assert site.paths() == ["/robots.txt", "/0"]


def test_batches_come_during_the_fetch_and_closing_the_iterator_ends_it():
    paths = [f"/{i}" for i in range(1000)]
    with serving(dict.fromkeys(paths, PAGE)) as site, local_engine(host_concurrency=4) as engine:
        batches = engine.fetch(UrlPlan(*map(site.url, paths)))
        assert 0 < len(next(batches)) < 400
        assert get_file(engine, site.url("/0")).status == 200  # between two batches
        batches.close()
        rows = fetch_rows(engine, site.url("/1"))
        assert len(rows) == 1
    assert len(site.log) < 900


def test_auxiliary_files_take_turns_with_pages():
    under_way = threading.Event()

    def first(handler):
        under_way.set()
        return PAGE

    pages = {"/0": first, **{f"/{i}": PAGE for i in range(1, 8)}}
    with serving(pages) as site, local_engine(delay=0.1) as engine:

        def get_files():
            under_way.wait(10)
            for i in range(3):
                get_file(engine, site.url(f"/{i}.xml"))

        getter = threading.Thread(target=get_files)
        getter.start()
        fetch_rows(engine, *map(site.url, pages))
        getter.join()
    kinds = "".join("f" if path.endswith("xml") else "p" for path in site.paths()[1:])
    assert "ff" not in kinds.rstrip("f")
    assert kinds.rstrip("f").count("f") >= 1


def test_an_auxiliary_file_does_not_wait_for_a_longer_pause():
    with serving({"/a": (503, {"Retry-After": "1000"}, b"")}) as site, local_engine() as engine:
        fetch_rows(engine, site.url("/a"))
        asked = engine.run_beside(engine.get_file(site.url("/b"), within=300.0))
        assert asked.result(timeout=30).problem == "the host asked for a longer pause"
    assert site.paths() == ["/robots.txt", "/a"]


def test_auxiliary_files_are_fetched_politely_and_decompressed():
    pages = {
        "/robots.txt": b"User-agent: *\nDisallow: /secret\nSitemap: /map.xml\nSitemap: nonsense://",
        "/map.xml": (301, {"Location": "/moved.xml"}, b""),
        "/moved.xml": (200, {"Content-Encoding": "gzip"}, gzip.compress(b"<urlset/>")),
        "/a": PAGE,
    }
    with serving(pages) as site, local_engine(delay=0.2) as engine:
        fetch_rows(engine, site.url("/a"))
        assert engine.sitemaps(site.host) == [site.url("/map.xml")]
        found = get_file(engine, engine.sitemaps(site.host)[0])
        secret = get_file(engine, site.url("/secret"))
    assert (found.url, found.status, found.body) == (site.url("/moved.xml"), 200, b"<urlset/>")
    assert secret.problem == "robots.txt forbids it"
    assert min(gaps(site)) >= 0.2
    assert "/secret" not in site.paths()


def test_the_archive_holds_what_was_fetched(tmp_path):
    times = iter(range(1_700_000_000, 1_700_000_100))

    def page(handler):
        return (
            (304, {}, b"") if "If-None-Match" in handler.headers else (200, {"Etag": '"1"'}, PAGE)
        )

    pages = {
        "/": page,
        "/zip": (200, {"Content-Encoding": "gzip"}, gzip.compress(PAGE * 9)),
        "/none": (404, {}, b""),
    }
    archive = tmp_path / "archive"
    with serving(pages) as site, Store.open(tmp_path / "live", create=True) as store:
        store.append(pa.table({"url": [*map(site.url, pages)]}), now=1.6e9)
        with local_engine(
            warc=archive, validators=validators_of(store), clock=lambda: next(times) + 0.25
        ) as engine:
            for round_ in range(2):
                now = 1_700_000_000.0 + 1000 * round_
                times = iter(range(int(now), int(now) + 1000))
                for batch in engine.fetch(recrawl.plan(store, 3, now=now, policy="oldest")):
                    store.append(batch, now=now)
    [path] = archive.iterdir()
    kinds = ["response", "response", "response", "revisit", "revisit"]
    pairs = [each for kind in kinds for each in (kind, "request")]
    assert [record.rec_type for record in records(path)] == ["warcinfo", *pairs]
    check_requests(records(path)[1:], [r for r in site.log if r.path != "/robots.txt"])
    with Store.open(tmp_path / "again", create=True) as again:
        recrawl.ingest(again, [path], now=2e9)
        sql = """SELECT url, "at", status, coalesce(visits.digest, 0) AS digest, changed
                 FROM visits JOIN pages USING (page_id) ORDER BY "at", url"""
        ours, theirs = store.query(sql).to_pylist(), again.query(sql).to_pylist()
    assert [(v["url"], v["at"], v["status"]) for v in ours] == [
        (v["url"], v["at"], v["status"]) for v in theirs
    ]
    assert [v["changed"] for v in ours] == [v["changed"] for v in theirs]
    assert [v["digest"] for v in ours][:3] == [v["digest"] for v in theirs][:3]


def records(path):
    from warcio.archiveiterator import ArchiveIterator

    with path.open("rb") as file:
        return list(ArchiveIterator(file, check_digests="raise"))


def check_requests(pairs, received):
    """Each response is followed by the request for it, with the headers that the server got."""
    for response, request in zip(pairs[::2], pairs[1::2], strict=True):
        given, kept = response.rec_headers.get_header, request.rec_headers.get_header
        assert kept("WARC-Concurrent-To") == given("WARC-Record-ID")
        assert kept("WARC-Target-URI") == given("WARC-Target-URI")
        assert kept("WARC-Date") == given("WARC-Date")
        line, sent = request.http_headers.statusline, dict(request.http_headers.headers)
        path = kept("WARC-Target-URI").split("/", 3)[3]
        assert (request.http_headers.protocol, line) == ("GET", f"/{path} HTTP/1.1")
        assert (f"/{path}", sent) in [(r.path, r.headers) for r in received]


def test_a_crawl_of_the_web_names_a_contact():
    with serving({"/": PAGE}) as site, local_engine(contact="bot@example.org") as engine:
        fetch_rows(engine, site.url())
        with pytest.raises(BadInput, match="another one is open"), local_engine():
            pass
    assert site.log[0].headers["User-Agent"] == f"recrawl/{recrawl.__version__} (+bot@example.org)"
