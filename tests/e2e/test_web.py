"""The living web over real connections, and the hostile server that other tests use."""

from __future__ import annotations

import gzip
import http.client
import json
import signal
import socket
import subprocess
import sys
import time
import zlib
from contextlib import closing
from urllib.parse import quote, urlsplit

import pytest
from support import write_trace

import hostile
from recrawl.errors import BadInput
from recrawl.lab.trace import read_trace
from recrawl.lab.web import Behaviours, Outage, serve, trace_of
from recrawl.model import DAY
from recrawl.page import content as page

A, B = "https://a.example/1", "https://b.example/2"


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    rows = [
        (A, 0, 200, "first", [B]),
        (A, 3, 200, "second", []),
        (B, 2, 200, "born", [A]),
        (B, 6, 410, "", []),
    ]
    return read_trace(write_trace(tmp_path_factory.mktemp("trace"), rows))


class Client:
    """One kept connection to a proxy."""

    def __init__(self, proxy):
        self._connection = http.client.HTTPConnection(urlsplit(proxy).netloc, timeout=10)

    def get(self, url, method="GET", **headers):
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, url, headers=fields)
        response = self._connection.getresponse()
        return response, response.read()

    def json(self, url):
        response, body = self.get(url)
        assert response.status == 200, body
        return json.loads(body)

    def close(self):
        self._connection.close()


def raw(web, data):
    """All bytes until the server closes."""
    with socket.create_connection(("127.0.0.1", web.port), timeout=10) as connection:
        connection.sendall(data)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_crawler_and_the_truth_share_one_clock(trace):
    with (
        serve(trace, manual=True, truth=True) as web,
        closing(Client(web.proxy)) as client,
    ):
        assert web.seeds() == ["http://a.example/1"]
        begin, end = trace.window
        expected = {"now": begin, "end": end, "speed": None}
        assert client.json("http://recrawl.admin/time") == expected
        first, body = client.get("http://a.example/1")
        assert first.headers["X-Simulated-Time"] == "2026-01-01T00:00:00.000Z"
        assert page.parse(body, url="http://a.example/1").links == ["http://b.example/2"]
        assert client.get("http://b.example/2")[0].status == 404

        now = begin + 3 * DAY
        assert client.json(f"http://recrawl.admin/time?set={now}")["now"] == now
        tag = first.headers["ETag"]
        again, body = client.get("http://a.example/1", If_None_Match=tag)
        assert (again.status, again.headers["Last-Modified"]) == (
            200,
            "Sun, 04 Jan 2026 00:00:00 GMT",
        )
        same, nothing = client.get("http://a.example/1", If_None_Match=again.headers["ETag"])
        assert (same.status, nothing) == (304, b"")
        assert client.json(f"http://recrawl.admin/truth?url={quote(A)}") == {
            "url": "http://a.example/1",
            "now": now,
            "status": 200,
            "version": 1,
            "content": int(trace.content[1]),
            "valid_from": now,
        }
        web.clock.set(begin + 6 * DAY)
        assert client.get("http://b.example/2")[0].status == 410
        assert client.get(f"http://recrawl.admin/time?set={begin}")[0].status == 400
        assert client.get("http://recrawl.admin/truth?url=http://c.example/")[0].status == 400


def test_the_truth_needs_an_option_and_a_running_clock_cannot_be_set(trace):
    with serve(trace, speed=DAY) as web, closing(Client(web.proxy)) as client:
        assert client.get(f"http://recrawl.admin/truth?url={quote(A)}")[0].status == 403
        assert client.get("http://recrawl.admin/time?set=5")[0].status == 400
        assert client.get("http://recrawl.admin/")[0].status == 404
        once = client.json("http://recrawl.admin/time")["now"]
        time.sleep(0.01)
        assert client.json("http://recrawl.admin/time")["now"] >= once + 0.01 * DAY


def test_the_log_has_each_request_with_its_times(trace):
    with serve(trace, manual=True) as web, closing(Client(web.proxy)) as client:
        before = time.monotonic()
        sizes = [len(client.get(url)[1]) for url in ("http://a.example/1", "http://c.example/x?y")]
        client.get("http://a.example/1", method="HEAD")
        lines = client.get("http://recrawl.admin/log")[1].decode().splitlines()
        assert [json.loads(line) for line in lines] == [r._asdict() for r in web.requests()]
        logged = [(r.host, r.path, r.status, r.bytes) for r in web.requests()]
        assert logged == [
            ("a.example", "/1", 200, sizes[0]),
            ("c.example", "/x?y", 502, sizes[1]),
            ("a.example", "/1", 200, 0),
        ]
        times = [r.real for r in web.requests()]
        assert before <= times[0] <= times[1] <= times[2] <= time.monotonic()
        assert {r.simulated for r in web.requests()} == {trace.window[0]}


