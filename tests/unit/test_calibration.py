"""Forecasts are corrected by what visits found."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.auto.calibration import MAX_VISITS, Calibration


def fitted(log_s, hit):
    calibration = Calibration()
    calibration.add_visits(log_s, hit)
    calibration.fit()
    return calibration


def test_nothing_is_corrected_before_a_visit():
    calibration = Calibration()
    calibration.fit()
    assert calibration.corrected(np.array([0.5, 2.0])) == pytest.approx([0.5, 2.0])


@pytest.mark.parametrize(("shift", "slope"), [(0.0, 1.0), (-0.7, 0.6), (0.4, 1.3)])
def test_a_known_error_is_found(shift, slope):
    random = np.random.default_rng(4)
    log_s = random.normal(-1.0, 1.0, MAX_VISITS)
    true = np.exp(shift + slope * log_s)
    calibration = fitted(log_s, random.random(MAX_VISITS) < -np.expm1(-true))
    assert (calibration.shift, calibration.slope) == pytest.approx((shift, slope), abs=0.15)
    found = -np.expm1(-calibration.corrected(np.exp(log_s)))
    assert np.abs(found + np.expm1(-true)).max() < 0.06


def test_few_visits_change_little_and_extremes_are_held():
    few = fitted(np.zeros(3), np.zeros(3, bool))
    assert few.corrected(np.array([1.0]))[0] == pytest.approx(1.0, rel=0.3)
    never = fitted(np.full(MAX_VISITS, 3.0), np.zeros(MAX_VISITS, bool))
    assert never.slope > 0.0
    assert np.isfinite(never.corrected(np.array([0.0, 1e300]))).all()


def test_only_the_latest_visits_count():
    calibration = Calibration()
    calibration.add_visits(np.zeros(MAX_VISITS), np.zeros(MAX_VISITS, bool))
    calibration.add_visits(np.zeros(MAX_VISITS), np.ones(MAX_VISITS, bool))
    assert len(calibration.hit) == MAX_VISITS
    assert calibration.hit.all()
