"""What explain says, state by state."""

from __future__ import annotations

import re

import pytest

from recrawl.errors import BadInput
from recrawl.model import DAY, Budget
from recrawl.planner import Rule, explain, load_rules, plan

NOW = 1_767_225_600 + 30 * DAY
H = "https://h.example/"


@pytest.fixture
def crawl(store, visits):
    """Ten pages of one host, the later ones changing more often, and one of another that fails."""
    rows = [
        (f"{H}{p}", day, day * (day // 2 % 10 < p)) for p in range(10) for day in range(0, 30, 2)
    ]
    fails = [("https://bad.example/", day, None, {"status": 500}) for day in range(26, 30)]
    store.append(visits(*rows, *fails))
    return store


def verdict(crawl, url, budget, **arguments):
    return explain(crawl, crawl.page_id(url), budget, now=NOW, **arguments).verdict


def test_an_unknown_or_missing_option_is_an_error(crawl):
    with pytest.raises(TypeError, match="polcy"):
        explain(crawl, f"{H}9", 2, now=NOW, polcy="oldest")
    with pytest.raises(TypeError, match="now"):
        explain(crawl, f"{H}9", 2)


@pytest.mark.slow
def test_a_page_in_the_plan_and_how_long_another_waits(crawl):
    explanation = explain(crawl, crawl.page_id(f"{H}9"), 2, now=NOW)
    assert explanation.picked
    assert explanation.verdict == "It is in the plan."
    assert explanation.rate_low < explanation.rate < explanation.rate_high
    waits = explain(crawl, crawl.page_id(f"{H}1"), 2, now=NOW)
    assert not waits.picked
    assert "unseen" in waits.verdict
    needed = int(re.search(r"budget of (\d+) fetches", waits.verdict)[1])
    for budget, is_picked in ((needed, True), (needed - 1, False)):
        assert (f"{H}1" in plan(crawl, budget, now=NOW).urls()) == is_picked
    assert crawl.page_id(f"{H}1") in plan(crawl, waits.rank, now=NOW).pages.page_id


def test_a_page_is_picked_after_the_wait_that_was_predicted(crawl):
    import re
    from dataclasses import replace

    text = verdict(crawl, f"{H}1", 2, policy="poisson")
    days = float(re.search(r"another ([\d.]+) d", text)[1])
    pages = crawl.pages()
    row = crawl.page_id(f"{H}1")

    class Later:
        def __init__(self, more):
            last = pages.last_visit.copy()
            last[row] -= more * DAY
            self.then = replace(pages, last_visit=last)

        def signals(self):
            return None

        def models(self):
            return None

        def database(self):
            return None

        def pages(self):
            return self.then

    assert row in plan(Later(days * 1.05), 2, now=NOW, policy="poisson").pages.page_id
    assert row not in plan(Later(days * 0.9), 2, now=NOW, policy="poisson").pages.page_id


@pytest.mark.slow
def test_why_a_page_is_not_in_the_plan(crawl):
    assert "cap" in verdict(crawl, f"{H}8", Budget(fetches=5, host_cap=1))
    assert "allows no visit" in verdict(
        crawl, f"{H}8", Budget(fetches=5, host_cap=0)
    ) or "leaves nothing" in verdict(crawl, f"{H}8", Budget(fetches=5, host_cap=0))
    assert "leaves nothing" in verdict(crawl, f"{H}8", 0)
    assert "says never" in verdict(crawl, f"{H}8", 5, rules=[Rule("*", never=True)])
    assert "least interval" in verdict(crawl, f"{H}8", 5, rules=[Rule("*8", min_interval=90 * DAY)])
    assert "must be seen to change" in verdict(crawl, f"{H}0", 2, policy="tx")


def test_failing_page_says_when_it_is_tried_again(store, visits):
    store.append(visits(*[(H, day, None, {"status": 500}) for day in (27, 28, 29, 29.9)]))
    explanation = explain(store, 0, 5, now=NOW)
    assert "its visits fail" in explanation.verdict
    assert explanation.history.startswith("never reached")


def test_unknown_page(crawl):
    with pytest.raises(BadInput, match="page_id"):
        explain(crawl, 999, 5, now=NOW)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rule = [1]", "[[rule]] tables only"),
        ("[other]", "[[rule]] tables only"),
        ("not toml", "not TOML"),
        ("[[rule]]\nnever = true", "match is missing"),
        ("[[rule]]\nmatch = 5", "must be a URL"),
        ('[[rule]]\nmatch = "*"\nnevr = true', "no key 'nevr'"),
        ('[[rule]]\nmatch = "*"\nweight = inf', "a number, 0 or more"),
        ('[[rule]]\nmatch = "*"\nweight = "2"', "a number, 0 or more"),
        ('[[rule]]\nmatch = "*"\nmin_interval = "soon"', "90s"),
    ],
)
def test_what_is_wrong_with_a_rules_file_is_said(tmp_path, text, says):
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(BadInput) as error:
        load_rules(path)
    assert says in str(error.value)


@pytest.mark.slow
def test_a_plan_for_a_time_just_before_the_last_visit_is_made_as_of_that_visit(crawl):
    last = float(crawl.pages().last_attempt.max())
    early, page = last - DAY / 2, crawl.page_id(f"{H}9")
    assert plan(crawl, 5, now=early).now == last
    records = list(plan(crawl, 5, now=early, policy="poisson").records())
    assert records == list(plan(crawl, 5, now=last, policy="poisson").records())
    assert "-" not in "".join(record["reason"] for record in records)
    assert explain(crawl, page, 5, now=early) == explain(crawl, page, 5, now=last)
