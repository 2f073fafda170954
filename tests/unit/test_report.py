"""The report holds what was found, stands alone, and lets no name become markup."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib as mpl
import pytest
from typer.testing import CliRunner

from recrawl import registry
from recrawl.cli import app
from recrawl.lab.compare import compare
from recrawl.lab.report import write_report
from recrawl.lab.trace import read_trace
from recrawl.lab.worlds import write

POLICIES = ["poisson", "tx", "random"]
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Tags that must nest, what is fetched, ids, and the text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.fetched, self.ids, self.tags, self.said = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.fetched += [v for k, v in attrs if k in ("src", "href", "xlink:href", "srcset")]
        self.ids += [v for k, v in attrs if k == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append(data)

    @property
    def text(self):
        return " ".join("".join(self.said).replace("\N{NO-BREAK SPACE}", " ").split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world") / "small"
    write(registry.make("world", "poisson").make(pages=60, days=30, seed=1), folder)
    return folder


@pytest.fixture(scope="module")
def found(folder):
    return compare([read_trace(folder)], POLICIES, ["5%", "10"])


def report(found, tmp_path, **more):
    write_report(found, tmp_path / "report.html", **more)
    return (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.slow
def test_page_parses_and_holds_every_policy(found, tmp_path):
    page = Page(report(found, tmp_path, title="Small & plain"))
    assert page.open == []
    assert page.text.startswith("Small & plain")
    for policy in ["oldest", *POLICIES]:
        assert policy in page.text
    assert page.tags.count("table") == 2
    assert (
        page.tags.count("figure") == 9
    )  # two curves and a calibration a budget, two frontiers, a histogram
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.slow
def test_nothing_is_fetched_or_run(found, tmp_path):
    text = report(found, tmp_path)
    page = Page(text)
    assert all(target.startswith("#") for target in page.fetched)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not re.findall(r"@import|url\((?!#)", text)
    # What is left of http are names of XML languages, which nobody fetches.
    assert set(re.findall(r'([\w:]+)="http', text)) <= {"xmlns", "xmlns:xlink"}


@pytest.mark.slow
def test_sentence_is_made_of_the_numbers(found, tmp_path):
    text = Page(report(found, tmp_path)).text
    runs = {run["policy"]: run for run in found.runs if run["budget"] == "5%"}
    best = max(runs.values(), key=lambda run: run["change_ratio"])
    assert "With 5 % of 60 pages a cycle, " in text
    assert best["policy"] != "oldest"
    assert f"{100 * best['change_ratio']:.0f} % of the fetches of {best['policy']}" in text
    assert f"oldest-first {100 * runs['oldest']['change_ratio']:.0f} %" in text
    assert (
        f"no schedule more than {100 * found.bounds['small']['5%']['change_ratio']:.0f} %" in text
    )


@pytest.mark.slow
def test_oldest_first_alone(folder, tmp_path):
    page = Page(report(compare([read_trace(folder)], [], ["5%"]), tmp_path))
    assert "no policy here finds more than oldest-first" in page.text
    assert page.tags.count("figure") == 4


@pytest.mark.slow
@pytest.mark.parametrize("budget", ["0", "0%", "100%"])
def test_budgets_at_the_edge(folder, tmp_path, budget):
    page = Page(report(compare([read_trace(folder)], ["poisson"], [budget, "5%"]), tmp_path))
    assert "nan" not in page.text


@pytest.mark.slow
@pytest.mark.parametrize("warm_up", [28, 29])
def test_too_few_cycles_have_no_interval(folder, tmp_path, warm_up):
    few = compare([read_trace(folder)], ["poisson"], ["5%"], warm_up=warm_up)
    assert "nan" not in Page(report(few, tmp_path)).text


@pytest.mark.slow
def test_names_are_escaped(found, tmp_path):
    evil = "<script>alert('&')</script>\"$x$"
    as_evil = {"poisson": evil}
    runs = [
        run | {"policy": as_evil.get(run["policy"], run["policy"]), "trace": evil}
        for run in found.runs
    ]
    renamed = {"bounds": {evil: found.bounds["small"]}, "rates": {evil: found.rates["small"]}}
    starving = [replace(d, starved=[evil]) for d in found.details]
    text = report(replace(found, runs=runs, details=starving, **renamed), tmp_path, title=evil)
    page = Page(text)
    assert "<script" not in text
    assert page.open == []
    assert evil in page.text


@pytest.mark.slow
def test_same_comparison_same_bytes_and_no_traces_left(found, tmp_path):
    before = dict(mpl.rcParams)
    assert report(found, tmp_path) == report(found, tmp_path)
    assert dict(mpl.rcParams) == before


@pytest.mark.slow
def test_three_traces_three_budgets_six_policies_stay_small(found, tmp_path):
    """Each table with the curves of six policies over 300 cycles costs well under a ninth of 1 MB."""
    long = [
        replace(d, daily=replace(d.daily, **{k: v.repeat(12) for k, v in vars(d.daily).items()}))
        for d in found.details
    ]
    runs, details = [], []
    for budget in ("5%", "10"):
        mine = [i for i, run in enumerate(found.runs) if run["budget"] == budget]
        for number in range(6):
            source = mine[number % len(mine)]
            name = found.runs[source]["policy"]
            runs.append(found.runs[source] | {"policy": name if number < 4 else f"{name}-{number}"})
            details.append(long[source])
    text = report(replace(found, runs=runs, details=details), tmp_path)
    assert len(text) < 2 * 1_000_000 / 9


@pytest.mark.slow
def test_it_says_what_is_not_known_and_whom_a_policy_starves(found, tmp_path):
    unsure = replace(found, runs=[run | {"known": 0.25} for run in found.runs])
    assert "25 % are known" in Page(report(unsure, tmp_path)).text
    assert "are known" not in Page(report(found, tmp_path)).text
    [starving] = [
        d
        for r, d in zip(found.runs, found.details, strict=True)
        if (r["policy"], r["budget"]) == ("tx", "5%")
    ]
    assert starving.starved
    assert starving.starved[0] in Page(report(found, tmp_path)).text


@pytest.mark.slow
def test_replay_writes_it(folder, tmp_path):
    file = tmp_path / "out.html"
    done = CliRunner().invoke(app, ["replay", str(folder), "--budget", "5%", "--report", str(file)])
    assert done.exit_code == 0, done.output
    assert "auto" in Page(file.read_text("utf-8")).text
    assert f"The report is {file}." in done.stderr
