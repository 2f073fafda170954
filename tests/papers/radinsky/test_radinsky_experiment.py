"""The experiment in worlds of known truth: it finds the truth, and continues if interrupted."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from recrawl.cli import app
from recrawl.errors import BadInput
from recrawl.lab.metrics import claims
from recrawl.lab.replay import replay
from recrawl.lab.statistics import fold_test
from recrawl.lab.trace import read_trace
from recrawl.lab.worlds import write
from recrawl.model import DAY, Budget
from recrawl.papers.radinsky.data import PredictionProtocol, prepare
from recrawl.papers.radinsky.experiment import predict_changes
from recrawl.papers.radinsky.features import page_features, unigram_products
from recrawl.papers.radinsky.tables import measure, tables
from recrawl.registry import make

WORLD = "leaders:mean=0.16,shape=20,again=0.8,followers=15"
SMALL = PredictionProtocol(alpha=0.1, n=30, k=10, days=30, detector="digest")


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("worlds")
    for follow in ("true", "false"):
        made = make("world", f"{WORLD},follow={follow}").make(pages=64, days=75, seed=3)
        write(made, folder / follow)
    return {follow: read_trace(folder / follow) for follow in ("true", "false")}


@pytest.fixture(scope="module")
def predictions(traces, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    first = {follow: predict_changes(trace, folder, SMALL) for follow, trace in traces.items()}
    reports = []
    again = predict_changes(
        traces["true"], folder, SMALL, progress=lambda *report: reports.append(report)
    )
    assert reports == [(7, 7, "")]  # nothing was done twice
    for name, decisions in first["true"].decisions.items():
        np.testing.assert_array_equal(again.decisions[name], decisions)
    return first


def gain(predictions, method, baseline):
    truth = predictions.truth
    accuracy = (measure(predictions.decisions[name], truth).accuracy for name in (method, baseline))
    return fold_test(*accuracy)


def test_experts_help_where_pages_follow_others(predictions):
    for method, baseline in (("correlation", "2D"), ("2D", "1D")):
        test = gain(predictions["true"], method, baseline)
        assert test.mean > 0, (method, baseline)
        assert test.p < 0.05, (method, baseline)


def test_experts_do_not_help_where_pages_follow_none(predictions):
    for selection in ("correlation", "warping", "content", "graph"):
        test = gain(predictions["false"], selection, "2D")
        assert test.mean <= 0 or test.p > 0.05, selection


def test_data_before_the_first_prediction_does_not_depend_on_later_days(traces, tmp_path):
    """Related pages and features stay the same if later texts, links and words differ."""
    kept = PredictionProtocol(alpha=0.0, n=40, k=16, days=30, detector="digest", words=60)
    before = prepare(traces["true"], kept)
    first = before.setup.first
    table = pq.read_table(traces["true"].file)
    begin = traces["true"].window[1] - (before.changed.shape[1] - first) * DAY
    late = np.array([at.timestamp() > begin for at in table["valid_from"].to_pylist()])
    texts = np.where(late, "quite other words, all of them", table["text"].to_pylist())
    links = [[table["url"][0].as_py()] if new else old
             for new, old in zip(late, table["links"].to_pylist(), strict=True)]  # fmt: skip
    for name, values in (("text", texts), ("links", links)):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, pa.array(values, table.schema.field(name).type))
    pq.write_table(table, tmp_path / "versions.parquet")
    after = prepare(read_trace(tmp_path, window=traces["true"].window), kept)
    assert (
        after.snapshots.counts[after.snapshots.last()].sum(axis=1) == 0
    ).any()  # the texts do differ
    for selection, near in before.related.items():
        np.testing.assert_array_equal(after.related[selection].row, near.row, err_msg=selection)
        np.testing.assert_array_equal(
            after.related[selection].weight, near.weight, err_msg=selection
        )
    np.testing.assert_array_equal(after.page, before.page)
    for row in range(len(before.page)):
        one, other = before.days(row), after.days(row)
        np.testing.assert_array_equal(page_features(one)[:first], page_features(other)[:first])
        early = np.s_[:first, :first]
        np.testing.assert_array_equal(unigram_products(one)[early], unigram_products(other)[early])


def test_the_tables(predictions):
    text = tables(predictions["true"])
    for part in ("Table 1", "54.84%", "72.72%", "67.27%", "63.58%", "1D, majority", "AUC"):
        assert part in text
    assert re.search(r"^\d+ of 64 pages flip on 10% of the days or more; \d+ taken", text)


def hard_trace(folder):
    """Pages empty, of one word, two identical, vanishing, changing daily, never. No links."""
    text_by_day = {
        "a": lambda day: "",
        "b": lambda day: "word",
        "c": lambda day: f"red green w{day // 3}",
        "d": lambda day: f"red green w{day // 3}",
        "e": lambda day: f"red blue w{day // 2}",
        "f": lambda day: f"green sky w{day}",
        "g": lambda day: "green and blue",
    }
    rows = [(f"https://x.org/{page}", day, 410 if page == "e" and day > 27 else 200, text(day))
            for page, text in text_by_day.items() for day in range(42)]  # fmt: skip
    url, day, status, text = zip(*rows, strict=True)
    table = {
        "url": url,
        "valid_from": pa.array([d * 86_400 for d in day], pa.timestamp("s", tz="UTC")),
        "status": status,
        "text": text,
        "links": pa.array([[]] * len(rows), pa.list_(pa.string())),
    }
    folder.mkdir()
    pq.write_table(pa.table(table), folder / "versions.parquet")
    return read_trace(folder, window=(0.0, 40 * DAY))


def test_hard_pages(tmp_path):
    given = PredictionProtocol(alpha=0.0, n=20, k=20, days=15, detector="digest")
    result = predict_changes(hard_trace(tmp_path / "trace"), tmp_path / "results", given)
    for name, decisions in result.decisions.items():
        assert decisions.shape == (7, 15), name
        assert (np.nan_to_num(decisions[[0, 1, 6]], nan=-1.0) < 0).all(), name  # never a change
        assert (decisions[5] > 0).all(), name  # always one
        np.testing.assert_array_equal(decisions[2], decisions[3], err_msg=name)  # identical pages
    # Without links a page is its own only expert.
    alone = np.nan_to_num(result.decisions["2D"], nan=-1.0) > 0
    np.testing.assert_array_equal(result.decisions["graph"] > 0, alone)
    assert np.isnan(result.truth[4, 2:]).all()  # a page that vanished is not predicted
    accuracy = measure(result.decisions["2D"], result.truth).accuracy
    assert np.isfinite(accuracy).all()
    assert accuracy[[0, 1, 5, 6]].tolist() == [1.0] * 4
    assert "7 of 7 pages may be taken; 7 taken as targets" in tables(result)


@pytest.mark.parametrize("policy", ["content", "experts", "coin:by=experts"])
def test_policies_crawl_hard_pages(policy, tmp_path):
    trace = hard_trace(tmp_path / "trace")
    cycles = replay(trace, policy, Budget(share=0.5))
    assert set(cycles.page) == set(range(7))
    p, _ = claims(trace, cycles)
    assert ((p >= 0) & (p <= 1)).all()


def test_too_few_days_or_pages(traces):
    with pytest.raises(BadInput, match=r"must have n \+ days \+ ahead = 111 days. Got 75"):
        prepare(traces["true"], PredictionProtocol(detector="digest"))
    with pytest.raises(BadInput, match="give a smaller --alpha"):
        prepare(traces["true"], PredictionProtocol(alpha=0.9, n=40, days=30, detector="digest"))
    with pytest.raises(BadInput, match="k must be 1 or more"):
        PredictionProtocol(k=0)
    with pytest.raises(BadInput, match="alpha must be from 0 to 1"):
        PredictionProtocol(alpha=3)


def test_the_command(traces, tmp_path):
    trace = str(traces["true"].file.parent)
    options = [
        "--pages=6",
        "--alpha=0.1",
        "--n=20",
        "--k=3",
        "--days=5",
        "--detector=digest",
        "--experts=2",
    ]
    folder = ["--out", str(tmp_path / "kept"), "--report", str(tmp_path / "report.md")]
    done = CliRunner().invoke(app, ["paper", "radinsky", trace, *options, *folder])
    assert done.exit_code == 0, done.output
    assert "6 taken as targets" in done.output
    assert (tmp_path / "report.md").read_text() in done.output + "\n"
    assert done.output.count("cross-correlation") == 3  # Table 3, and two targets


def test_experts_come_from_all_pages_however_few_are_targets(traces):
    """`pages` draws targets only: each of them has the experts it has when all are targets."""
    from dataclasses import replace

    few = prepare(traces["true"], replace(SMALL, alpha=0.0, pages=4))
    every = prepare(traces["true"], replace(SMALL, alpha=0.0, pages=64))
    assert len(few.target) == 4
    assert every.page[every.target].tolist() == list(range(64))
    for selection, near in few.related.items():
        page = np.where(near.row >= 0, few.page[near.row], -1)
        other = every.related[selection]
        place = few.page[few.target]  # row of the page where all are targets
        expected = np.where(other.row >= 0, every.page[other.row], -1)[place]
        np.testing.assert_array_equal(page, expected, err_msg=selection)
        np.testing.assert_array_equal(near.weight, other.weight[place], err_msg=selection)
        assert not np.isin(page[page >= 0], place).all(), selection
    np.testing.assert_array_equal(few.truth, every.truth[few.page[few.target]])
    kept = np.concatenate([few.target, *(near.row[near.row >= 0] for near in few.related.values())])
    assert set(kept.tolist()) == set(range(len(few.page)))  # nothing is kept of other pages
    assert len(few.snapshots.copy) == len(few.changed) == len(few.page) < 64
