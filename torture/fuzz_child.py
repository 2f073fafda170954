"""Feeds one target in a process of its own: python -m torture.fuzz_child NAME RUNS SEED MAILBOX …

With atheris, inputs that reach new code are mutated further. Without it, bytes of the examples are
changed at random. Before each run the input is put into the mailbox, a file in memory: whatever
happens to this process, its parent can read there which input it was.
"""

from __future__ import annotations

import mmap
import random
import re
import resource
import struct
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from torture.pieces import ROOT
from torture.processes import die_with_parent

if TYPE_CHECKING:
    from torture.fuzz_targets import Target

COMPILED = re.compile(r"^ *@(njit|kernel|kernel_helper|vectorize)\b", re.MULTILINE)
NEVER_SECONDS = 10**6
MAX_BYTES = 20_000  #: of an input
BOX_BYTES = 1 << 16
MAX_MEMORY = 4 << 30
PIECES = (b"\0", b"\xff", b"\r\n", b'"', b"{", b"[" * 50, b"-1", b"9" * 30, b"%", "\u2028".encode())


class Mailbox:
    """How many inputs were run, and the one that runs now."""

    HEAD = struct.Struct("=QI")

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(BOX_BYTES))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), BOX_BYTES)

    def put(self, data: bytes) -> None:
        runs, _ = self.HEAD.unpack_from(self._memory)
        self.HEAD.pack_into(self._memory, 0, runs + 1, len(data))
        self._memory[self.HEAD.size : self.HEAD.size + len(data)] = data

    def get(self) -> tuple[int, bytes]:
        runs, size = self.HEAD.unpack_from(self._memory)
        return runs, self._memory[self.HEAD.size : self.HEAD.size + size]


def signature(error: BaseException) -> str:
    """The kind of error, and where in recrawl it arose: crashes that agree are one bug."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/recrawl/" in f.filename] or list(frames)
    return f"{type(error).__name__} {Path(ours[-1].filename).stem} {ours[-1].lineno}"


class Probe:
    """Runs a target; keeps the first input of each kind of crash."""

    def __init__(self, target: Target, box: Mailbox, crashes: Path) -> None:
        self.target = target
        self.box = box
        self.crashes = crashes
        self.known: set[str] = set()

    def __call__(self, data: bytes) -> None:
        data = data[:MAX_BYTES]
        self.box.put(data)
        error = crash(self.target, data)
        if error is not None and (name := signature(error)) not in self.known:
            self.known.add(name)
            text = "".join(traceback.format_exception(error))[-3000:]
            file = self.crashes / name.replace(" ", "_")
            if not file.exists():
                file.write_bytes(data)
                file.with_suffix(".txt").write_text(text)


def crash(target: Target, data: bytes) -> BaseException | None:
    """What a target raises that it may not."""
    from torture.fuzz_targets import EXPECTED

    try:
        target.run(data)
    except EXPECTED:
        return None
    except Exception as error:  # noqa: BLE001 (any other one is a crash)
        return error
    return None


def mutate(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    """An input like this one: some of its pieces changed, doubled, removed or replaced."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        start = chance.randint(0, len(changed))
        end = min(len(changed), start + chance.choice((1, 1, 4, 16, 100)))
        other = chance.choice(others)
        begin = chance.randint(0, len(other))
        piece = chance.choice(
            (
                b"",
                chance.choice(PIECES),
                chance.randbytes(end - start),
                bytes(changed[start:end]) * chance.choice((2, 2, 50)),
                other[begin : begin + chance.choice((4, 40, 400))],
            )
        )
        changed[start:end] = piece
    return bytes(changed[:MAX_BYTES])


def run_random(probe: Probe, runs: int, seed: int) -> None:
    """Without coverage: mutants of the examples."""
    chance, seeds = random.Random(seed), probe.target.seeds
    for _ in range(runs):
        probe(mutate(chance.choice(seeds), chance, seeds))


def run_guided(probe: Probe, runs: int, seed: int, corpus: Path) -> None:
    """With atheris; does not return."""
    import atheris

    options = [f"-runs={runs}", f"-seed={seed + 1}", f"-max_len={MAX_BYTES}", "-timeout=600"]
    options += [f"-artifact_prefix={probe.crashes}/", "-rss_limit_mb=0", "-print_final_stats=0"]
    # libFuzzer's clock counts the work of others on a busy machine; the parent counts processor time.
    options += [f"-report_slow_units={NEVER_SECONDS}"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], probe)
    atheris.Fuzz()


def compiled_modules() -> list[str]:
    """Modules with compiled functions: numba does not compile what atheris has instrumented."""
    source = ROOT / "src"
    paths = [p for p in source.rglob("*.py") if COMPILED.search(p.read_text())]
    return [".".join(path.relative_to(source).with_suffix("").parts) for path in paths]


def main(name: str, runs: str, seed: str, mailbox: str, crashes: str, corpus: str) -> None:
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
    try:
        import atheris
    except ImportError:
        atheris = None
    if atheris is None:
        from torture.fuzz_targets import targets
    else:
        with atheris.instrument_imports(include=["recrawl", "protego"], exclude=compiled_modules()):
            from torture.fuzz_targets import targets
    target = targets()[name]
    for number, example in enumerate(target.seeds):
        (Path(corpus) / f"example{number}").write_bytes(example)
    probe = Probe(target, Mailbox(Path(mailbox)), Path(crashes))
    if atheris is None:
        run_random(probe, int(runs), int(seed))
    else:
        run_guided(probe, int(runs), int(seed), Path(corpus))


if __name__ == "__main__":
    main(*sys.argv[1:])
