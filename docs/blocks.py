"""Runs the code blocks of the documentation; `python docs/blocks.py` rewrites their output.

A `console` block holds `$ command` lines, each followed by what it prints on a terminal. `python`
blocks run one after the other, as in one session. `toml` blocks are rules files. All blocks of a
page share a folder that holds the demo's crawl.jsonl.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from recrawl.planner import load_rules

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
COLOUR = re.compile(r"\x1b\[[0-9;]*m|\r")
BLOCK = re.compile(r"^```(console|python|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(page: Path, folder: Path) -> str:
    """The text of a page, with the present output of its console blocks."""
    log = folder / "crawl.jsonl"
    if not log.exists():
        with log.open("w") as file:
            subprocess.run([sys.executable, "-m", "recrawl.lab.worlds"], stdout=file, check=True)
    session: list[str] = []

    def block(match: re.Match[str]) -> str:
        kind, body = match.groups()
        if kind == "console":
            body = _console(body, folder)
        elif kind == "python":
            session.append(body)
        else:
            rules = folder / "rules.toml"
            rules.write_text(body)
            load_rules(rules)
        return f"```{kind}\n{body}```"

    text = BLOCK.sub(block, page.read_text())
    if session:
        _python("\n".join(session), folder)
    return text


def _console(body: str, folder: Path) -> str:
    lines = []
    for command in re.findall(r"^\$ (.*)$", body, re.MULTILINE):
        lines += [f"$ {command}", *_terminal(command, folder)]
    return "".join(line.rstrip() + "\n" for line in lines)


def _terminal(command: str, folder: Path) -> list[str]:
    """What the command prints if standard output is a terminal."""
    reader, terminal = os.openpty()
    plain = {"TERM": "xterm", "COLUMNS": "100"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=folder, stdout=terminal, stderr=subprocess.PIPE,
        env={**os.environ, **plain, "PATH": path},
    )  # fmt: skip
    os.close(terminal)
    printed = b""
    assert process.stderr is not None
    while True:
        try:
            piece = os.read(reader, 65536)
        except OSError:  # the command has closed the terminal
            break
        printed += piece
    os.close(reader)
    with process.stderr as errors:
        printed = errors.read() + printed
    if process.wait():
        raise RuntimeError(f"{command!r} failed:\n{printed.decode()}")
    return COLOUR.sub("", printed.decode()).splitlines()


def _python(code: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(run(page, Path(folder)))
