"""Every reader, whatever it is given: it ends in time, and says what is wrong in a sentence."""

from __future__ import annotations

import io
import random
import re
import sys
from contextlib import contextmanager

import pytest

from recrawl import registry
from recrawl.ingest.file_stream import PeekableStream
from recrawl.ingest.source import FileSource
from recrawl.page import parse

NOW = 1_790_000_000.0
STEPS_AT_LEAST = 20_000  # imports and first calls
STEPS_PER_BYTE = 100
READERS = sorted(registry.parts("reader"))
#: What breaks parsers: ends of lines and of texts, brackets, absurd numbers and dates.
PIECES = [
    b"", b"\n", b"\r", b"\r\n", b'"', b'""', b'","', b"'", b",", b"\t", b" ", b"\0", b"\xff",
    b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\\", b"\\ud800", b"{", b"}", b"[", b"]", b"[[", b"<", b">",
    b"&", b"&a;", b"<!--", b"-1", b"0", b"1e400", b"-1e18", b"9" * 30, b"9" * 5000, b"nan", b"null",
    b"true", b"{}", b"[]", b"0000-00-00", b"0001-01-01T00:00:00+23:59", b"9999-12-31T23:59:59-23:59",
    b"99999999999999", b"Thu, 01 Jan 999999999999 00:00:00 GMT", b"http://", b"http://[", b"//",
    b"https://u:secret@a.example/", "http://\u00fc\u200d.example/".encode(), b"WARC/1.0\r\n",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Functions are compiled at their first call, which takes many steps."""
    for body in (b"<p>a", b"a"):
        parse(body, url="https://a.example/")


class TooManySteps(BaseException):
    """The reader called more functions than its bytes deserve."""


@contextmanager
def at_most(steps: int):
    """Allow this many function calls in the block; one more raises TooManySteps."""
    left = steps

    def count(frame, event, argument):
        nonlocal left
        left -= event in ("call", "c_call")
        if left < 0:
            sys.setprofile(None)
            raise TooManySteps

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


def mutant(example: bytes, dice: random.Random) -> bytes:
    """The example with some of its words replaced, dropped, doubled or moved."""
    words = re.findall(rb"[\w.:/-]+|\s+|[^\w\s]", example) if len(example) < 5000 else [example]
    words = words if len(words) > 3 else [example[i : i + 9] for i in range(0, len(example), 9)]
    for _ in range(dice.randint(1, 6)):
        place = dice.randrange(len(words))
        match dice.randrange(4):
            case 0:
                words[place] = dice.choice(PIECES)
            case 1:
                words.insert(place, dice.choice(PIECES))
            case 2:
                words[place:place] = words[dice.randrange(len(words)) :][: dice.randint(1, 9)]
            case _:
                del words[place : place + dice.randint(0, 3)]
        words = words or [b"\n"]
    body = b"".join(words)
    return body * dice.choice([1, 1, 1, 2, 300]) if len(body) < 2000 else body


def read(name: str, body: bytes) -> FileSource:
    """Read the bytes as `ingest` does, within the steps that they deserve."""
    source, sink = FileSource("fuzzed", NOW, io.StringIO()), 0
    reader = registry.make("reader", name)
    reader.accepts(body[:65_536], "fuzzed")
    with at_most(STEPS_AT_LEAST + STEPS_PER_BYTE * len(body)):
        for table in source.tables(reader, PeekableStream(io.BytesIO(body))):
            table.validate(full=True)
            sink += len(table)
    assert source.records == sink + source.rejected
    return source


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_no_file_holds_a_reader_or_gives_a_traceback(name):
    dice = random.Random(name)
    example = registry.make("reader", name).example()
    for _ in range(400):
        read(name, mutant(example, dice))


def test_the_budget_of_steps_is_kept():
    def endless():
        with at_most(1000):
            while True:
                len("")

    with pytest.raises(TooManySteps):
        endless()


def test_stray_quotes_of_a_csv_file_are_read_once():
    source = read("csv", b'url,at,\n,i","\n","\n')
    assert source.rejected == 2
    assert "A quote is not closed." in source.examples[0]
    many = b"url,at,title\n" + b'"\n",,,,\n' * 5000
    assert read("csv", many).rejected == 10_000
