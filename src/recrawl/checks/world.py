"""The contract of a synthetic world: a seed gives the same sorted pages, changed in the window."""

from __future__ import annotations

from typing import Any

import numpy as np

from recrawl.checks.every import copies, require

SIZE = {"pages": 150, "days": 40}


def check_has_the_size_asked_for(part: Any) -> None:
    for pages, days in ((1, 1), (150, 40)):
        world = part.make(pages=pages, days=days, seed=1)
        met = (len(world), world.days) == (pages, days) and len(world.start) == pages + 1
        require(part, "it has the number of pages and days asked for", met=met)


def check_repeats(part: Any) -> None:
    first, *others = (each.make(**SIZE, seed=1) for each in (part, part, *copies(part)))
    same = all(_same(first, other) for other in others)
    require(part, "the same seed makes the same world", met=same)


def check_follows_the_seed(part: Any) -> None:
    first, other = (part.make(**SIZE, seed=seed) for seed in (1, 2))
    require(part, "another seed makes another world", met=not np.array_equal(first.at, other.at))


def check_sorts_its_pages(part: Any) -> None:
    urls = list(part.make(**SIZE, seed=1).urls)
    require(part, "pages are sorted by URL, none twice", met=urls == sorted(set(urls)))


def check_changes_inside_the_window(part: Any) -> None:
    world = part.make(**SIZE, seed=1)
    begin, end = world.window
    met = bool(((world.at > begin) & (world.at <= end)).all())
    met &= bool((np.diff(world.at)[np.diff(world.page) == 0] > 0).all())
    require(
        part, "the changes of a page ascend, after the window begins and until it ends", met=met
    )


def check_never_changes_to_the_same(part: Any) -> None:
    world = part.make(**SIZE, seed=1)
    if world.content is None:
        return
    version = np.arange(len(world.at)) - world.start[world.page] + 1
    after = _content(world, version)
    before = _content(world, version - 1)
    met = all(a != b for a, b in zip(after, before, strict=True))
    require(part, "a version differs from the one before in text or links", met=met)


def _content(world: Any, version: Any) -> list[tuple[str, list[str]]]:
    texts = world.content.texts(world.page, version)
    return list(zip(texts, world.content.links(world.page, version), strict=True))


def _same(a: Any, b: Any) -> bool:
    return list(a.urls) == list(b.urls) and all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in ("start", "at")
    )
