"""How well do the models of Dang et al. (2021) predict new links, and which features matter?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recrawl.lab.learners import learner
from recrawl.lab.rankings import area, ceiling, precision_at, spearman
from recrawl.papers.dang import families
from recrawl.papers.dang.feature import average, lag, table
from recrawl.papers.dang.meaning import meaning
from recrawl.papers.dang.scores import of_classes, of_numbers
from recrawl.papers.dang.tuning import bounded, importance, tuned

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray
    from recrawl.papers.dang.data import Study
    from recrawl.papers.dang.feature import Feature

TEST_SHARE, DEVELOPMENT_SHARE = 0.25, 0.25  #: of the pages
LEAF_SIZES: Final = (2, 5, 10, 25)  #: rows at a leaf that are tried
N_TREES_TUNING = 50  #: more trees rank the leaf sizes alike
N_TREES_IMPORTANCE = 100  #: of a forest that predicts hundreds of times
N_CURVE_POINTS = 101  #: from 0 to 100 %
Result = dict[str, Any]


@dataclass(frozen=True)
class Split:
    """Rows to train on, those of them to tune on, and rows to test on."""

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
    """A study and the number of intervals its models look back."""

    study: Study
    history: int = 8

    def columns(self, features: list[Feature]) -> FloatArray:
        return table(self.study.snapshot, features)

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
        return self.sets["SPsem+SN"] + families.dp(history) + families.dn(history)

    def without_own_past(self) -> list[Feature]:
        """All features but the page's own past, which would leak how often it shows new links."""
        return self.sets["SPsem+SN"] + families.dn(self.history)

    def tune(self, kind: str) -> Result:
        """Table 3: the best number of rows at a leaf, by history, and for the regressions."""
        rows, study = Split.of(len(self.study), 0).development, self.study
        target = {"count": study.count[kind], "rate": study.rate[kind]}
        feature = {"count": self.past(self.history), "rate": self.without_own_past()}
        leaf: dict[str, int] = {}
        for history in range(self.history + 1):
            x = self.columns(self.past(history))[rows]
            leaf[str(history)] = _leaf("class", x, target["count"][rows] > 0)
        for what, y in target.items():
            leaf[what] = _leaf("number", self.columns(feature[what])[rows], y[rows])
        return {"leaf": leaf}

    def rates(self, kind: str, seed: int) -> Result:
        """Figures 9 and 10: how often a page shows new links, from static features."""
        split, y = Split.of(len(self.study), seed), self.study.rate[kind]
        scores = {"zero": of_numbers(y[split.test], np.zeros(len(split.test)))}
        for name, features in self.sets.items():
            x = self.columns(features)
            model = learner("hist-boost", "number", seed=seed).fit(x[split.train], y[split.train])
            scores[name] = of_numbers(y[split.test], model.predict(x[split.test]))
        return {"scores": scores}

    def presence(self, kind: str, seed: int, leaf: dict[str, int]) -> Result:
        """Figure 12: whether new links come, by history."""
        split, y = Split.of(len(self.study), seed), self.study.count[kind] > 0
        last = self.columns([lag(families.COUNTS[kind], 1)])[:, 0] > 0
        scores = {"NNL-Pr": of_classes(y[split.test], last[split.test])}
        for history in range(self.history + 1):
            x = self.columns(self.past(history))
            model = _forest("class", leaf[str(history)], seed, x[split.train], y[split.train])
            scores[str(history)] = of_classes(y[split.test], model.predict(x[split.test]))
        return {"scores": scores}

    def importances(self, kind: str, leaf: dict[str, int]) -> Result:
        """Figures 11 and 13: which features matter."""
        split, study = Split.of(len(self.study), 0), self.study
        features = self.sets["SP+SN"]
        x, rate = self.columns(features), study.rate[kind]
        model = learner("hist-boost", "number").fit(x[split.train], rate[split.train])
        rates = importance(model, "number", x[split.test], rate[split.test])
        both, narrow = self.past(self.history), leaf[str(self.history)]
        x, came = self.columns(both), study.count[kind] > 0
        forest = learner(
            "extra-trees", "class", n_estimators=N_TREES_IMPORTANCE, **bounded(len(x), narrow)
        )
        model = forest.fit(x[split.train], came[split.train])
        presence = importance(model, "class", x[split.test], came[split.test])
        return {"rate": _named(features, rates), "presence": _named(both, presence)}

    def rankings(self, kind: str, seed: int, leaf: dict[str, int]) -> Result:
        """Figures 14 and 15: rankings by each forecast, against each truth."""
        split, study = Split.of(len(self.study), seed), self.study
        forecasts = self._forecasts(kind, split, seed, leaf)
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
            "spearman": rho,
            "area": {name: area(count, forecast) for name, forecast in forecasts.items()},
            "ceiling": ceiling(count),
            "curves": {name: _curve(count, forecast) for name, forecast in forecasts.items()},
        }

    def _forecasts(
        self, kind: str, split: Split, seed: int, leaf: dict[str, int]
    ) -> dict[str, FloatArray]:
        study, history = self.study, self.history
        rate, count = study.rate[kind], study.count[kind]
        whole, narrow = self.past(history), families.lbla(kind, history)
        train, test = split.train, split.test

        def fitted(task: str, features: list[Feature], y: FloatArray, leaves: int) -> Any:
            return _forest(task, leaves, seed, self.columns(features)[train], y[train])

        def predicted(model: Any, features: list[Feature]) -> FloatArray:
            answer: FloatArray = np.asarray(model.predict(self.columns(features)[test]), float)
            return answer

        def counted(name: str, features: list[Feature]) -> FloatArray:
            model = learner(name, "count", seed=seed)
            return predicted(model.fit(self.columns(features)[train], count[train]), features)

        rates = {"LCR-ET_LBLA": families.lbla_rate(kind), "LCR-ET": self.without_own_past()}
        forecasts = {
            n: predicted(fitted("number", f, rate, leaf["rate"]), f) for n, f in rates.items()
        }
        came = (count > 0).astype(np.float64)
        for suffix, features in {"_LBLA": narrow, "": whole}.items():
            model = fitted("class", features, came, leaf[str(history)])
            forecasts[f"NL-ET{suffix}"] = predicted(model, features)
            forecasts[f"PNL-ET{suffix}"] = model.predict_proba(self.columns(features)[test])[:, 1]
            forecasts[f"NNL-NGB{suffix}"] = counted("ngboost", features)
            forecasts[f"NNL-LGB{suffix}"] = counted("lightgbm", features)
            forecasts[f"NNL-ET{suffix}"] = predicted(
                fitted("number", features, count, leaf["count"]), features
            )
        if history:
            forecasts["NNL-Av"] = self.columns([average(families.COUNTS[kind], history)])[test, 0]
        forecasts["NNL-Pr"] = self.columns([lag(families.COUNTS[kind], 1)])[test, 0]
        forecasts["CCR"] = study.changed[test]
        if not study.snapshot.strict:  # as the authors' program does
            rounded = ("NNL-ET", "NNL-ET_LBLA", "NNL-Av")
            forecasts |= {name: np.rint(forecasts[name]) for name in rounded if name in forecasts}
        return forecasts


def _leaf(task: str, x: FloatArray, y: FloatArray | BoolArray) -> int:
    best = tuned(
        "extra-trees", task, x, y, {"min_samples_leaf": LEAF_SIZES}, n_estimators=N_TREES_TUNING
    )
    return int(best["min_samples_leaf"])


def _forest(task: str, leaf: int, seed: int, x: FloatArray, y: FloatArray | BoolArray) -> Any:
    return learner("extra-trees", task, seed=seed, **bounded(len(y), leaf)).fit(x, y)


def _named(features: list[Feature], values: FloatArray) -> dict[str, list[Any]]:
    pairs = zip(features, values.tolist(), strict=True)
    return {feature.name: [feature.family, value] for feature, value in pairs}


def _curve(truth: FloatArray, forecast: FloatArray) -> list[float]:
    share = np.linspace(0, 1, N_CURVE_POINTS)
    whole = np.concatenate([[0.0], precision_at(truth, forecast)])
    curve: list[float] = np.interp(share * len(truth), np.arange(len(whole)), whole).tolist()
    return curve
