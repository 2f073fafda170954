"""Power loss: writes after the last fsync are dropped or torn, and the store is opened again.

A library that the process preloads (power_log.c) logs each write, sync, truncation, creation,
rename and removal. From the log, the state of the disk at any moment is made up in a copy. Above
the file system, no privilege and no special device is needed, and it sees what DuckDB really asks
the kernel for. The model is that of a journalling file system (ext4, XFS): creations, renames and
removals last in their order, at the latest with the next fsync of any file; data lasts with the
fsync of its file, and before that any part of it may be there, by sectors of 512 bytes.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import time
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from recrawl.errors import StoreError
from recrawl.model import DAY
from torture.journal import DAMAGE, Journal, add, examine, write_log, write_logs
from torture.pieces import Figures, Piece, Run, need
from torture.processes import MAX_SECONDS, ChildFailed, call, command, last_lines, living_web
from torture.victim import popen

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

POINTS = 400  #: moments at which the power fails
SECTOR = 512
HEAD = struct.Struct("=6Q")
ROWS = 150
CRAWL_SECONDS = 20.0
CONTROL = "damage noticed if fsync did nothing"  #: shows that the checks can fail


class Kind(IntEnum):
    """What a process did; the numbers of power_log.c."""

    CREATE = 1
    WRITE = 2
    TRUNCATE = 3
    SYNC = 4
    RENAME = 5
    UNLINK = 6
    MKDIR = 7


class Operation(NamedTuple):
    """One record of the log."""

    kind: Kind
    inode: int
    offset: int  #: of a write; the new size of a truncation
    path: str
    second: str  #: the new path of a rename
    data: bytes


def read_log(path: Path) -> Iterator[Operation]:
    """The operations in their order; the last may be cut short."""
    with path.open("rb") as file:
        while len(head := file.read(HEAD.size)) == HEAD.size:
            kind, inode, offset, *lengths = HEAD.unpack(head)
            parts = [file.read(length) for length in lengths]
            if len(parts[2]) < lengths[2]:
                return
            yield Operation(
                Kind(kind), inode, offset, parts[0].decode(), parts[1].decode(), parts[2]
            )


@dataclass
class File:
    """What is on disk of a file, and what is not there for certain."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Operation] = field(default_factory=list)


class Disk:
    """The files after some operations, as far as they last."""

    def __init__(self) -> None:
        self.names: dict[str, File | None] = {}  #: durable; None is a folder
        self.changes: list[tuple[Operation, File | None]] = []  #: of names, not yet durable
        self._open: dict[int, File] = {}  # by inode

    def apply(self, operation: Operation) -> None:
        kind = operation.kind
        if kind == Kind.CREATE:
            self._open[operation.inode] = File()
        file = self._open.get(operation.inode)
        if kind in (Kind.WRITE, Kind.TRUNCATE):
            assert file is not None, "a file that existed before the log"
            file.pending.append(operation)
        elif kind == Kind.SYNC:
            self._commit(file)
        else:
            self.changes.append((operation, file if kind == Kind.CREATE else None))

    def _commit(self, file: File | None) -> None:
        """Make a file durable (None: a folder), and with it all names so far."""
        for change, created in self.changes:
            change_name(self.names, change, created)
        self.changes = []
        if file is not None:
            for operation in file.pending:
                change_data(file.durable, operation)
            file.pending = []

    def after_power_loss(self, chance: random.Random) -> dict[str, bytes | None]:
        """What may be found: a draw of all states that the model allows."""
        names = dict(self.names)
        for change, created in self.changes[: chance.randint(0, len(self.changes))]:
            change_name(names, change, created)
        return {n: None if f is None else _survivors(f, chance) for n, f in names.items()}

    def now(self) -> dict[str, bytes | None]:
        """What a running process sees."""
        names, found = dict(self.names), dict[str, bytes | None]()
        for change, created in self.changes:
            change_name(names, change, created)
        for name, file in names.items():
            content = bytearray() if file is None else bytearray(file.durable)
            for operation in file.pending if file else ():
                change_data(content, operation)
            found[name] = None if file is None else bytes(content)
        return found


