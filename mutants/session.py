"""A run over a sample of mutants that can be stopped at any time and goes on where it was."""

from __future__ import annotations

import compileall
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from mutants.children import TIMED_OUT, freeze_kernels, in_child, run_tests
from mutants.covering import Test, choose, file_digest, record, test_files
from mutants.definitions import Definitions
from mutants.sites import Mutant, mutants

MODULES = (
    *("rates", "allocate", "policies", "planner", "newlinks", "neighbours", "evolve", "auto"),
    *("search", "papers/dang", "papers/pandey", "papers/radinsky", "papers/santos"),
)
#: Files of the papers that only say what is run and how it is drawn.
NOT_ALGORITHMS = {"page.py", "command.py", "figures.py"}
MIN_SAMPLE = 30  #: mutants of a module at least, if it has as many
COMPILE_SECONDS = 120  #: of processor time, for kernels; those of a simulation take a minute
FOLDER = Path(".mutants")


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: `killed`, `timed out` (also noticed), `survived` or `untested`."""

    id: str
    stamp: str  #: of the code and tests it was tried with
    status: str
    by: str = ""  #: the first test that failed

    @property
    def is_noticed(self) -> bool:
        return self.status in ("killed", "timed out")


class Session:
    """A copy of the checkout, its mutants in the order they are tried, and what became of them."""

    def __init__(self, root: Path, copies: int, seed: int = 0) -> None:
        self.folder = (root / FOLDER).absolute()
        self.trees = [self.folder / f"tree{i}" for i in range(copies)]
        for tree in self.trees:
            copy(root, tree)
        self.tree = self.trees[0]
        self.digests = digests(self.tree)  # read before a worker breaks a file
        self.definitions = Definitions(self.tree)
        self.mutants = {module: in_order(self.tree, module, seed) for module in MODULES}
        self.results = self.folder / "results.jsonl"
        self.stamps = {d.path: 0 for d in self.definitions.of.values() if d.is_kernel}
        self.stamps = {path: int(self.digest(path), 16) >> 8 for path in self.stamps}
        # Kernels hold copies of those they call in other files: one cache for each set of files.
        together = hashlib.sha256(repr(sorted(self.stamps.items())).encode()).hexdigest()[:16]
        os.environ["NUMBA_CACHE_DIR"] = str(self.folder / f"numba-{together}")
        self.tests: list[Test] = []
        self.checked: set[str] = set()  #: tests that passed on the unbroken code

    def digest(self, path: str) -> str:
        return self.digests[path]

    def record(self) -> None:
        """Find out which tests run which functions."""
        folders = tuple(f"src/recrawl/{module}" for module in MODULES)
        kept = self.folder / "covering"
        files = test_files(self.tree, folders)
        self.tests = record(self.trees, kept, files, self.definitions, self.stamps)

    def sample(self, size: int | None) -> dict[str, list[Mutant]]:
        """About `size` mutants, shared by the modules as they have mutants; None for all."""
        total = sum(map(len, self.mutants.values()))
        wanted = {
            module: len(all_) if size is None else max(MIN_SAMPLE, round(size * len(all_) / total))
            for module, all_ in self.mutants.items()
        }
        return {module: all_[: wanted[module]] for module, all_ in self.mutants.items()}

    def outcomes(self) -> dict[str, list[Outcome]]:
        """What became of each mutant, by its id, the newest last."""
        found: dict[str, list[Outcome]] = defaultdict(list)
        if self.results.exists():
            for line in self.results.read_text().splitlines():
                outcome = Outcome(**json.loads(line))
                found[outcome.id].append(outcome)
        return found

    def tests_of(self, mutant: Mutant) -> tuple[list[Test], set[tuple[str, str]]]:
        """Tests that may notice a mutant, and the kernels to compile again."""
        functions, stale = self.definitions.users(mutant.path, mutant.where)
        definition = self.definitions.of.get((mutant.path, mutant.where))
        is_seen = definition and definition.is_function and not definition.is_kernel
        wanted = {(mutant.path, mutant.where)} if is_seen else functions
        return choose(self.tests, wanted), stale | {(mutant.path, mutant.where)}

    def latest(self, mutant: Mutant, tried: dict[str, list[Outcome]]) -> Outcome | None:
        """What became of a mutant of this code, the last time it was tried."""
        digest = self.digest(mutant.path)
        same = [one for one in tried.get(mutant.id, []) if one.stamp.startswith(digest)]
        return same[-1] if same else None

    def is_left(self, mutant: Mutant, tried: dict[str, list[Outcome]]) -> bool:
        """Whether to try a mutant; a survivor again when its tests have changed."""
        outcome = self.latest(mutant, tried)
        if outcome is None or outcome.is_noticed:
            return outcome is None
        return outcome.stamp != self.stamp(mutant)

    def stamp(self, mutant: Mutant, tests: list[Test] | None = None) -> str:
        if tests is None:
            tests = self.tests_of(mutant)[0]
        files = sorted({test.file for test in tests})
        return self.digest(mutant.path) + "".join(self.digest(file)[:4] for file in files)

    def run(self, left: list[Mutant], worker: int) -> None:
        """Try the mutants of a worker's files, in its own tree."""
        files: dict[str, list[Mutant]] = defaultdict(list)
        for mutant in left:
            files[mutant.path].append(mutant)
        for path in list(files)[worker :: len(self.trees)]:
            for mutant in files[path]:
                began = time.monotonic()
                outcome = self.outcome(mutant, worker)
                line = json.dumps(outcome.__dict__) + "\n"
                with self.results.open("a") as file:
                    file.write(line)
                seconds = time.monotonic() - began
                where = f"{path.removeprefix('src/recrawl/')}:{mutant.line}"
                print(f"{seconds:5.1f} s  {outcome.status:9s} {where}  {mutant.id}", flush=True)

    def outcome(self, mutant: Mutant, worker: int) -> Outcome:
        tests, stale = self.tests_of(mutant)
        if not tests:
            return Outcome(mutant.id, self.stamp(mutant, tests), "untested")
        code = self.try_code(mutant.path, mutant.code, tests, stale, worker)
        if code == 0:
            return Outcome(mutant.id, self.stamp(mutant, tests), "survived")
        if code == TIMED_OUT:
            return Outcome(mutant.id, self.stamp(mutant, []), "timed out")
        failed = self.first_failed(worker)
        alone = [test for test in tests if test.id == failed]
        alone = alone or [test for test in tests if test.file == failed][:1]  # cannot be imported
        self.check(mutant.path, alone or tests, stale, worker)
        return Outcome(mutant.id, self.stamp(mutant, []), "killed", failed)

    def try_code(
        self, path: str, code: bytes, tests: list[Test], stale: set[tuple[str, str]], worker: int
    ) -> int:
        """Exit code of tests while a file of the worker's tree holds other code."""
        tree, log = self.trees[worker], self.log(worker)
        file = tree / path
        was, at = file.read_bytes(), file.stat()

        def work() -> int:
            freeze_kernels(tree, self.stamps, stale)
            return run_tests(tree, [test.id for test in tests], log)

        seconds = COMPILE_SECONDS + 3 * sum(test.seconds for test in tests)
        try:
            file.write_bytes(code)
            return in_child(work, seconds)
        finally:
            file.write_bytes(was)
            os.utime(file, ns=(at.st_atime_ns, at.st_mtime_ns))  # its bytecode is valid again

    def check(self, path: str, tests: list[Test], stale: set[tuple[str, str]], worker: int) -> None:
        """Refuse to go on when a test fails on the unbroken code; each is run once."""
        tests = [test for test in tests if test.id not in self.checked]
        source = (self.trees[worker] / path).read_bytes()
        if tests and self.try_code(path, source, tests, stale, worker) != 0:
            raise SystemExit(
                f"the tests of {path} fail on the unbroken code; see {self.log(worker)}"
            )
        self.checked |= {test.id for test in tests}

    def log(self, worker: int) -> Path:
        return self.folder / f"log{worker}"

    def first_failed(self, worker: int) -> str:
        lines = self.log(worker).read_text(errors="replace").splitlines()
        failed = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
        return failed[0].partition(" ")[2].partition(" - ")[0] if failed else ""


