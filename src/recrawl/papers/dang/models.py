"""How well do the models of Dang et al. (2021) predict new links, and which features matter?"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recrawl.lab.learners import learner
from recrawl.lab.rankings import area, ceiling, precision_at, spearman
from recrawl.papers.dang import families
from recrawl.papers.dang.feature import average, lag
from recrawl.papers.dang.meaning import meaning
from recrawl.papers.dang.scores import of_classes, of_numbers
from recrawl.papers.dang.tuning import bounded, importance, tuned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recrawl.model import BoolArray, FloatArray, IntArray
    from recrawl.papers.dang.data import Study
    from recrawl.papers.dang.feature import Feature

TEST_SHARE, DEVELOPMENT_SHARE = 0.25, 0.25  #: of the pages
N_TREES_IMPORTANCE = 100  #: of a forest that predicts hundreds of times
N_CURVE_POINTS = 101  #: from 0 to 100 %
N_NGBOOST_FEATURES = 30  #: that NGBoost draws for a step, to save time
#: The library's defaults, which the paper took. They take twenty times as long as ours.
PAPER_NGBOOST: Final = {"n_estimators": 500, "learning_rate": 0.01, "col_sample": 1.0}
ROUNDED: Final = ("NNL-ET", "NNL-ET_LBLA", "NNL-Av")  #: by the authors' program
Result = dict[str, Any]


@dataclass(frozen=True)
class Split:
    """Rows to train on, those of them to tune on, and rows to test on, of one repetition."""

    train: IntArray
    development: IntArray
    test: IntArray

    @staticmethod
    def of(pages: int, seed: int) -> Split:
        order = np.random.default_rng(seed).permutation(pages)
        test, development = int(TEST_SHARE * pages), int((TEST_SHARE + DEVELOPMENT_SHARE) * pages)
        return Split(np.sort(order[test:]), np.sort(order[test:development]), np.sort(order[:test]))


@dataclass(frozen=True)
class Experiment:
    """A study, the number of intervals its models look back, and the settings of NGBoost."""

    study: Study
    history: int = 8
    ngboost: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def _known(self) -> dict[str, FloatArray]:
        return {}

    def columns(self, features: list[Feature]) -> FloatArray:
        """One row per page, one column per feature; each is computed once."""
        for feature in features:
            if feature.name not in self._known:
                self._known[feature.name] = feature.read(self.study.snapshot, 0)
        return np.column_stack([self._known[feature.name] for feature in features])

    @cached_property
    def sets(self) -> dict[str, list[Feature]]:
        """Sets of static features, as combined in the paper."""
        page, network, sense = families.SP, families.SN, meaning(self.study.snapshot)
        return {
            "SP": page,
            "SPsem": page + sense,
            "SP+SN": page + network,
            "SPsem+SN": page + sense + network,
        }

    def past(self, history: int) -> list[Feature]:
        """All features; dynamic ones up to `history` intervals back."""
        dynamic = families.dp(history, meaning(self.study.snapshot)) + families.dn(history)
        return self.sets["SPsem+SN"] + dynamic

    def without_own_past(self) -> list[Feature]:
        """All features but the page's own past, which would leak how often it shows new links."""
        return self.sets["SPsem+SN"] + families.dn(self.history)

    def rates(self, kind: str, seed: int) -> Result:
        """Figures 9 and 10: how often a page shows new links, from static features.

        And Figure 11 in the first repetition: which of them matter.
        """
        split, y = Split.of(len(self.study), seed), self.study.rate[kind]
        tried, development = self.columns(self.sets["SP+SN"]), split.development
        settings = tuned("hist-boost", "number", tried[development], y[development], seed=seed)
        result: Result = {
            "settings": settings,
            "scores": {"zero": of_numbers(y[split.test], np.zeros(len(split.test)))},
        }
        for name, features in self.sets.items():
            x, boost = (
                self.columns(features),
                learner("hist-boost", "number", seed=seed, **settings),
            )
            model = boost.fit(x[split.train], y[split.train])
            result["scores"][name] = of_numbers(y[split.test], model.predict(x[split.test]))
            if seed == 0 and name == "SP+SN":
                found = importance(model, x[split.test], y[split.test])
                result["importance"] = _named(features, found)
        return result

    def presence(self, kind: str, seed: int) -> Result:
        """Figure 12 and Table 3: whether new links come, by history.

        And Figure 13 in the first repetition: which features matter, with all the history.
        """
        split, y = Split.of(len(self.study), seed), self.study.count[kind] > 0
        last = self.columns([lag(families.COUNTS[kind], 1)])[:, 0] > 0
        scores, settings = {"NNL-Pr": of_classes(y[split.test], last[split.test])}, {}
        for history in range(self.history + 1):
            x = self.columns(self.past(history))
            forest = Forest.fit("class", x, y, split, seed)
            scores[str(history)] = of_classes(y[split.test], forest.model.predict(x[split.test]))
            settings[str(history)] = forest.settings
        result: Result = {"scores": scores, "settings": settings}
        if seed == 0:
            small = settings[str(self.history)] | {"n_estimators": N_TREES_IMPORTANCE}
            model = _untrained("class", seed, len(split.train), small)
            found = importance(
                model.fit(x[split.train], y[split.train]), x[split.test], y[split.test]
            )
            result["importance"] = _named(self.past(self.history), found)
        return result

    def rankings(self, kind: str, seed: int) -> Result:
        """Figures 14 and 15: rankings by each forecast, against each truth."""
        split, study = Split.of(len(self.study), seed), self.study
        forecasts, settings = self.forecasts(kind, split, seed)
        count = study.count[kind][split.test]
        truths = {
            "LCR": study.rate[kind][split.test],
            "NL": (count > 0).astype(np.float64),
            "NNL": count,
        }
        rho = {
            t: {n: spearman(truth, f) for n, f in forecasts.items()} for t, truth in truths.items()
        }
        return {
            "settings": settings,
            "spearman": rho,
            "area": {name: area(count, forecast) for name, forecast in forecasts.items()},
            "ceiling": ceiling(count),
            "curves": {name: _curve(count, forecast) for name, forecast in forecasts.items()},
        }

    def forecasts(
        self, kind: str, split: Split, seed: int
    ) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        """What each method of Table 4 predicts of the test pages; the tuned settings of forests."""
        rate, count = self.study.rate[kind], self.study.count[kind]
        rates = {"_LBLA": families.lbla_rate(kind), "": self.without_own_past()}
        sets = {"_LBLA": families.lbla(kind, self.history), "": self.past(self.history)}
        test, settings = split.test, {}
        forecasts: dict[str, FloatArray] = {}

        def forest(name: str, task: str, x: FloatArray, y: FloatArray | BoolArray) -> Any:
            fitted = Forest.fit(task, x, y, split, seed)
            settings[name] = fitted.settings
            forecasts[name] = fitted.model.predict(x[test]).astype(np.float64)
            return fitted.model

        for suffix, features in rates.items():
            forest(f"LCR-ET{suffix}", "number", self.columns(features), rate)
        for suffix, features in sets.items():
            x = self.columns(features)
            model = forest(f"NL-ET{suffix}", "class", x, count > 0)
            forecasts[f"PNL-ET{suffix}"] = model.predict_proba(x[test])[:, 1]
            for short, (name, more) in self._boosts(len(features)).items():
                boost = learner(name, "count", seed=seed, **more)
                boost.fit(x[split.train], count[split.train])
                forecasts[f"NNL-{short}{suffix}"] = np.asarray(boost.predict(x[test]), float)
            forest(f"NNL-ET{suffix}", "number", x, count)
        forecasts |= self._baselines(kind, test)
        if not self.study.snapshot.strict:
            forecasts |= {name: np.rint(forecasts[name]) for name in ROUNDED if name in forecasts}
        return forecasts, settings

    def _boosts(self, n_features: int) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """Boosting of counts by its short name: the learner and its settings."""
        drawn = {"col_sample": min(1.0, N_NGBOOST_FEATURES / n_features)}
        # One thread: the other core has a worker of its own.
        return {"NGB": ("ngboost", drawn | self.ngboost), "LGB": ("lightgbm", {"n_jobs": 1})}

    def _baselines(self, kind: str, test: IntArray) -> dict[str, FloatArray]:
        """The rankings by one feature of the test pages."""
        new, baselines = families.COUNTS[kind], {}
        if self.history:
            baselines["NNL-Av"] = self.columns([average(new, self.history)])[test, 0]
        baselines["NNL-Pr"] = self.columns([lag(new, 1)])[test, 0]
        baselines["CCR"] = self.study.changed[test]
        return baselines


