"""What the command line prints of what the web says."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support import command

from recrawl.cli.common import harmless
from recrawl.history import Store
from recrawl.model import VISITS

TITLE = "a\x1b]0;owned\x07b\x1b[2Jc\x9b31md\u202ee\r\nf\tg"


@pytest.mark.parametrize(
    "text", ["\x1b[31m", "\x9b1m", "\x00", "\x7f", "\u202e", "\u2066", "\r", "\u2028"]
)
def test_what_steers_a_terminal_is_replaced(text):
    assert harmless(f"a{text}b").startswith("a\ufffd")
    assert harmless(f"a{text}b").endswith("b")


def test_other_text_is_printed_as_it_is():
    text = "Ünïcode, 中文, עברית,\n\ttabs and lines 🙂"
    assert harmless(text) == text


def test_a_title_cannot_steer_the_terminal_of_a_search(tmp_path):
    pytest.importorskip("tantivy")
    row = {
        "url": "https://a.example/",
        "at": 1_767_323_045_000_000,
        "status": 200,
        "title": TITLE,
        "text": "needle",
        "digest": 1,
        "digest_of": "text",
    }
    columns = [pa.array([row.get(field.name)], field.type) for field in VISITS]
    with Store.open(tmp_path / "store", create=True) as store:
        store.append(pa.table(columns, schema=VISITS))
    printed = command("search", tmp_path / "store", "needle", "--now", "2026-01-03").stdout
    lines = printed.splitlines()
    assert len(lines) == 2
    assert not set(printed) & set(TITLE) - set("abcdefgowned;0[]2J31mc \n")
    assert lines[1].endswith("https://a.example/")