def copy(root: Path, tree: Path) -> None:
    """Make `tree` hold the files of the checkout that git knows or would add, and compile them."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True).stdout
    paths = {path for path in listed.split("\0") if path and (root / path).is_file()}
    for old in sorted(tree.rglob("*")):
        if old.is_file() and old.suffix != ".pyc" and str(old.relative_to(tree)) not in paths:
            old.unlink()
    for path in paths:
        new = tree / path
        if not new.exists() or new.read_bytes() != (root / path).read_bytes():
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / path, new)
    compileall.compile_dir(tree / "src", quiet=2)


def digests(tree: Path) -> dict[str, str]:
    """The digest of each source and test file."""
    files = [file for top in ("src", "tests") for file in (tree / top).rglob("*.py")]
    return {str(file.relative_to(tree)): file_digest(file) for file in files}


def in_order(tree: Path, module: str, seed: int) -> list[Mutant]:
    """All mutants of a module in an order by chance, which other lines of code do not change."""
    files = sorted((tree / "src/recrawl" / module).rglob("*.py"))
    paths = [str(file.relative_to(tree)) for file in files if file.name not in NOT_ALGORITHMS]
    found = [mutant for path in paths for mutant in mutants(tree, path)]
    return sorted(found, key=lambda mutant: hashlib.sha256(f"{seed}{mutant.id}".encode()).digest())