@dataclass(frozen=True)
class Forest:
    """A forest trained with the settings that did best on the development rows."""

    model: Any
    settings: dict[str, Any]

    @staticmethod
    def fit(task: str, x: FloatArray, y: FloatArray | BoolArray, split: Split, seed: int) -> Forest:
        settings = tuned("extra-trees", task, x[split.development], y[split.development], seed=seed)
        model = _untrained(task, seed, len(split.train), settings)
        by_column = np.asfortranarray(x[split.train])  # a third faster
        return Forest(model.fit(by_column, y[split.train]), settings)


def _untrained(task: str, seed: int, rows: int, settings: Mapping[str, Any]) -> Any:
    return learner("extra-trees", task, seed=seed, **bounded(rows, settings))


def _named(features: list[Feature], values: FloatArray) -> dict[str, list[Any]]:
    pairs = zip(features, values.tolist(), strict=True)
    return {feature.name: [feature.family, value] for feature, value in pairs}


def _curve(truth: FloatArray, forecast: FloatArray) -> list[float]:
    share = np.linspace(0, 1, N_CURVE_POINTS)
    whole = np.concatenate([[0.0], precision_at(truth, forecast)])
    curve: list[float] = np.interp(share * len(truth), np.arange(len(whole)), whole).tolist()
    return curve