def change_name(names: dict[str, File | None], change: Operation, created: File | None) -> None:
    """Carry out the creation, renaming or removal of a file or folder."""
    if change.kind == Kind.RENAME:
        below = [name for name in names if f"{name}/".startswith(f"{change.path}/")]
        for name in below:
            names[change.second + name.removeprefix(change.path)] = names.pop(name)
    elif change.kind == Kind.UNLINK:
        names.pop(change.path, None)
    else:
        names[change.path] = created


def change_data(content: bytearray, operation: Operation) -> None:
    """Carry out a write or truncation."""
    start, data = operation.offset, operation.data
    size = start if operation.kind == Kind.TRUNCATE else start + len(data)
    if operation.kind == Kind.TRUNCATE:
        del content[size:]
    content.extend(bytes(max(size - len(content), 0)))
    content[start : start + len(data)] = data


def _survivors(file: File, chance: random.Random) -> bytes:
    """The durable content, with none, all or some of what was not synced, some of it torn."""
    content = bytearray(file.durable)
    share = chance.choice((0.0, 1.0, chance.random()))
    for operation in file.pending:
        if chance.random() >= share:
            continue
        if operation.kind == Kind.WRITE and chance.random() < 0.3:
            for start in range(0, len(operation.data), SECTOR):
                if chance.random() < 0.5:
                    sector = operation.data[start : start + SECTOR]
                    change_data(
                        content, operation._replace(offset=operation.offset + start, data=sector)
                    )
        else:
            change_data(content, operation)
    return bytes(content)


def write_files(found: dict[str, bytes | None], old: Path, new: Path) -> None:
    """Write the files below one folder to another."""
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    for name, content in sorted(found.items()):
        path = new / name.removeprefix(f"{old}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir(exist_ok=True)
        else:
            path.write_bytes(content)


def build(folder: Path) -> Path:
    """Compile the library that logs."""
    need("cc")
    source, library = __file__.replace("power.py", "power_log.c"), folder / "power_log.so"
    words = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), source, "-lpthread"]
    subprocess.run(words, check=True)
    return library


