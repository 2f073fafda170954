"""Learning a score function: its truth is the replay's, and the test part has no say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from support import command, write_trace

import recrawl
from recrawl.errors import BadInput
from recrawl.evolve.formula_file import Formula, save_formula
from recrawl.evolve.presets import PRESETS
from recrawl.evolve.simulator import SimulationRun, Simulator
from recrawl.evolve.terminals import page_terminals
from recrawl.evolve.text import parse
from recrawl.lab import learn as learning
from recrawl.lab.changes import changes_of, column_of, observed_share
from recrawl.lab.learn import PARTS, EvolutionResult, learn, split_trace, thirds
from recrawl.lab.metrics import daily
from recrawl.lab.replay import replay
from recrawl.lab.trace import read_trace
from recrawl.lab.traces import open_trace
from recrawl.model import DAY, Budget
from recrawl.policies.stateless import Stateless

START = 1_767_225_600.0
SMALL = replace(PRESETS["modern"], individuals=15, generations=2)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setitem(PRESETS, "modern", SMALL)


def url(page: int) -> str:
    return f"https://h.example/{page:02}"


def rows_of(pages: dict[int, str]) -> list[tuple]:
    """A letter a day is what the page says; `.` is a day on which it is gone."""
    return [
        (url(page), day, 410 if text == "." else 200, None if text == "." else text, [])
        for page, days in pages.items()
        for day, text in enumerate(days)
        if day == 0 or text != days[day - 1]
    ]


#: Eleven days, cycles 0 to 10. Contents return, and two pages are gone for a while.
RETURNING = {
    0: "abababababa",
    1: "abaabaabaab",
    2: "aaaaaaaaaaa",
    3: "abcdefghijk",
    4: "aabbaabbaab",
    5: "aaaaabaaaaa",
    6: "abcabcabcab",
    7: "bbbbbbbbbbc",
}
GONE = {8: "aa..aabbbbb", 9: "ab.bababab."}


@pytest.mark.parametrize("formula", ["t", "t * X", "X / n + t / 10"])
def test_training_and_judging_see_the_same_truth(tmp_path, formula):
    trace = open_trace(write_trace(tmp_path / "trace", rows_of(RETURNING | GONE)))
    assert [name[-2:] for name in trace.urls] == [f"{page:02}" for page in RETURNING]
    changes = changes_of(trace)
    assert changes.contents.size  # pages say again what they said before
    run = Simulator(changes, 3, seed=4).run(parse(formula, ("n", "X", "t")))
    save_formula(Formula(parse(formula, ("n", "X", "t"))), tmp_path / "policy.json")
    judged = daily(trace, replay(trace, str(tmp_path / "policy.json"), Budget(fetches=3), seed=4))
    assert run.changed.tolist() == judged.changed.tolist()
    assert run.freshness.tolist() == judged.fresh.tolist()
    # A truth of bits alone is another one: it counts what came and went as a change.
    bits = Simulator(replace(changes, contents=np.empty((0, 0), np.uint16)), 3, seed=4)
    assert bits.run(parse(formula, ("n", "X", "t"))).changed.sum() > run.changed.sum()


def test_a_visit_misses_what_came_and_went(tmp_path):
    trace = open_trace(write_trace(tmp_path, rows_of({0: "aaabaaaaaaa", 1: "aaaaaaaaaaa"})))
    simulator = Simulator(changes_of(trace), 1, ties="id")
    run = simulator.run(parse("t", ("t",)), keep=True)
    # By age, ties to the first: pages 0, 1, 0, 1, …. Page 0 differs in cycle 3 from its copy of
    # cycle 2, and in cycle 5 from that of 3; cycle 4 would have shown nothing else.
    assert run.picks[:, 0].tolist() == [0, 1, 0, 1, 0, 1, 0, 1]
    assert run.changed.tolist() == [1, 0, 1, 0, 0, 0, 0, 0]


def test_pages_that_were_gone_take_no_part(tmp_path):
    both = write_trace(tmp_path / "both", rows_of(RETURNING | GONE))
    only = write_trace(tmp_path / "only", rows_of(RETURNING))
    opened = learn(open_trace(only), budget="30%")
    assert learn(open_trace(both), budget="30%").scores == opened.scores
    assert learn(read_trace(both), budget="30%").scores == opened.scores
    with pytest.raises(BadInput, match="exist throughout"):
        changes_of(read_trace(both))


def sized_trace(folder):
    rows = [
        (url(0), 0, 200, "aé", []),
        (url(0), 3, 200, "abcdefgh", []),
        (url(1), 0, 200, "bb", []),
    ]
    return open_trace(write_trace(folder, [*rows, (url(1), 5, 200, "", [])]))


def test_bytes_is_the_size_of_the_copy_in_training_replay_and_store(tmp_path):
    """aé has 3 bytes in UTF-8, abcdefgh 8, bb 2 and the empty text 0."""
    trace = sized_trace(tmp_path / "trace")
    by_cycle = column_of(trace, "bytes")
    assert by_cycle.tolist() == [[3, 3, 3] + [8] * 8, [2, 2, 2, 2, 2] + [0] * 6]

    seen = []

    class Spy(Stateless):
        name = "spy"

        def score(self, pages, now):
            seen.append(page_terminals(("bytes",), pages, now, cycle_days=1.0)[0].tolist())
            return np.array([1.0, 0.0])  # visits page 0 only

    replay(trace, Spy(), Budget(fetches=1))
    # Warm-up ends in cycle 2; page 0 is then visited in every cycle, page 1 never again.
    assert seen == [[3, 2]] + [[8, 2]] * 7
    simulator = Simulator(changes_of(trace), 1, columns={"bytes": by_cycle})
    picks = simulator.run(parse("bytes", ("bytes",)), keep=True).picks[:, 0]
    assert picks.tolist() == [0] * 8  # 3 > 2, then 8 > 2

    with recrawl.open(tmp_path / "store", create=True) as store:
        store.append(
            sizes_seen([(0, 0, 3, 200), (1, 0, 2, 200), (0, 4, 8, 200), (0, 5, None, 304)])
        )
        pages = store.pages()
        terminals = page_terminals(("bytes",), pages, START + 6 * DAY, cycle_days=1.0)
        assert sorted(terminals[0].tolist()) == [2, 8]
    with pytest.raises(BadInput, match="knows only bytes"):
        column_of(trace, "seconds")


def sizes_seen(rows):
    """Visits of (page, day, bytes, status); the digest is the size."""
    page, day, size, status = zip(*rows, strict=True)
    at = [int((START + each * DAY) * 1e6) for each in day]
    return pa.table(
        {
            "url": [url(each) for each in page],
            "at": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
            "status": pa.array(status, pa.int16()),
            "bytes": pa.array(size, pa.int64()),
            "digest": pa.array(size, pa.uint64()),
            "digest_of": ["text"] * len(page),
        }
    )


def test_a_store_trains_on_the_sizes_that_it_recorded(tmp_path):
    visits = [(0, day, 3 if day < 4 else 9, 200) for day in range(8)]
    visits += [(1, day, 5, 200) for day in range(8)]
    with recrawl.open(tmp_path / "store", create=True) as store:
        store.append(sizes_seen(visits))
    trace = open_trace(tmp_path / "store")
    assert column_of(trace, "bytes").tolist() == [[3] * 4 + [9] * 4, [5] * 8]
    (tmp_path / "bits.txt").write_text("0101\n" * 9)
    with pytest.raises(BadInput, match="leave bytes out"):
        learn(open_trace(tmp_path / "bits.txt"), terminals=("bytes",))


def test_how_much_of_the_truth_a_store_knows(tmp_path):
    # Cycles 0 to 9. Page 0 is seen daily: all ten are known. Page 1 is seen on days 0, 4 and 9 and
    # differs on day 9: 0 to 4 are known, 5 to 8 are not, 9 is. Together 16 of 20.
    visits = [(0, day, 3, 200) for day in range(10)]
    visits += [(1, 0, 5, 200), (1, 4, 5, 200), (1, 9, 6, 200)]
    with recrawl.open(tmp_path / "store", create=True) as store:
        store.append(sizes_seen(visits))
    trace = open_trace(tmp_path / "store")
    assert observed_share(trace) == pytest.approx(16 / 20)
    more = [(page, day, 3 + day // 9, 200) for page in range(2, 8) for day in (0, 9)]
    with recrawl.open(tmp_path / "store") as store:
        store.append(sizes_seen(more))
    # Six more pages, each known on days 0 and 9 only: (16 + 6 · 2) of 80.
    done = command("evolve", tmp_path / "store", "-o", tmp_path / "p.json", "--budget", "30%")
    assert done.returncode == 0, done.stderr
    assert "known for 35.0% of the pages and cycles" in done.stderr


def bits_trace(folder, pages=60, days=24, seed=3):
    random = np.random.default_rng(seed)
    chance = random.choice([0.05, 0.3, 0.9], (pages, 1))
    lines = (random.random((pages, days)) < chance).astype(int)
    folder.mkdir(exist_ok=True)
    (folder / "bits.txt").write_text("".join("".join(map(str, line)) + "\n" for line in lines))
    return folder


@pytest.mark.parametrize("split", ["pages", "time"])
def test_no_page_is_in_two_parts(tmp_path, split):
    trace = open_trace(bits_trace(tmp_path))
    parts = split_trace(trace, split, every=DAY, seed=1)
    names = [set(parts[part].urls) for part in PARTS]
    assert set.union(*names) == set(trace.urls)
    assert sum(map(len, names)) == len(trace)
    assert list(map(len, names)) == ([36, 12, 12] if split == "time" else [24, 24, 12])


def test_thirds_follow_each_other():
    assert thirds((0.0, 90.0), 10.0) == [(0, 30), (30, 60), (60, 90)]
    assert thirds((5.0, 45.0), 10.0) == [(5, 15), (15, 35), (35, 45)]  # of 1, 2 and 1 cycles
    assert thirds((0.0, 39.0), 10.0)[-1] == (20, 39)  # what is over stays with the last
    with pytest.raises(BadInput, match="at least 3 cycles"):
        thirds((0.0, 29.0), 10.0)


def change(trace, mask):
    """The trace with other contents at these versions: all equal, so that nothing changes."""
    return replace(trace, content=np.where(mask, np.uint64(7), trace.content))


@pytest.mark.parametrize("split", ["pages", "time"])
def test_the_test_part_has_no_say(tmp_path, split):
    trace = open_trace(bits_trace(tmp_path))
    parts = split_trace(trace, split, every=DAY, seed=0)
    untold = np.isin(np.array(trace.urls)[trace.page], parts["test"].urls)
    if split == "time":  # nor has any page in the last third
        untold |= trace.valid_from > parts["validation"].window[1]
    other = change(trace, untold)
    settings = {"split": split, "budget": "20%", "seeds": 2, "select": "avg"}
    one, two = learn(trace, **settings), learn(other, **settings)
    assert one.formula.expression.key() == two.formula.expression.key()
    assert one.by_seed == two.by_seed
    for part in ("train", "validation"):
        assert one.scores[part] == two.scores[part]
    assert one.scores["test"] != two.scores["test"]


def test_the_validation_part_breeds_nothing(tmp_path):
    trace = open_trace(bits_trace(tmp_path))
    parts = split_trace(trace, "time", every=DAY, seed=0)
    untold = trace.valid_from > parts["train"].window[1]
    settings = {"split": "time", "budget": "20%", "select": "best"}
    one, two = learn(trace, **settings), learn(change(trace, untold), **settings)
    assert one.formula.expression.key() == two.formula.expression.key()
    assert one.scores["train"] == two.scores["train"]
    assert one.scores["validation"] != two.scores["validation"]


def test_more_seeds_choose_among_all_that_were_bred(tmp_path):
    trace = open_trace(bits_trace(tmp_path))
    reports = []
    both = learn(
        trace,
        budget="20%",
        select="best",
        seed=5,
        seeds=2,
        progress=lambda *report: reports.append(report[:2]),
    )
    alone = [row["train"] for row in both.by_seed]
    assert [row["seed"] for row in both.by_seed] == [5, 6]
    assert both.scores["train"] >= max(alone) - SMALL.parsimony * 40
    assert reports == [(1, 4), (2, 4), (3, 4), (4, 4)]
    # Seed 6 breeds the same on the pages of seed 5's split, whoever goes before it.
    formulas = [row["formula"] for row in both.by_seed]
    assert learn(trace, budget="20%", select="best", seed=5).by_seed[0]["formula"] == formulas[0]
    assert both.formula.made["seeds"] == 2
    with pytest.raises(BadInput, match="seeds"):
        learn(trace, seeds=0)


def test_each_run_has_a_seed_of_its_own(tmp_path, monkeypatch):
    bred = []

    def spy(world, *rest, seed, **options):
        bred.append((seed, world.seed))
        return evolve(world, *rest, seed=seed, **options)

    evolve = learning.evolve
    monkeypatch.setattr(learning, "evolve", spy)
    learn(open_trace(bits_trace(tmp_path)), budget="20%", seed=5, seeds=3)
    assert bred == [(5, 5), (6, 5), (7, 5)]  # the split and the ties are those of the first


def test_parts_share_a_budget_of_fetches(tmp_path):
    """Of 60 pages and 20 fetches, 24 pages get 8 and 12 pages 4; of 20 %, 4.8 and 2.4, less."""
    trace = open_trace(bits_trace(tmp_path))
    parts = split_trace(trace, "pages", every=DAY, seed=0)
    for budget, expected in (("20", [8, 8, 4]), ("20%", [4, 4, 2])):
        factory = learning.SimulatorFactory(60, ("t",), (), budget, DAY, 2, 0.0, 0)
        assert [factory.of(parts[part]).fetches for part in PARTS] == expected


def test_a_pool_of_runs_with_two_measures_is_their_front(tmp_path):
    trace = open_trace(bits_trace(tmp_path))
    result = learn(trace, budget="20%", pareto=True, seeds=2)
    assert result.front
    assert len({formula for formula, _, _ in result.front}) == len(result.front)


def test_ncg_by_hand():
    # 2 found of 5 with 3 fetches: 2 / 3. Both of 2: 1. Nothing to find: 1. None of 1: 0. 1 of 2.
    run = SimulationRun(
        changed=np.array([2.0, 2.0, 0.0, 0.0, 1.0]),
        stale=np.array([3.0, 0.0, 0.0, 1.0, 1.0]),  # after the fetches
        ndcg=np.empty(0),
        links=np.empty(0),
        picks=np.empty((0, 3), np.int32),
        fetches=3,
        pages=10,
    )
    assert run.ncg.tolist() == [2 / 3, 1.0, 1.0, 0.0, 0.5]
    assert learning.parse_fitness("ncg").by_cycle(run).tolist() == run.ncg.tolist()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--pareto", "--fitness", "ndcg"], "pareto seeks"),
        (["--pareto", "--select", "avg"], "pareto seeks"),
        (["--every", "0d"], "every, the length of a cycle, must be at least a second"),
        (["--split", "time", "--warm-up", "8"], "warm_up must leave"),
        (["--impute"], "impute is for a store"),
        (["--budget", "0"], "budget must allow a fetch"),
        (["--budget", "2"], "budget must allow a fetch"),  # of 60 pages: 0.4 for the test pages
        (["--split", "time", "--every", "12d"], "at least 3 cycles"),
    ],
)
def test_what_evolve_refuses(tmp_path, arguments, says):
    bits_trace(tmp_path)
    done = command("evolve", tmp_path, "-o", tmp_path / "policy.json", *arguments)
    assert done.returncode == 1
    assert says in done.stderr.replace("\n", " ")
    assert not (tmp_path / "policy.json").exists()


def test_the_output_is_checked_before_anything_is_bred(tmp_path, monkeypatch):
    monkeypatch.setattr("recrawl.lab.commands.learn", lambda *_, **__: pytest.fail("it bred"))
    bits_trace(tmp_path)
    for out, says in ((tmp_path, "is a folder"), (tmp_path / "no" / "p.json", "make it")):
        done = command("evolve", tmp_path, "-o", out)
        assert done.returncode == 1
        assert says in done.stderr.replace("\n", " ")


def test_a_formula_that_loses_to_one_without_learning_is_not_handed_out(tmp_path):
    bits_trace(tmp_path)
    out = tmp_path / "policy.json"
    done = command("evolve", tmp_path, "-o", out, "--terminals", "n")
    assert done.returncode == 1
    assert not out.exists()
    ours, known, oldest = (line.split() for line in done.stdout.splitlines()[-3:])
    assert (ours[:2], known[:3], oldest[0]) == (["this", "formula"], ["t", "*", "X"], "t")
    assert float(ours[-1]) < max(float(known[-1]), float(oldest[-1]))
    assert "no policy was written" in done.stderr.replace("\n", " ")
    anyway = command("evolve", tmp_path, "-o", out, "--terminals", "n", "--anyway")
    assert anyway.returncode == 0
    assert anyway.stdout == done.stdout
    assert out.exists()


@pytest.mark.parametrize(
    ("ours", "known", "oldest", "loses"),
    [(0.5, 0.5, 0.5, False), (0.5, 0.6, 0.1, True), (0.5, 0.1, 0.6, True), (0.5, 0.4, 0.4, False)],
)
def test_a_formula_loses_by_its_test_score_alone(ours, known, oldest, loses):
    formula = Formula(parse("n", ("n",)), 1.0, {})
    parts = [{"train": 1.0 - x, "validation": 1.0 - x, "test": x} for x in (ours, known, oldest)]
    assert EvolutionResult(formula, *parts).loses == loses


def test_evolve_with_seeds_and_thirds(tmp_path):
    bits_trace(tmp_path)
    out = tmp_path / "policy.json"
    done = command(
        "evolve",
        tmp_path,
        "-o",
        out,
        "--seeds",
        2,
        "--split",
        "time",
        "--fitness",
        "ncg",
        "--anyway",
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[-3:]] == ["seed", "0", "1"]
    assert '"split": "time"' in out.read_text()
