"""`make mutants` breaks what it says, finds the tests for it, and counts right."""

from __future__ import annotations

import os
import signal
import time

import pytest

from mutants.children import TIMED_OUT, in_child
from mutants.covering import MAX_OTHER_SECONDS, MAX_SECONDS, Test, choose
from mutants.definitions import Definitions
from mutants.report import (
    BEGIN,
    END,
    Row,
    Survivor,
    overall,
    read_survivors,
    row,
    survivors,
    wilson,
    write_between_markers,
    write_survivors,
)
from mutants.session import Outcome, Session, digests
from mutants.sites import mutants

Test.__test__ = False

SOURCE = '''"""Text: 1 + 1."""
from numba import njit

LIMIT = 3
LOW, HIGH = range(5)


@njit(cache=True)
def inner(x: int = 0) -> int:
    return x - 1 if x < LIMIT else 0


@njit(cache=True)
def outer(x):
    return inner(x)


def calls(x):
    if x:
        raise ValueError(f"{x} + {1}")
    return outer(min(x, key=len)[1:])


def asks():
    return dict(zip(LOW, HIGH, strict=True))


class Part:
    size: int | None = 2

    def method(self, x):
        return (x * self.size)
'''


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "src/recrawl/rates"
    folder.mkdir(parents=True)
    (folder / "one.py").write_text(SOURCE)
    return tmp_path


PATH = "src/recrawl/rates/one.py"


def test_each_mutant_is_one_change_of_one_line(root):
    made = mutants(root, PATH)
    changes = {(one.where, one.now) for one in made}
    assert changes == {
        ("LIMIT", "LIMIT = 4"),
        ("LOW,HIGH", "LOW, HIGH = range(6)"),
        ("inner", "def inner(x: int = 1) -> int:"),
        ("inner", "return x + 1 if x < LIMIT else 0"),
        ("inner", "return x - 2 if x < LIMIT else 0"),
        ("inner", "return x - 1 if x <= LIMIT else 0"),
        ("inner", "return x - 1 if x < LIMIT else 1"),
        ("inner", "return x - 1 if (x < LIMIT) and False else 0"),
        ("inner", "return x - 1 if (x < LIMIT) or True else 0"),
        ("calls", "if not (x):"),
        ("calls", "return outer(max(x, key=len)[1:])"),
        ("calls", "return outer(min(x)[1:])"),
        ("calls", "return outer(min(x, key=len)[2:])"),
        ("calls", "return outer(min(x, key=len)[:])"),
        ("Part.size", "size: int | None = 3"),
        ("Part.method", "return (x / self.size)"),
    }
    assert len(made) == len(changes), "none twice"
    for one in made:
        code = one.code.decode().splitlines()
        differing = [i for i, line in enumerate(SOURCE.splitlines(), 1) if code[i - 1] != line]
        assert differing == [one.line]
        assert code[one.line - 1].strip() == one.now
        compile(one.code, "mutant", "exec")
        assert one.module == "rates"


def test_the_name_of_a_mutant_stays_when_other_lines_come(root):
    before = {one.id for one in mutants(root, PATH)}
    (root / PATH).write_text(SOURCE.replace("LIMIT = 3", "# why\n\nOTHER = 1\nLIMIT = 3"))
    after = {one.id for one in mutants(root, PATH)}
    assert before < after
    assert len(after - before) == 1  # OTHER = 2


def test_equal_lines_of_a_function_have_mutants_of_their_own(root):
    (root / PATH).write_text("def f(x):\n    x = x * x\n    x = x * x\n    return x\n")
    assert len({one.id for one in mutants(root, PATH)}) == 2


def test_kernels_are_run_by_the_functions_that_name_them(root):
    known = Definitions(root)
    functions, kernels = known.users(PATH, "inner")
    assert functions == {(PATH, "calls")}
    assert kernels == {(PATH, "inner"), (PATH, "outer")}, "outer holds a copy of inner"
    functions, kernels = known.users(PATH, "LIMIT")
    assert (functions, kernels) == ({(PATH, "calls")}, {(PATH, "inner"), (PATH, "outer")})
    assert known.users(PATH, "LOW,HIGH") == ({(PATH, "asks")}, set())
    assert known.users(PATH, "calls") == (set(), set())
    assert known.lines(PATH)[10] == "inner"
    assert 9 not in known.lines(PATH), "defining a function does not run it"


def test_who_uses_a_class_does_not_use_all_that_its_methods_mention(root):
    part = "class Part:\n    most = LIMIT\n    def method(self):\n        return STEP\n"
    (root / PATH).write_text(f"STEP = 1\nLIMIT = 2\n{part}def makes():\n    return Part()\n")
    known = Definitions(root)
    assert known.users(PATH, "STEP")[0] == {(PATH, "Part.method")}
    assert known.users(PATH, "LIMIT")[0] == {(PATH, "makes")}