class Victim:
    """A process whose writes are logged, in a folder of its own."""

    def __init__(self, run: Run, name: str, library: Path) -> None:
        self.run = run
        self.name = name
        self.folder = run.empty_folder(name)
        self.root = self.folder / "disk"
        self.root.mkdir()
        self.log = self.folder / "operations"
        self.output = self.folder / "log"
        self.environment = {
            "LD_PRELOAD": str(library),
            "TORTURE_ROOT": str(self.root),
            "TORTURE_LOG": str(self.log),
        }

    def live(self, words: tuple[object, ...]) -> None:
        """Run the process to its end; a crawl for some seconds after its first visits."""
        journal = self.root / "journal"
        process = popen(journal, *words, log=self.output, environment=self.environment)
        while self.name == "crawl" and process.poll() is None:
            time.sleep(0.1)
            if journal.exists() and journal.stat().st_size:
                break
        try:
            code = process.wait(CRAWL_SECONDS if self.name == "crawl" else MAX_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = 0
        if code:
            raise ChildFailed(f"{self.name}: {last_lines(self.output)}")
        if not Journal.read(journal).acknowledged:
            raise ChildFailed(f"{self.name} stored nothing: {last_lines(self.output)}")

    def is_complete(self) -> bool:
        """Whether the log explains every byte on the real disk."""
        disk = Disk()
        for operation in read_log(self.log):
            disk.apply(operation)
        explained = {n: content for n, content in disk.now().items() if content is not None}
        real = {str(p): p.read_bytes() for p in self.root.rglob("*") if p.is_file()}
        return explained == real

    def lose_power(
        self, points: int, chance: random.Random, *, fsync: bool = True
    ) -> Iterator[dict[str, int]]:
        """Damage found at random moments, drawn from all operations on the store.

        Without `fsync`, the disk ignores it.
        """
        operations = list(read_log(self.log))
        disk, journal, journal_inode = Disk(), b"", 0
        wanted = sorted(chance.choices(range(len(operations)), k=points))
        for number, operation in enumerate(operations):
            if fsync or operation.kind != Kind.SYNC:
                disk.apply(operation)
            if operation.kind == Kind.CREATE and operation.path.endswith("/journal"):
                journal_inode = operation.inode
            if operation.kind == Kind.WRITE and operation.inode == journal_inode:
                journal += operation.data
            while wanted and wanted[0] == number:
                wanted.pop(0)
                copy = self.folder / "after"
                write_files(disk.after_power_loss(chance), self.root, copy)
                yield call(partial(self._examine, copy / "store", journal), self.output)

    def _examine(self, store: Path, journal: bytes) -> dict[str, int]:
        """Look at the store, then go on with it."""
        known = Journal.of(journal)
        found: dict[str, Any] = examine(store, known) | {
            "acknowledged visits": len(known.acknowledged)
        }
        more = self.folder / "more.jsonl"
        write_log(more, 1_000_000, ROWS)
        try:
            command("ingest", store, more)
        except SystemExit:
            found["did not go on"] = 1
        if self.name == "search":
            found["indexes to be removed"] = int(not _can_search(store))
        return found


def _can_search(store: Path) -> bool:
    import recrawl

    try:
        return bool(recrawl.search(recrawl.open(store), "version"))
    except StoreError as error:
        print(f"index: {error}")
        return False


def torture(run: Run) -> Figures:
    library = build(run.empty_folder("library"))
    figures: Figures = {"power losses": 0, "acknowledged visits": 0, **DAMAGE, "did not go on": 0}
    figures |= {"logs that do not explain the disk": 0, "indexes to be removed": 0, CONTROL: 0}
    points = run.n(POINTS // 4)
    for name in ("ingest", "ingest again", "crawl", "search"):
        victim = Victim(run, name, library)
        # Not longer than the crawl: on a slow machine the days of the web would be over before it.
        with living_web(victim.folder / "web.log", pages=80, days=300, speed=DAY / 2) as web:
            victim.live(_words(victim, *web))
        add(figures, {"logs that do not explain the disk": int(not victim.is_complete())})
        for found in victim.lose_power(points, run.chance()):
            add(figures, {"power losses": 1} | found)
        if name == "ingest":
            add(figures, {CONTROL: _n_damaged(victim, run.n(20, 5), run.chance())})
        run.say(int(figures["power losses"]), 4 * points, {"command": name, **figures})
    return figures


def _n_damaged(victim: Victim, points: int, chance: random.Random) -> int:
    """On a disk that ignores fsync: how many power losses did damage?"""
    without = victim.lose_power(points, chance, fsync=False)
    return sum(any(found[name] for name in DAMAGE) for found in without)


def _words(victim: Victim, proxy: str, seeds: Path) -> tuple[object, ...]:
    """The commands of a victim."""
    store = victim.root / "store"
    if victim.name == "crawl":
        at = ("--seeds", seeds, "--proxy", proxy, "--simulated", "--policy", "poisson")
        return ("crawl", store, *at, "--delay", "0s", "--budget", "200/day", "--every", "6h")
    logs = write_logs(victim.folder / "logs", range(12), ROWS)
    first = ("ingest", store, *logs[:4])
    if victim.name == "search":
        return (*first, "then", "search", store, "version", "then", *first[:2], *logs[4:8],
                "then", "search", store, "version")  # fmt: skip
    if victim.name == "ingest again":  # what is known already, and a new process
        return (*first, "then", "ingest", store, *logs[2:])
    return ("ingest", store, *logs)


PIECE = Piece(
    "power",
    torture,
    {**DAMAGE, "did not go on": 0, "logs that do not explain the disk": 0},
    {"acknowledged visits": 1, CONTROL: 1},
)
