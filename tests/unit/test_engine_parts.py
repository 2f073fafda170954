"""The parts of the live engine that need no network."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import BadInput
from recrawl.fetch import LiveEngine, host_file, robots_cache
from recrawl.fetch.addresses import is_public, literal
from recrawl.fetch.host_file import MAX_KEPT_CHARACTERS, HostFile, KnownHosts
from recrawl.fetch.hosts import ADDRESS_CONCURRENCY, NEVER, HostQueues
from recrawl.fetch.result import MAX_PAUSE_SECONDS, FetchResult
from recrawl.fetch.robots import CACHE_SECONDS, RobotsRules, interpret, unreachable
from recrawl.fetch.robots_cache import RobotsCache

PUBLIC = ["93.184.215.14", "8.8.8.8", "2606:4700::1111", "64:ff9b::8.8.8.8", "2002:808:808::1"]
PRIVATE = [
    *("127.0.0.1", "10.0.0.1", "172.16.5.5", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("0.0.0.0", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fec0::1", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "64:ff9b::10.0.0.1"),
    *("64:ff9b:1::a00:1", "2002:7f00:1::", "2001:0:4136:e378::1", "", "localhost", "1.2.3"),
]


def test_public_and_private_addresses():
    assert [address for address in PUBLIC if not is_public(address)] == []
    assert [address for address in PRIVATE if is_public(address)] == []


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("10.0.0.1:80", "10.0.0.1"),
        ("[::1]:80", "::1"),
        ("a.example:80", None),
    ],
)
def test_a_host_that_is_an_address(host, address):
    assert literal(host) == address


SNIPPETS = [
    *(
        b"User-agent: *\n",
        b"user-agent recrawl",
        b"\n",
        b": ",
        b"Disallow: ",
        b"Allow:",
        b"/",
        b"*$",
    ),
    *(b"%", b"%zz", b"%C3%A9", b"\xff", b"\xef\xbb\xbf", b"\0", b"Crawl-delay: ", b"1e999", b"-1"),
    *(b"nan", b"Sitemap: http://[", b"//a@b:99999999/", b"Request-rate: 1/0s 2500-9", b"#", b"/a"),
    *(b"Visit-time: 99-1", b"\xe2\x80\xa8", b"\r", b"Host: "),
]


def robots_response(status, body=b""):
    return FetchResult("http://a.example/robots.txt", 0.0, status, {}, body, 0.0)


def test_responses_to_a_request_for_robots_txt():
    assert interpret(robots_response(404), 5.0).allows("http://a.example/x")
    assert interpret(robots_response(404), 5.0).until == 5.0 + CACHE_SECONDS
    assert [interpret(robots_response(status), 5.0) for status in (0, 429, 500, 503)] == [None] * 4
    text = b"Sitemap: /s.xml\nSitemap: /s.xml\nUser-agent: *\nCrawl-delay: 2.5\nDisallow: /x$\nDisallow: /*y"
    rules = interpret(robots_response(200, text), 5.0)
    paths = [p for p in ("x", "x1", "ay") if rules.allows(f"http://a.example/{p}")]
    assert (paths, rules.delay, rules.sitemaps) == (["x1"], 2.5, ["http://a.example/s.xml"])
    assert interpret(robots_response(200, b"User-agent: *\nCrawl-delay: nan"), 5.0).delay == 0.0
    assert interpret(robots_response(200, b"User-agent: *\nCrawl-delay: -3"), 5.0).delay == 0.0


@given(text=st.binary(max_size=200) | st.lists(st.sampled_from(SNIPPETS)).map(b"".join))
def test_any_robots_txt_can_be_read(text):
    rules = interpret(robots_response(200, text), 5.0)
    assert rules.allows("http://a.example/a?b=%C3%A9;c") in (True, False)
    assert 0 <= rules.delay < NEVER


def run_simulation(hosts, jobs):
    """What happens: (host, its item or None for the end of a request, time, requests in flight).

    A request takes the time that its item says, and fails if it says so.
    """
    for number, (name, took, fails) in enumerate(jobs):
        hosts.put(name, (number, took, fails))
    now, under_way, log = 0.0, [], []
    while hosts.waiting or under_way:
        while (name := hosts.ready(now)) is not None:
            number, took, fails = hosts.start(name, now)
            under_way.append((now + took, name, number, fails))
            log.append((name, number, now, [other for _, other, _, _ in under_way]))
        ends = min(under_way, default=(NEVER,))
        now = min(ends[0], hosts.next_due())
        assert now < NEVER
        if under_way and now == ends[0]:
            under_way.remove(ends)
            hosts.done(ends[1], now, failed=ends[3])
            log.append((ends[1], None, now, []))
    assert sorted(number for _, number, *_ in log if number is not None) == list(range(len(jobs)))
    assert (hosts.n_due, hosts.next_due()) == (0, NEVER)
    return log


@given(
    jobs=st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 3), st.booleans()), max_size=30),
    delay=st.floats(0, 5),
    concurrency=st.integers(1, 3),
    shared=st.sampled_from(["", "ab", "abc"]),
)
def test_every_item_is_sent_once_in_order_and_never_too_early(jobs, delay, concurrency, shared):
    hosts = HostQueues(delay, concurrency, backoff=1.0)
    for name in shared:
        hosts.locate(name, "192.0.2.1")
    log = run_simulation(hosts, jobs)
    assert all(under_way.count(name) <= concurrency for name, _, _, under_way in log)
    for name in "abc":
        mine = [(number, at) for other, number, at, _ in log if other == name]
        started = [number for number, _ in mine if number is not None]
        assert started == sorted(started)
        for (_, before), (number, after) in pairwise(mine):
            if number is not None:
                assert after >= before + delay


@pytest.mark.parametrize("delay", [0.0, 1.0])
@pytest.mark.parametrize(("concurrency", "most"), [(1, ADDRESS_CONCURRENCY), (9, 9)])
def test_names_at_one_address_share_it_and_delay_nobody_else(concurrency, most, delay):
    hosts = HostQueues(delay, concurrency, backoff=1.0)
    jobs = [(f"h{i}", 3.0, False) for i in range(60)] * 2 + [("other", 0.0, False)]
    for name, _, _ in jobs[:60]:
        hosts.locate(name, "192.0.2.1")
    hosts.locate("other", "192.0.2.2")
    log = [entry for entry in run_simulation(hosts, jobs) if entry[1] is not None]
    assert ("other", 120, 0.0) in [entry[:3] for entry in log]
    crowd = [entry for entry in log if entry[0] != "other"]
    assert max(sum(name != "other" for name in under_way) for *_, under_way in crowd) == most
    starts = [at for _, _, at, _ in crowd]
    assert all(after - before >= 0.999 * delay / most for before, after in pairwise(starts))
    assert {name for name, *_ in crowd[:60]} == {name for name, *_ in jobs[:60]}  # each in turn


def test_a_host_that_moves_takes_its_requests_along():
    hosts = HostQueues(delay=0.0, concurrency=1, backoff=1.0)
    for i in range(2 * ADDRESS_CONCURRENCY):
        hosts.put(f"host{i}", "page")
        hosts.locate(f"host{i}", "192.0.2.1")
    started = [hosts.ready(0.0) for _ in range(ADDRESS_CONCURRENCY)]
    for name in started:
        hosts.start(name, 0.0)
    hosts.locate(started[0], "192.0.2.2")  # there is room for one more at the first address
    hosts.done(started[0], 0.0)
    hosts.done(started[1], 0.0)
    more = []
    while (name := hosts.ready(1.0)) is not None:
        hosts.start(name, 1.0)
        more.append(name)
    assert len(more) == 2


def test_a_new_cycle_forgets_neither_pauses_nor_failures():
    hosts = HostQueues(1.0, 1, backoff=2.0)
    for name, failed, pause in (("paused", False, 60.0), ("failed", True, 0.0), ("fine", False, 0)):
        for _ in range(6 if failed else 1):
            hosts.put(name, "page")
            hosts.start(name, 0.0)
            hosts.done(name, 0.0, failed=failed, pause=pause)
    assert hosts.changed == {"paused", "failed"}
    hosts.reset(50.0, 4)
    assert hosts.resting(50.0) == {"paused": (10.0, 0), "failed": (14.0, 4)}
    hosts.reset(70.0, 4)
    hosts.put("paused", "page")
    assert hosts.resting(70.0) == {"failed": (0.0, 4)}
    assert hosts.ready(70.0) == "paused"


def test_backoff_of_a_failing_host_grows_and_others_continue():
    hosts = HostQueues(1.0, 1, backoff=2.0)
    for _ in range(4):
        hosts.put("down", "page")
    hosts.put("up", "page")
    now, rests = 0.0, []
    for _ in range(3):
        while hosts.ready(now) != "down":
            hosts.start("up", now)
        hosts.start("down", now)
        hosts.done("down", now, failed=True)
        rests.append(hosts.due("down") - now)
        now = hosts.due("down")
    assert rests == [2.0, 4.0, 8.0]
    assert hosts.ready(now) == "down"
    hosts.start("down", now)
    hosts.done("down", now)
    assert (hosts.due("down") - now, hosts.failures("down")) == (1.0, 0)


def test_parked_hosts_wait_for_wake_or_a_first_item():
    hosts = HostQueues(0.0, 1, backoff=1.0)
    hosts.put("a", "page")
    assert hosts.ready(0.0) == "a"
    hosts.park("a")
    assert (hosts.ready(9.0), hosts.next_due()) == (None, NEVER)
    hosts.put("a", "robots", place=0)
    assert hosts.ready(9.0) == "a"
    assert hosts.start("a", 9.0) == "robots"
    hosts.done("a", 9.0, pause=60.0)
    hosts.raise_delay("a", 5.0)
    assert (hosts.ready(68.0), hosts.ready(69.0)) == (None, "a")
    assert hosts.remove(lambda _: True) == ["page"]
    assert hosts.waiting == 0


# What hosts asked for, on disk


KNOWN = KnownHosts(
    {"a.example": (30.0, 2), "b.example:80": (0.0, 1)},
    {
        "http://a.example": RobotsRules(500.0, "User-agent: *\nDisallow: /x", True, 2.5, ["http://a.example/s.xml"]),
        "http://b.example:80": RobotsRules(300.0, reachable=False),
        "http://old.example": RobotsRules(100.0),
    },
)  # fmt: skip


def known_from(path, *, now=200.0, wall=1e9):
    found = HostFile(path).read(now=now, wall=wall)
    rules = {
        origin: (each.until, each.text, each.reachable, each.delay, each.sitemaps)
        for origin, each in found.robots.items()
    }
    return dict(found.hosts), rules


def test_what_hosts_asked_for_is_read_back_as_far_as_it_still_holds(tmp_path):
    file = HostFile(tmp_path / "hosts.jsonl")
    assert file.is_due
    file.add(KNOWN, wall=1e9)
    assert not file.is_due
    hosts, rules = known_from(tmp_path / "hosts.jsonl", wall=1e9 + 10)
    assert hosts == {"a.example": (20.0, 2), "b.example:80": (0.0, 1)}
    text = "User-agent: *\nDisallow: /x"
    assert rules == {
        "http://a.example": (500.0, text, True, 2.5, ["http://a.example/s.xml"]),
        "http://b.example:80": (300.0, "", False, 0.0, []),
    }
    file.add(KnownHosts({"a.example": (0.0, 0)}), wall=1e9)  # it answers again
    assert known_from(tmp_path / "hosts.jsonl")[0] == {"b.example:80": (0.0, 1)}
    HostFile(tmp_path / "hosts.jsonl").add(KnownHosts({"c.example": (5.0, 0)}), wall=1e9)
    assert known_from(tmp_path / "hosts.jsonl") == ({"c.example": (5.0, 0)}, {})


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path, caplog):
    other = tmp_path / "other"
    other.write_text("mine")
    (tmp_path / "hosts.jsonl").symlink_to(other)
    HostFile(tmp_path / "hosts.jsonl").add(KNOWN, wall=1e9)
    assert other.read_text() == "mine"
    assert "symbolic link" in caplog.text


DAMAGED_LINES = [
    *(b"nonsense", b"[1]", b"{}", b"1", b"null", b"\xff\xfe\0", b"[" * 5000, b'"' + b"x" * 10**6 + b'"'),
    *(b'{"host": 1, "due": 2e9, "failures": 0}', b'{"host": "x", "due": NaN, "failures": 0}'),
    *(b'{"host": "x", "due": 2e9, "failures": "1"}', b'{"host": "x", "due": 1e999, "failures": 0}'),
    b'{"host": "%s", "due": 2e9, "failures": 0}' % (b"x" * 10**6),
    b'{"origin": "http://x", "until": 9e9, "reachable": 1, "delay": 0, "sitemaps": 3, "text": ""}',
]  # fmt: skip


@pytest.mark.parametrize("line", DAMAGED_LINES, ids=lambda line: line[:30].decode("latin-1"))
def test_a_damaged_line_is_ignored_with_a_warning(tmp_path, caplog, line):
    path = tmp_path / "hosts.jsonl"
    HostFile(path).add(KNOWN, wall=1e9)
    whole = known_from(path)
    path.write_bytes(line + b"\n" + path.read_bytes() + line)
    assert known_from(path) == whole
    assert "2 lines cannot be read" in caplog.text


def test_a_file_of_somebody_else_allows_nothing_for_long(tmp_path):
    path = tmp_path / "hosts.jsonl"
    lines = [
        {"host": "a.example", "due": 9e15, "failures": 10**9},
        {"origin": "http://a.example", "until": 9e15, "reachable": "yes", "delay": 1e9,
         "sitemaps": ["file:///etc/passwd", "/s.xml"], "text": ""},
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    hosts, rules = known_from(path)
    assert hosts == {"a.example": (MAX_PAUSE_SECONDS, 100)}
    assert rules == {
        "http://a.example": (200.0 + CACHE_SECONDS, "", False, 60.0, ["http://a.example/s.xml"])
    }


def test_the_file_of_hosts_is_bounded(tmp_path, caplog, monkeypatch):
    path = tmp_path / "hosts.jsonl"
    long = KnownHosts({}, {"http://a.example": RobotsRules(500.0, "x" * (MAX_KEPT_CHARACTERS + 1))})
    HostFile(path).add(long, wall=1e9)
    assert path.read_bytes() == b""  # such a file is requested again
    monkeypatch.setattr(host_file, "MAX_ADDED_BYTES", 100_000)
    monkeypatch.setattr(host_file, "MAX_KEPT_BYTES", 50_000)
    monkeypatch.setattr(host_file, "MAX_KEPT_HOSTS", 300)
    file, many = HostFile(path), KnownHosts({f"h{i}": (9.0, 0) for i in range(1000)})
    sizes = []
    for _ in range(9):
        file.add(many, wall=1e9)
        sizes.append(path.stat().st_size)
    assert max(sizes) < 250_000
    assert sizes[0] < 50_000
    assert sizes.count(sizes[0]) > 1  # it was written whole more than once
    assert list(known_from(path)[0]) == [f"h{i}" for i in range(700, 1000)]
    monkeypatch.setattr(host_file, "MAX_FILE_BYTES", 1000)
    assert known_from(path) == ({}, {})
    assert "too large" in caplog.text
    HostFile(tmp_path / "none" / "hosts.jsonl").add(KNOWN, wall=1e9)
    assert "cannot be kept" in caplog.text


def test_the_cache_of_robots_txt_is_bounded_by_characters(monkeypatch):
    monkeypatch.setattr(robots_cache, "MAX_CHARACTERS", 400)
    monkeypatch.setattr(robots_cache, "MAX_PARSED_CHARACTERS", 250)
    cache = RobotsCache()
    text = b"User-agent: *\nDisallow: /x" + b"#" * 74
    for name in "abcdef":
        cache.keep(name, interpret(robots_response(200, text), 5.0))
    assert list(cache.known(5.0)) == list("cdef")
    assert [name for name in "cdef" if cache.known(5.0)[name].parsed] == list("ef")
    assert not cache.get("c", 5.0).allows("http://a.example/x")  # it is parsed again
    assert cache.get("d", 5.0).allows("http://a.example/y")
    assert cache.keep("c", unreachable(5.0)).reachable is False
    assert list(cache.known(5.0)) == list("defc")


def test_a_date_of_retry_after_counts_from_the_clock_that_makes_the_pause_longer():
    def pause(now, **headers):
        named = {
            name.title().replace("_", "-").encode(): [v.encode()] for name, v in headers.items()
        }
        return FetchResult("http://a.example/", 0.0, 503, named, b"", 0.0).retry_after(now)

    later = {
        "retry_after": "Sat, 01 Jan 2000 01:00:00 GMT",
        "date": "Sat, 01 Jan 2000 00:00:00 GMT",
    }
    millennium = 946_684_800.0
    assert pause(millennium, **later) == 3600.0
    assert pause(millennium + 80_000, **later) == 3600.0  # our clock is ahead
    assert pause(millennium - 600, **later) == 4200.0
    assert pause(millennium, retry_after=later["retry_after"], date="never") == 3600.0
    assert pause(millennium, retry_after="7", date="never") == 7.0


def test_an_archive_continues_in_the_next_file(tmp_path):
    pytest.importorskip("warcio", reason="archives need the extra 'crawl'")
    from recrawl.fetch.warc import Archive

    for _ in range(2):  # a second run leaves the files of the first as they are
        archive = Archive(tmp_path, "me@example.org", max_file_bytes=1)
        for number in range(3):
            body = bytes(range(256)) * 10 + bytes([number])
            archive.add(FetchResult(f"http://a.example/{number}", 1e9, 200, {}, body, 0.0))
        archive.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"recrawl-{i:05d}.warc.gz" for i in range(len(names))]
    assert len(names) == 6


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({}, "contact"),
        ({"contact": "a\nb"}, "contact"),
        ({"proxy": "http://me:secret@a.example:1"}, "proxy"),
        ({"proxy": "socks5://a.example:1"}, "proxy"),
        ({"contact": "a@b.example", "delay": -1.0}, "delay"),
        ({"contact": "a@b.example", "concurrency": 0}, "concurrency"),
    ],
)
def test_invalid_arguments_of_an_engine(arguments, parameter):
    with pytest.raises(BadInput, match=f"^LiveEngine: {parameter}") as caught:
        LiveEngine(**arguments)
    assert "secret" not in str(caught.value)
