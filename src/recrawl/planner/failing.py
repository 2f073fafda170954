"""Will a visit get an answer? Learned from how first visits, retries and hosts fared.

A failing page comes back with a chance that depends on why it failed (`model.FAILURES`). The chance
is learned for each reason, and for each host and reason. It falls with every failure in a row, as
the mean of a Beta distribution does, but never to 0. Each mean is shrunk towards the one above it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import DAY, FAILURES

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, Pages, Time

#: Chance that a retry succeeds, before any was seen; in the order of FAILURES.
FIRST_GUESS = np.array([0.3, 0.05, 0.01, 0.1, 0.5, 0.4, 0.1, 0.3, 0.05, 0.05, 0.02])
FIRST_VISIT_GUESS = 1.0  #: share of new pages that are there, before any was visited
HALF_LIFE_DAYS = 3.0  #: after which a first visit counts half: a site's good links are read first
#: What the mean above counts as: retries, failures in a row, first visits.
ALL_PRIOR, HOST_PRIOR, PAGE_PRIOR, FIRST_PRIOR = 10.0, 5.0, 2.0, 2.0
#: Reasons that concern the host as a whole, if it answered no other page since.
_HOST_FAILURES = ("server error", "timeout", "no such host", "no answer", "robots.txt")
IS_HOST_FAILURE = np.array([name in _HOST_FAILURES for name in FAILURES])
MIN_FAILED_PAGES = 2  #: of a host, since its last answer: then the host is down
MIN_HOST_CHANCE = 0.02  #: that a host which is down answers again
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 3600.0, 30 * DAY


def answer_chances(pages: Pages, now: Time) -> FloatArray:
    """The probability that a visit to each page gets an answer; 1 for all but these:

    - failing pages, by how retries after such failures fared,
    - pages never reached, by how many pages of their host that were new lately were; also if they
      failed, unless the failure was their own, as a 404 is,
    - all pages of a host that is down, by how long that has lasted.
    """
    failing = pages.failures > 0
    is_of_host = IS_HOST_FAILURE[np.minimum(pages.failure, len(FAILURES) - 1)]
    unknown = (pages.n_visits == 0) | (failing & is_of_host & np.isnan(pages.last_visit))
    chance = np.ones(len(pages))
    if unknown.any():
        chance[unknown] = _first_visit_chances(pages, now)[unknown]
    if failing.any():
        chance[failing] *= _return_chances(pages, failing)
        chance *= _host_chances(pages, failing, now)
    return chance


def retry_seconds(pages: Pages) -> FloatArray:
    """How long each page rests after its last attempt: longer, the less likely it is back.

    Only the page itself counts. Its host may be down, but then one page of it is tried anyway.
    """
    failing, wait = pages.failures > 0, np.zeros(len(pages))
    if failing.any():
        chance = np.maximum(_return_chances(pages, failing), 1e-12)
        wait[failing] = np.minimum(FIRST_RETRY_SECONDS / chance, MAX_RETRY_SECONDS)
    return wait


def _first_visit_chances(pages: Pages, now: Time) -> FloatArray:
    """By host: the share of the visited pages that were ever reached; lately visited ones count."""
    visited, reached = pages.n_visits > 0, ~np.isnan(pages.first_visit)
    first = np.where(reached, pages.first_visit, pages.last_attempt)
    age = np.where(visited, np.maximum(now - first, 0.0) / DAY, np.inf)
    weight = 0.5 ** (age / HALF_LIFE_DAYS)
    found = weight * reached
    overall = _shrunk(found.sum(), weight.sum(), FIRST_VISIT_GUESS, FIRST_PRIOR)
    share: FloatArray = _shrunk(
        pages.over_host(found), pages.over_host(weight), overall, FIRST_PRIOR
    )
    return share


def _return_chances(pages: Pages, failing: BoolArray) -> FloatArray:
    """For each failing page: the chance that a retry now succeeds."""
    kinds = len(FAILURES)
    rows = np.flatnonzero(failing | (pages.retries > 0))
    kind = np.minimum(pages.failure[rows], kinds - 1).astype(np.int64)
    returns, retries = pages.returns[rows], pages.retries[rows]
    overall = _shrunk(
        np.bincount(kind, returns, kinds), np.bincount(kind, retries, kinds), FIRST_GUESS, ALL_PRIOR
    )
    _, group = np.unique(pages.host[rows].astype(np.int64) * kinds + kind, return_inverse=True)
    on_host = _shrunk(
        np.bincount(group, returns)[group],
        np.bincount(group, retries)[group],
        overall[kind],
        HOST_PRIOR,
    )
    now_failing = failing[rows]
    in_a_row = pages.failures[failing] - 1
    chances: FloatArray = on_host[now_failing] * PAGE_PRIOR / (PAGE_PRIOR + in_a_row)
    return chances


def _host_chances(pages: Pages, failing: BoolArray, now: Time) -> FloatArray:
    """For each page: the chance that its host answers at all.

    A host is down if two of its pages failed since its last answer. After D days of failures, and w
    days after the last, it is back with probability w / (D + w), as if outages of all lengths
    were equally common on a logarithmic scale.
    """
    n = int(pages.host.max()) + 1
    answered, failed, began = np.full(n, -np.inf), np.full(n, -np.inf), np.full(n, np.inf)
    reached = ~np.isnan(pages.last_visit)
    np.maximum.at(answered, pages.host[reached], pages.last_visit[reached])
    since = failing & IS_HOST_FAILURE[np.minimum(pages.failure, len(FAILURES) - 1)]
    since &= pages.last_attempt > answered[pages.host]
    np.maximum.at(failed, pages.host[since], pages.last_attempt[since])
    np.minimum.at(began, pages.host[since], pages.last_attempt[since])
    down = np.flatnonzero(np.bincount(pages.host[since], minlength=n) >= MIN_FAILED_PAGES)
    lasted, rested = failed[down] - began[down], np.maximum(now - failed[down], 0.0)
    chance = np.ones(n)
    chance[down] = np.maximum(rested / np.maximum(lasted + rested, 1.0), MIN_HOST_CHANCE)
    return chance[pages.host]


def _shrunk(
    hits: FloatArray | IntArray,
    tries: FloatArray | IntArray,
    mean: FloatArray | float,
    prior: float,
) -> FloatArray:
    shrunk: FloatArray = (hits + prior * mean) / (tries + prior)
    return shrunk
