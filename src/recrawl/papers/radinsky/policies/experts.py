"""Scores a page by its probability of a change, learned from it and its related pages (3D)."""

from __future__ import annotations

from typing import ClassVar

from recrawl.papers.radinsky.live.forecasters import ExpertsForecaster
from recrawl.papers.radinsky.policies.content import Content


class Experts(ExpertsForecaster, Content):
    """The probability of a change, learned from the page and the pages related to it (3D)."""

    name: ClassVar[str] = "experts"
