"""Shared by all tests: stores that close themselves, and visits in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import settings

from recrawl.history import Store
from recrawl.model import DAY, VISITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: The same examples every time, so that a change is judged by what it changes. To look for new
#: ones: `pytest --hypothesis-profile=seek`.
settings.register_profile("seek", derandomize=False)
settings.register_profile("steady", derandomize=True)
settings.load_profile("steady")


#: Folders whose tests start processes, servers or whole experiments.
SLOW_FOLDERS = {"e2e", "golden", "papers"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SLOW_FOLDERS & set(item.path.relative_to(item.config.rootpath).parts[1:-1]):
            item.add_marker("slow")


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests sign files by a key of their own, not by that of the user who runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store", create=True) as opened:
        yield opened


@pytest.fixture
def visits() -> Callable[..., pa.Table]:
    """visits((url, day, digest or None, {other columns}), …): days count from 2026-01-01."""

    def build(*rows: tuple[object, ...]) -> pa.Table:
        records = []
        for url, day, digest, *rest in rows:
            at = None if day is None else int((1_767_225_600 + day * DAY) * 1e6)
            kind = None if digest is None else "text"
            records.append(
                {
                    "url": url,
                    "at": at,
                    "digest": digest,
                    "digest_of": kind,
                    **(rest[0] if rest else {}),
                }
            )
        columns = {}
        for field in VISITS:
            values = [record.get(field.name) for record in records]
            if pa.types.is_timestamp(field.type):
                columns[field.name] = pa.array(values, pa.int64()).cast(field.type)
            else:
                columns[field.name] = pa.array(values, field.type)
        return pa.table(columns)

    return build