def test_invalid_requests_get_a_reason_and_are_closed(trace):
    with serve(trace, manual=True) as web:
        for data, status in (
            (b"CONNECT a.example:443 HTTP/1.1\r\n\r\n", 501),
            (b"hello\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\n\r\n", 400),
            (b"PRI * HTTP/2.0\r\n\r\n", 400),
            (b"POST http://a.example/1 HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi", 413),
            (b"GET http://a.example/1 HTTP/1.1\r\nx: " + b"x" * 70_000, 431),
        ):
            back = raw(web, data)
            assert back.startswith(b"HTTP/1.1 %d " % status), back
            assert b"<p>" in back
        closed = b"DELETE http://a.example/1 HTTP/1.1\r\nConnection: close\r\n\r\n"
        assert b"Allow: GET, HEAD" in raw(web, closed)


def test_origin_form_pipelines_and_old_clients(trace):
    with serve(trace, manual=True) as web:
        one = b"GET /1 HTTP/1.1\r\nHost: A.example\r\n\r\n"
        last = b"GET /none HTTP/1.0\r\nHost: a.example\r\n\r\n"
        back = raw(web, one + one + last)
        assert [back.count(b"HTTP/1.1 %d" % status) for status in (200, 404)] == [2, 1]
        assert back.rindex(b"200 OK") < back.index(b"404 Not Found")


def test_a_host_that_is_down_closes_and_comes_back(trace):
    behaviours = Behaviours(down=(Outage("a.example", 1, 8),))
    with (
        serve(trace, manual=True, behaviours=behaviours) as web,
        closing(Client(web.proxy)) as client,
    ):
        assert client.get("http://a.example/1")[0].status == 200
        web.clock.set(trace.window[0] + DAY)
        for path in ("1", "robots.txt"):
            with pytest.raises(http.client.RemoteDisconnected):
                client.get(f"http://a.example/{path}")
        web.clock.set(trace.window[0] + 5 * DAY)
        assert client.get("http://b.example/2")[0].status == 200
        web.clock.set(trace.window[0] + 8 * DAY)
        assert client.get("http://a.example/1")[0].status == 200
        assert [r.status for r in web.requests()] == [200, 0, 0, 200, 200]


def test_a_slow_host_delays_only_its_own_clients(trace):
    drawn = (Behaviours(slow=0.5, latency=0.3, seed=seed) for seed in range(100))
    behaviours = next(m for m in drawn if m.of("a.example").slow and not m.of("b.example").slow)
    with (
        serve(trace, manual=True, behaviours=behaviours) as web,
        closing(Client(web.proxy)) as client,
    ):
        both = b"".join(
            f"GET http://{host}.example/robots.txt HTTP/1.{i}\r\n\r\n".encode()
            for i, host in ((1, "a"), (0, "b"))
        )
        with socket.create_connection(("127.0.0.1", web.port), timeout=10) as waiting:
            waiting.sendall(both)
            while not web.requests():
                time.sleep(0.001)
            assert client.get("http://b.example/robots.txt")[0].status == 200
            back = b"".join(iter(lambda: waiting.recv(65536), b""))
        assert back.index(b"//a.example/sitemap") < back.index(b"//b.example/sitemap")
        slow, quick, after = web.requests()
        assert (slow.host, quick.host, after.host) == ("a.example", "b.example", "b.example")
        assert after.real - slow.real >= 0.3


@pytest.mark.parametrize("behaviours", [Behaviours(), Behaviours(slow=1.0, latency=0.02)])
def test_large_pages_reach_a_slow_client_completely(behaviours, tmp_path):
    whole = read_trace(write_trace(tmp_path, [(A, 0, 200, "word " * 1_000_000, [])]))
    with serve(whole, manual=True, behaviours=behaviours) as web:
        requests = b"GET http://a.example/1 HTTP/1.1\r\n\r\n" * 4
        last = b"GET http://a.example/1 HTTP/1.1\r\nConnection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", web.port), timeout=10) as connection:
            connection.sendall(requests + last)
            while not web.requests():
                time.sleep(0.01)
            time.sleep(0.1)
            assert len(web.requests()) < 5  # it does not pile up what is not read
            back = b"".join(iter(lambda: connection.recv(1 << 20), b""))
        assert back.count(b"HTTP/1.1 200 OK") == 5
        assert back.count(b"</html>") == 5


