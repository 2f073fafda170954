"""The parts of the live engine that need no network."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.errors import BadInput
from recrawl.fetch import LiveEngine
from recrawl.fetch.addresses import is_public, literal
from recrawl.fetch.hosts import NEVER, HostQueues
from recrawl.fetch.result import FetchResult
from recrawl.fetch.robots import CACHE_SECONDS, interpret

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


@given(
    jobs=st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 3), st.booleans()), max_size=30),
    delay=st.floats(0, 5),
    concurrency=st.integers(1, 3),
)
def test_every_item_is_sent_once_in_order_and_never_too_early(jobs, delay, concurrency):
    """A simulation in which a request takes the time that its item says, and fails if it says so."""
    hosts = HostQueues(delay, concurrency, backoff=1.0)
    for number, (name, took, fails) in enumerate(jobs):
        hosts.put(name, (number, took, fails))
    now, under_way, log = 0.0, [], []
    while hosts.waiting or under_way:
        while (name := hosts.ready(now)) is not None:
            number, took, fails = hosts.start(name, now)
            assert sum(other == name for _, other, _, _ in under_way) < concurrency
            log.append((name, number, now))
            under_way.append((now + took, name, number, fails))
        ends = min(under_way, default=(NEVER,))
        now = min(ends[0], hosts.next_due())
        assert now < NEVER
        if under_way and now == ends[0]:
            under_way.remove(ends)
            hosts.done(ends[1], now, failed=ends[3])
            log.append((ends[1], None, now))
    assert sorted(number for _, number, _ in log if number is not None) == list(range(len(jobs)))
    for name in "abc":
        mine = [(number, at) for other, number, at in log if other == name]
        started = [number for number, _ in mine if number is not None]
        assert started == sorted(started)
        for (_, before), (number, after) in pairwise(mine):
            if number is not None:
                assert after >= before + delay


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
    hosts.put("a", "robots", first=True)
    assert hosts.ready(9.0) == "a"
    assert hosts.start("a", 9.0) == "robots"
    hosts.done("a", 9.0, pause=60.0)
    hosts.raise_delay("a", 5.0)
    assert (hosts.ready(68.0), hosts.ready(69.0)) == (None, "a")
    assert hosts.remove(lambda _: True) == ["page"]
    assert hosts.waiting == 0


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
