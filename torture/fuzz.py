"""A million inputs for the readers and parsers: a crash or an endless run is a bug."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from torture.fuzz_child import Mailbox, crash, signature
from torture.pieces import KEPT, ROOT, Figures, Piece, Run
from torture.processes import ChildFailed, call, last_lines

if TYPE_CHECKING:
    from torture.fuzz_targets import Target

INPUTS = 1_000_000
HANG_SECONDS = 10.0  #: of processor time for one input
MAX_RESTARTS = 5  #: of a target; then the rest of its inputs is left out
MAX_TRIES = 300  #: to make a reproducer smaller


def torture(run: Run) -> Figures:
    from torture.fuzz_targets import targets

    chosen = targets()
    whole = sum(target.weight for target in chosen.values())
    engine = "atheris" if importlib.util.find_spec("atheris") else "random mutations"
    figures: Figures = {"inputs": 0, "targets": len(chosen), "engine": engine}
    figures |= {"crashes": 0, "hangs": 0}

    def fuzz_one(name: str) -> int:
        return fuzz(run, name, run.n(round(INPUTS * chosen[name].weight / whole)))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, done in zip(chosen, pool.map(fuzz_one, chosen), strict=True):
            figures["inputs"] = int(figures["inputs"]) + done
            run.say(int(figures["inputs"]), run.n(INPUTS), {"target": name, "inputs": done})
    for name in chosen:  # now that no thread is left: children are made by fork
        for path in sorted((_work(run, name) / "crashes").glob("*")):
            if path.suffix != ".txt":
                kind = "hangs" if path.name.startswith("hang") else "crashes"
                figures[kind] = int(figures[kind]) + 1
                keep_reproducer(name, path, _work(run, name) / "log")
    return figures


def _work(run: Run, name: str) -> Path:
    return run.folder / run.name / name.replace(" ", "-")


def fuzz(run: Run, name: str, inputs: int) -> int:
    """Feed one target; after a hang or the death of its process, go on with the next inputs.

    Returns how many inputs were run.
    """
    work = run.empty_folder(name.replace(" ", "-"))
    crashes = work / "crashes"
    corpus = KEPT / "corpus" / work.name
    for folder in (crashes, corpus):
        folder.mkdir(parents=True, exist_ok=True)
    done = 0
    for restart in range(MAX_RESTARTS + 1):
        box = work / f"mailbox{restart}"
        words = [name, inputs - done, run.seed + restart, box, crashes, corpus]
        child = [sys.executable, "-m", "torture.fuzz_child", *map(str, words)]
        ended = feed(child, box, work / "log")
        runs, data = Mailbox(box).get()
        done += runs
        if not ended:
            break
        (crashes / f"{ended}_{restart}").write_bytes(data)
        if done >= inputs:
            break
    return done


def feed(command: list[str], box: Path, log: Path) -> str:
    """Run a command to its end. Returns "hang" or "death" if the input in the box did that."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    with log.open("ab") as out:
        child = subprocess.Popen(
            command,
            stdout=out,
            stderr=out,
            env={**os.environ, "PYTHONPATH": path},
        )
    last, since = (-1, b""), 0.0
    while child.poll() is None:
        time.sleep(0.2)
        used, now = processor_seconds(child.pid), Mailbox(box).get() if box.exists() else (0, b"")
        if now != last:
            last, since = now, used
        elif now[0] and used - since > HANG_SECONDS:
            child.kill()
            child.wait()
            return "hang"
    return "" if child.returncode == 0 else "death"


def processor_seconds(pid: int) -> float:
    """Of a process so far; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def keep_reproducer(name: str, path: Path, log: Path) -> None:
    """Print an input that breaks a target, made smaller if it is a crash; keep it as a file."""
    data = path.read_bytes()
    if not path.name.startswith(("hang", "death")):
        with suppress(ChildFailed):  # then it is kept as it was found
            data = bytes.fromhex(call(partial(_smaller_hex, name, data), log, 120))
    kept = KEPT / "reproducers" / name.replace(" ", "-")
    kept.mkdir(parents=True, exist_ok=True)
    (kept / path.name).write_bytes(data)
    text = path.with_suffix(".txt")
    cause = last_lines(text, 1) if text.exists() else path.name
    print(f"fuzz: {name}: {cause}\n  {kept / path.name}: {data[:200]!r}", flush=True)


def _smaller_hex(name: str, data: bytes) -> str:
    from torture.fuzz_targets import targets

    return smaller(targets()[name], data).hex()


def smaller(target: Target, data: bytes) -> bytes:
    """A shorter input that breaks a target in the same way: pieces are removed as long as it does."""
    wanted = crash(target, data)
    if wanted is None:
        return data  # not every time
    step, tries = max(len(data) // 2, 1), 0
    while tries < MAX_TRIES:
        start, removed = 0, False
        while start < len(data) and tries < MAX_TRIES:
            tries += 1
            shorter = data[:start] + data[start + step :]
            error = crash(target, shorter)
            if error is not None and signature(error) == signature(wanted):
                data, removed = shorter, True
            else:
                start += step
        if step == 1 and not removed:
            break
        step = max(step // 2, 1)
    return data


PIECE = Piece("fuzz", torture, {"crashes": 0, "hangs": 0}, {"inputs": 1})