def test_tests_that_run_it_come_first_then_others_of_their_files_within_the_time():
    def made(id_, seconds, *runs):
        return Test(id_, seconds, frozenset((PATH, name) for name in runs))

    slow, fast = made("a::slow", 3.0, "f"), made("a::fast", 1.0, "f")
    other, elsewhere = made("a::other", 0.5, "g"), made("b::test", 0.1, "g")
    endless = made("a::endless", MAX_SECONDS, "f")
    long = made("a::long", MAX_OTHER_SECONDS, "g")
    tests = [elsewhere, long, other, slow, endless, fast]
    assert choose(tests, {(PATH, "f")}) == [fast, slow, other]
    assert choose(tests, {(PATH, "h")}) == []


def forever():
    while True:
        pass


def test_a_child_that_does_not_end_is_stopped():
    assert in_child(lambda: 3, 60) == 3
    assert in_child(lambda: os.kill(os.getpid(), signal.SIGKILL) or 0, 60) == signal.SIGKILL
    assert in_child(lambda: time.sleep(600) or 0, 0.02) == TIMED_OUT, "waits for ever"
    assert in_child(forever, 1) == TIMED_OUT, "works for ever"


def test_survivors_are_tried_again_when_their_tests_change_and_all_when_the_code_does(root):
    (root / "tests").mkdir()
    (root / "tests/test_one.py").write_text("def test(): ...\n")
    session = Session.__new__(Session)
    session.digests, session.definitions = digests(root), Definitions(root)
    session.tests = [Test("tests/test_one.py::test", 0.1, frozenset({(PATH, "calls")}))]
    mutant = next(one for one in mutants(root, PATH) if one.where == "calls")
    killed = {mutant.id: [Outcome(mutant.id, session.stamp(mutant, []), "killed")]}
    survived = {mutant.id: [Outcome(mutant.id, session.stamp(mutant), "survived")]}
    assert session.is_left(mutant, {})
    assert not session.is_left(mutant, killed)
    assert not session.is_left(mutant, survived)
    (root / "tests/test_one.py").write_text("def test(): assert True\n")
    session.digests = digests(root)
    assert not session.is_left(mutant, killed)
    assert session.is_left(mutant, survived)
    assert session.latest(mutant, survived).status == "survived", "until it is tried again"
    (root / PATH).write_text(SOURCE + "\n")
    session.digests = digests(root)
    assert session.is_left(mutant, killed)
    assert session.latest(mutant, survived) is None


def test_survivors_keep_their_verdicts_and_noticed_ones_leave(root, tmp_path):
    made = mutants(root, PATH)[:4]
    sample = {"rates": made}
    status = dict(zip(made, ["survived", "killed", "untested", "timed out"], strict=True))
    results = {one.id: Outcome(one.id, "", status[one]) for one in made}
    known = {
        made[0].id: Survivor(made[0].id, "old place", "", "", "equivalent", "by symmetry"),
        made[1].id: Survivor(made[1].id, "", "", "", "missing test"),
    }
    found = survivors(sample, results, known)
    file = tmp_path / "survivors.toml"
    write_survivors(file, found)
    read = read_survivors(file)
    assert set(read) == {made[0].id, made[2].id}
    assert (read[made[0].id].verdict, read[made[0].id].reason) == ("equivalent", "by symmetry")
    assert read[made[0].id].where == f"rates/one.py:{made[0].line} {made[0].where}"
    assert read[made[2].id].verdict == "missing test"
    assert row("rates", made, results, read) == Row("rates", 4, 4, 2, 1, 0)
    assert row("rates", made, results, read).share == pytest.approx(2 / 3)


def test_an_unknown_verdict_is_refused(tmp_path):
    file = tmp_path / "survivors.toml"
    write_survivors(file, [Survivor("a", "b", "c", "d", "fine")])
    with pytest.raises(SystemExit, match="verdict of a must be one of"):
        read_survivors(file)


def test_wilson_interval_of_9_in_10():
    # z² = 3.8415; middle (0.9 + 0.19207) / 1.38415 = 0.78898;
    # half 1.96 √(0.009 + 0.0096037) / 1.38415 = 0.19313
    assert wilson(9, 10) == pytest.approx((0.59585, 0.98212), abs=1e-4)


def test_modules_weigh_as_they_have_mutants():
    """0.75 × 9/10 + 0.25 × 5/10 = 0.8."""
    share, low, high = overall([Row("a", 300, 12, 9, 2, 0), Row("b", 100, 10, 5, 0, 0)])
    assert share == pytest.approx(0.8)
    assert low < 0.8 < high


def test_only_what_is_between_the_markers_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    write_between_markers(page, "new")
    assert page.read_text() == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
