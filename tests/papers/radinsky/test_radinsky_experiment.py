"""The experiment on related pages: in worlds of known truth it finds the truth, and it goes on."""

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
from recrawl.papers.radinsky.data import Protocol, prepare
from recrawl.papers.radinsky.experiment import radinsky
from recrawl.papers.radinsky.features import page_features, unigram_products
from recrawl.papers.radinsky.tables import measure, tables
from recrawl.registry import make

WORLD = "leaders:mean=0.16,shape=20,again=0.8,followers=15"
SMALL = Protocol(alpha=0.1, n=30, k=10, days=30, detector="digest")


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("worlds")
    for follow in ("true", "false"):
        made = make("world", f"{WORLD},follow={follow}").make(pages=64, days=75, seed=3)
        write(made, folder / follow)
    return {follow: read_trace(folder / follow) for follow in ("true", "false")}


@pytest.fixture(scope="module")
def found(traces, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    done = {follow: radinsky(trace, folder, SMALL) for follow, trace in traces.items()}
    told = []
    again = radinsky(traces["true"], folder, SMALL, progress=lambda *news: told.append(news))
    assert told == [(7, 7, "")]  # nothing was done twice
    for name, said in done["true"].said.items():
        np.testing.assert_array_equal(again.said[name], said)
    return done


def gain(found, ours, theirs):
    ours, theirs = (measure(found.said[name], found.truth).accuracy for name in (ours, theirs))
    return fold_test(ours, theirs)


def test_where_pages_follow_others_these_tell(found):
    for ours, theirs in (("correlation", "2D"), ("2D", "1D")):
        test = gain(found["true"], ours, theirs)
        assert test.mean > 0, (ours, theirs)
        assert test.p < 0.05, (ours, theirs)


def test_where_nobody_is_followed_others_tell_nothing(found):
    for way in ("correlation", "warping", "content", "graph"):
        test = gain(found["false"], way, "2D")
        assert test.mean <= 0 or test.p > 0.05, way


def test_what_comes_after_the_first_day_foretold_moves_nothing_before(traces, tmp_path):
    """Related pages and features are the same whatever texts, links and words are to come."""
    kept = Protocol(alpha=0.0, n=40, k=16, days=30, detector="digest", words=60)
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
    assert (after.snapshots.counts[after.snapshots.last()].sum(axis=1) == 0).any()  # it is other
    for way, near in before.related.items():
        np.testing.assert_array_equal(after.related[way].row, near.row, err_msg=way)
        np.testing.assert_array_equal(after.related[way].weight, near.weight, err_msg=way)
    for one, other in zip(before.pages, after.pages, strict=True):
        np.testing.assert_array_equal(page_features(one)[:first], page_features(other)[:first])
        early = np.s_[:first, :first]
        np.testing.assert_array_equal(unigram_products(one)[early], unigram_products(other)[early])


def test_the_tables(found):
    text = tables(found["true"])
    for said in ("Table 1", "54.84%", "72.72%", "67.27%", "63.58%", "1D, majority", "AUC"):
        assert said in text
    assert re.search(r"^\d+ of 64 pages flip on 10% of the days or more; \d+ taken", text)


def troubled(folder):
    """Empty, of one word, identical twice, vanishing, changing daily, never. None has links."""
    said = {
        "a": lambda day: "",
        "b": lambda day: "word",
        "c": lambda day: f"red green w{day // 3}",
        "d": lambda day: f"red green w{day // 3}",
        "e": lambda day: f"red blue w{day // 2}",
        "f": lambda day: f"green sky w{day}",
        "g": lambda day: "green and blue",
    }
    rows = [(f"https://x.org/{page}", day, 410 if page == "e" and day > 27 else 200, text(day))
            for page, text in said.items() for day in range(42)]  # fmt: skip
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


def test_pages_that_make_trouble(tmp_path):
    given = Protocol(alpha=0.0, n=20, k=20, days=15, detector="digest")
    found = radinsky(troubled(tmp_path / "trace"), tmp_path / "kept", given)
    for name, said in found.said.items():
        assert said.shape == (7, 15), name
        assert (np.nan_to_num(said[[0, 1, 6]], nan=-1.0) < 0).all(), name  # never a change
        assert (said[5] > 0).all(), name  # always one
        np.testing.assert_array_equal(said[2], said[3], err_msg=name)  # identical pages
    # Without links a page is its own only expert, and fewer than k are no trouble.
    alone = np.nan_to_num(found.said["2D"], nan=-1.0) > 0
    np.testing.assert_array_equal(found.said["graph"] > 0, alone)
    assert np.isnan(found.truth[4, 2:]).all()  # what has vanished is not foretold
    right = measure(found.said["2D"], found.truth).accuracy
    assert np.isfinite(right).all()
    assert right[[0, 1, 5, 6]].tolist() == [1.0] * 4
    assert "7 of 7 pages may be taken; 7 taken" in tables(found)


@pytest.mark.parametrize("policy", ["content", "experts", "coin:by=experts"])
def test_policies_crawl_pages_that_make_trouble(policy, tmp_path):
    trace = troubled(tmp_path / "trace")
    cycles = replay(trace, policy, Budget(share=0.5))
    assert set(cycles.page) == set(range(7))
    said, _ = claims(trace, cycles)
    assert ((said >= 0) & (said <= 1)).all()


def test_too_few_days_or_pages(traces):
    with pytest.raises(BadInput, match=r"must have n \+ days \+ ahead = 111 days. Got 75"):
        prepare(traces["true"], Protocol(detector="digest"))
    with pytest.raises(BadInput, match="give a smaller --alpha"):
        prepare(traces["true"], Protocol(alpha=0.9, n=40, days=30, detector="digest"))
    with pytest.raises(BadInput, match="k must be 1 or more"):
        Protocol(k=0)
    with pytest.raises(BadInput, match="alpha must be from 0 to 1"):
        Protocol(alpha=3)


def test_the_command(traces, tmp_path):
    trace = str(traces["true"].file.parent)
    options = ["--pages=6", "--alpha=0.1", "--n=20", "--k=3", "--days=5", "--detector=digest"]
    folder = ["--out", str(tmp_path / "kept"), "--report", str(tmp_path / "report.md")]
    done = CliRunner().invoke(app, ["paper", "radinsky", trace, *options, *folder])
    assert done.exit_code == 0, done.output
    assert "6 taken" in done.output
    assert (tmp_path / "report.md").read_text() in done.output + "\n"
    assert done.output.count("cross-correlation") == 1
