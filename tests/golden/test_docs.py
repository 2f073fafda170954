"""The documentation runs, and prints what it says it prints."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

from recrawl import cli

ROOT = Path(__file__).parent.parent.parent
spec = importlib.util.spec_from_file_location("blocks", ROOT / "docs" / "blocks.py")
blocks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(blocks)


#: What evolution breeds depends on the last digits of a processor's logarithms.
STEADY = [page for page in blocks.PAGES if page.name != "evolve.md"]


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def words(text):
    """All but the numbers, and the spaces that follow from their width."""
    return NUMBER.sub("0", text).split()


def numbers(text):
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


@pytest.mark.parametrize("page", STEADY, ids=lambda page: page.name)
def test_code_blocks_run_and_their_output_is_current(page, tmp_path):
    """What is learned may differ in its last digits from processor to processor; no more."""
    ran, says = blocks.run(page, tmp_path), page.read_text()
    assert words(ran) == words(says), "run `make docs`"
    assert numbers(ran) == pytest.approx(numbers(says), rel=0.02, abs=0.011), "run `make docs`"


@pytest.mark.parametrize("page", blocks.PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_command_is_in_the_readme():
    for command in cli.app.registered_commands:
        assert f"`recrawl {command.callback.__name__} " in (ROOT / "README.md").read_text()
        assert inspect.getdoc(command.callback)