def test_it_ends_with_connections_open_and_a_taken_port_is_refused(trace):
    with serve(trace, manual=True) as web:
        idle = socket.create_connection(("127.0.0.1", web.port), timeout=10)
        for port in (web.port, 70_000):
            with pytest.raises(BadInput, match="free"), serve(trace, port=port):
                pass
    with closing(idle):
        assert idle.recv(10) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", web.port), timeout=10)


def test_the_command_serves_until_a_signal(tmp_path):
    seeds, log = tmp_path / "seeds.txt", tmp_path / "log.jsonl"
    words = ["web", "poisson", "--pages", "30", "--days", "5", "--seeds", seeds, "--log", log]
    command = [sys.executable, "-c", "from recrawl.cli import main; main()", *map(str, words)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        first_line = process.stdout.readline()
        assert first_line.startswith("30 pages on 1 host behind the proxy http://127.0.0.1:")
        assert process.stdout.readline().startswith("one page   curl -x http://127.0.0.1:")
        proxy = first_line.split()[-1]
        crawl = f"recrawl crawl STORE --seeds {seeds} --proxy {proxy} --simulated --delay 0s"
        assert process.stdout.readline() == f"a crawl    {crawl}\n"
        urls = seeds.read_text().split()
        assert len(urls) == 30
        with closing(Client(first_line.split()[-1])) as client:
            statuses = [client.get(url)[0].status for url in urls]
        assert statuses == [200] * 30
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=20)
    assert process.returncode == 0, complaints
    assert "Traceback" not in complaints
    assert [json.loads(line)["status"] for line in log.read_text().splitlines()] == statuses


def test_every_page_of_a_world_is_found_from_its_sitemaps():
    whole = trace_of("poisson", pages=500, days=10)
    with serve(whole, manual=True) as web, closing(Client(web.proxy)) as client:
        listed = set()
        for name in sorted({url.split("/")[2] for url in whole.urls}):
            body = client.get(f"http://{name}/sitemap.xml", Accept_Encoding="gzip")[1]
            body = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
            listed |= {part.partition(b"<")[0].decode() for part in body.split(b"<loc>")[1:]}
        assert listed == set(web.seeds())
        assert len(listed) == 500


def test_each_path_of_the_hostile_server():
    with hostile.hostile("redirecting") as site, closing(Client(site.url)) as client:
        for path, to in (
            ("/loop", "/loop/again"),
            ("/loop/again", "/loop"),
            ("/to-loopback", "http://127.0.0.1:1/"),
            ("/to-metadata", "http://169.254.169.254/latest/"),
            ("/robots.txt", "/robots.txt?again"),
            ("/robots.txt?again", "/robots.txt?again"),
        ):
            response, _ = client.get(path)
            assert (response.status, response.headers["Location"]) == (302, to)
        for path, links in (("/many", 10_000), ("/calendar/7", 1), ("/ok/3", 0)):
            assert len(page.parse(client.get(path)[1], url=site.url + path).links) == links
        for path, wrong in (
            ("/headers", http.client.HTTPException),
            ("/close", http.client.RemoteDisconnected),
        ):
            with pytest.raises(wrong):
                client.get(path)
            client.close()
        _, packed = client.get("/bomb")
        assert len(packed) < 2_000_000
        assert sum(site.n_requests(path) for path in ("/loop", "/bomb", "/drip")) == 2


def test_the_hostile_bomb_decompresses_completely():
    unpacker, size = zlib.decompressobj(31), 0
    packed = hostile.bomb()
    while packed:
        size += len(unpacker.decompress(packed, 1 << 26))
        packed = unpacker.unconsumed_tail
    assert (size, unpacker.eof) == (hostile.BOMB_BYTES, True)


@pytest.mark.parametrize(("path", "enough"), [("/endless", 10_000_000), ("/drip", 5)])
def test_the_hostile_server_sends_until_the_client_closes(path, enough):
    with (
        hostile.hostile() as site,
        closing(http.client.HTTPConnection(urlsplit(site.url).netloc, timeout=10)) as connection,
    ):
        connection.request("GET", path)
        with connection.getresponse() as response:
            assert len(response.read(enough)) == enough


@pytest.mark.parametrize(
    ("robots", "status", "least"),
    [("missing", 404, 0), ("open", 200, 0), ("500", 500, 0), ("huge", 200, 5_000_000), ("binary", 200, 1_000)],
)  # fmt: skip
def test_robots_of_the_hostile_server(robots, status, least):
    with hostile.hostile(robots) as site, closing(Client(site.url)) as client:
        response, body = client.get("/robots.txt")
        assert (response.status, len(body) >= least) == (status, True)
