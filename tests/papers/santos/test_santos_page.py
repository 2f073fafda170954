"""The page of the thesis is made whole, from a small experiment and the bundled trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shutil import copytree
from time import perf_counter
from xml.dom import minidom

import numpy as np
import pytest
from support import command

from recrawl.evolve.change_history import from_bits, from_contents
from recrawl.evolve.presets import PRESETS
from recrawl.lab.experiment import ExperimentTask, run_experiment
from recrawl.papers.santos.experiment import ThesisProtocol, santos
from recrawl.papers.santos.figures import FIGURES
from recrawl.papers.santos.page import PageSetup, main

SMALL = Path(__file__).parents[2] / "golden" / "small"
TINY = replace(PRESETS["thesis"], individuals=10, generations=1, kept=4)


def test_the_page_is_made_whole(tmp_path):
    bits = np.random.default_rng(1).random((200, 12)) < 0.3
    source = tmp_path / "bits.txt"
    source.write_text("".join("".join(map(str, row)) + "\n" for row in bits.astype(int)))
    copytree(SMALL, tmp_path / "traces" / "small")
    (tmp_path / "docs").mkdir()
    setup = PageSetup(
        source=str(source),
        protocol=ThesisProtocol(2, (111,), TINY),
        breeding=replace(PRESETS["modern"], individuals=10, generations=1),
        traces=tmp_path / "traces",
        kept=tmp_path / "kept",
        docs=tmp_path / "docs",
    )
    main(setup)
    page = (setup.docs / "santos.md").read_text()
    for text in ("Table 4.2", "SAD (code)", "Figures 4.1", "What to make of it", "| small |"):
        assert text in page
    for name in ("4.1", "4.2", "4.2-code"):
        assert f"](santos-figure-{name}.svg)" in page
        figure = minidom.parse(str(setup.docs / f"santos-figure-{name}.svg"))
        assert figure.documentElement.getAttribute("xmlns") == "http://www.w3.org/2000/svg"
        drawn = {node.firstChild.data for node in figure.getElementsByTagName("text")}
        assert set(FIGURES[f"figure-{name}"]) <= drawn  # the legend
    done = {file: file.stat().st_mtime_ns for file in setup.kept.glob("*.json")}
    main(setup)
    assert (setup.docs / "santos.md").read_text() == page
    assert {file: file.stat().st_mtime_ns for file in setup.kept.glob("*.json")} == done


def test_without_traces_the_page_stays(tmp_path):
    with pytest.raises(SystemExit, match="stays as it is"):
        main(PageSetup(traces=tmp_path, docs=tmp_path))
    assert not list(tmp_path.iterdir())


def truth(changes):
    """What a worker process got."""
    parts = (changes.words, changes.key, changes.contents)
    return {"cycle_days": changes.cycle_days, "parts": [part.tolist() for part in parts]}


def test_workers_get_the_whole_truth(tmp_path):
    contents = np.array([[0, 1, 0, 1, 0], [0, 0, 1, 2, 2], [0, 1, 2, 0, 0]], np.uint16)
    changes = from_contents(contents, np.arange(3, dtype=np.uint64) + 7, cycle_days=0.5)
    assert changes.contents.size
    tasks = [ExperimentTask(str(i), "x", truth) for i in range(2)]
    for result in run_experiment(tasks, tmp_path, shared=changes, processes=2).values():
        assert result == truth(changes)
        assert result["cycle_days"] == 0.5


def test_results_of_another_truth_are_not_taken_up(tmp_path):
    """Two histories with the same bits; in one of them contents return, so visits see less."""
    random = np.random.default_rng(4)
    contents = random.integers(0, 2, (400, 13)).astype(np.uint16)
    returning = from_contents(contents)
    bits = from_bits(contents[:, 1:] != contents[:, :-1])
    assert (returning.words == bits.words).all()
    protocol = ThesisProtocol(2, (111,), TINY)
    one = santos(returning, tmp_path, protocol, clock=perf_counter)
    two = santos(bits, tmp_path, protocol, clock=perf_counter)
    assert len(list(tmp_path.glob("*.json"))) == 4
    assert one.runs[0].train != two.runs[0].train
    other = santos(replace(bits, cycle_days=7.0), tmp_path, protocol, clock=perf_counter)
    assert len(list(tmp_path.glob("*.json"))) == 6
    assert other.runs[0].formulas == two.runs[0].formulas


def test_folds_train_validate_and_test_on_other_pages(tmp_path):
    """The first half of the pages changes daily, the second never; two folds test one half each.

    Whoever trains, validates or is tested on the first half finds 1, on the second 0.
    """
    bits = np.zeros((400, 9), np.bool_)
    bits[:200] = True
    results = santos(from_bits(bits), tmp_path, ThesisProtocol(2, (111,), TINY), clock=perf_counter)
    assert all(ratio.tolist() == [1.0, 0.0] for ratio in results.by_fold.values())
    for run, found in zip(results.runs, (0.0, 1.0), strict=True):
        assert {value for row in run.train for value in row} == {found}
        assert {value for row in run.validation for value in row} == {found}
    assert [tree.train.max() for tree in results.chosen["GP4C best"]] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--quick", "--folds", "3"], "--quick must be without --folds"),
        (["--quick", "--seeds", "3"], "--quick must be without --seeds"),
        (["--quick", "--preset", "thesis"], "--quick must be without --preset"),
        (["--report", "no/such/folder.md"], "--report must be in a folder that exists"),
    ],
)
def test_what_the_command_refuses(tmp_path, arguments, says):
    done = command("paper", "santos", "brdc", "-o", tmp_path / "kept", *arguments)
    assert done.returncode == 1
    assert says in done.stderr.replace("\n", " ")
    assert not (tmp_path / "kept").exists()
