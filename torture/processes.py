"""Children made by fork: the libraries are imported once, and each child is a real process."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PR_SET_PDEATHSIG = 1
MAX_SECONDS = 300.0  #: a child that takes longer hangs


class ChildFailed(Exception):
    """A child ended with an error; the text is what it printed last."""


def warm() -> None:
    """Import and compile here what every child needs."""
    import tantivy
    import warcio

    import recrawl
    import recrawl.cli
    import recrawl.fetch.download
    import recrawl.fetch.reactor
    import recrawl.search.index
    from recrawl.page.responses import Response, to_visits

    del tantivy, warcio
    with TemporaryDirectory() as folder, recrawl.open(folder, create=True) as store:
        page = Response("http://a.example/", 1.7e9, 200, {"content-type": "text/html"}, b"<p>Hello")
        store.append(to_visits([page]))
        recrawl.plan(store, 1, now=1.8e9, policy="poisson")


def die_with_parent() -> None:
    """End this process when the one that started it ends, however that is."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(work: Callable[[], object], log: Path) -> int:
    """The process id of a child that does the work; what it prints is added to `log`."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        die_with_parent()
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdout, sys.stderr = (os.fdopen(n, "w", buffering=1, closefd=False) for n in (1, 2))
        work()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:  # noqa: BLE001 (the child must not return into the parent's code)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def end(pid: int, seconds: float = MAX_SECONDS) -> int | None:
    """The exit code of a child, negative for a signal; None if it had to be killed."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    kill(pid)
    return None


def is_running(pid: int) -> bool:
    """Whether a child has not ended; its exit code stays to be asked for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def kill(pid: int) -> bool:
    """SIGKILL; returns whether the child was still running."""
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def call(work: Callable[[], Any], log: Path, seconds: float = MAX_SECONDS) -> Any:
    """What `work` returns in a child of its own, as JSON."""
    answer = log.with_suffix(".answer")
    code = end(start(lambda: answer.write_text(json.dumps(work())), log), seconds)
    if code != 0:
        raise ChildFailed(f"exit code {code}: {last_lines(log)}")
    return json.loads(answer.read_text())


def last_lines(log: Path, n: int = 3) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return " | ".join(lines[-n:])


def command(*words: object) -> None:
    """Run `recrawl` in this process, as its command line does."""
    from recrawl.cli import main

    with mock.patch.object(sys, "argv", ["recrawl", *map(str, words)]):
        try:
            main()
        except SystemExit as stop:
            if stop.code:
                raise


def rss(pid: int, field: str = "VmRSS") -> int:
    """Bytes of memory of a process now; the most so far with the field VmHWM."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0  # it has ended


@contextmanager
def living_web(log: Path, *, pages: int, days: int, speed: float) -> Iterator[tuple[str, Path]]:
    """A living web in a process of its own: its proxy, and a file of seeds."""
    read, write = os.pipe()
    seeds = log.with_suffix(".seeds")

    def serve_pages() -> None:
        from recrawl.lab.web import Behaviours, serve, trace_of

        trace = trace_of("poisson", pages=pages, days=days)
        # The share of hosts that fail, move their pages or lie, as on a normal day.
        behaviours = Behaviours(failing=0.1, redirects=0.05, lying=0.1, retry_after=0)
        with serve(trace, behaviours=behaviours, speed=speed) as web:
            seeds.write_text("".join(url + "\n" for url in web.seeds()))
            os.write(write, (web.proxy + "\n").encode())
            signal.pause()

    pid = start(serve_pages, log)
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            proxy = pipe.readline().strip()
        if not proxy:
            raise ChildFailed(f"the web did not start: {last_lines(log)}")
        yield proxy, seeds
    finally:
        kill(pid)
