"""An environment with the wheel of this checkout and nothing but what its metadata asks for.

Packages are linked from the running environment, so that no network is needed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout, built from a copy because a build leaves files behind."""
    copy = folder / "source"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("*.egg-info", "__p*"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(copy)], check=True)
    [wheel] = folder.glob("recrawl-*.whl")
    return wheel


def make_environment(folder: Path, wheel: Path, *tools: str) -> Path:
    """The Python of a new environment: the wheel, its plain dependencies, and some tools."""
    venv.create(folder, with_pip=False, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    options = ["--no-deps", "--no-index", "--quiet", "--target", str(packages)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(wheel)], check=True)
    [ours] = distributions(path=[str(packages)], name="recrawl")
    for package in dependencies([*_requirements(ours, {""}), *map(Requirement, tools)]).values():
        _link(package, packages)
    return folder / "bin" / "python"


def dependencies(wanted: Iterable[Requirement]) -> dict[str, Distribution]:
    """The distributions that meet these requirements, and all that those need, by name."""
    needed: dict[str, Distribution] = {}
    waiting = list(wanted)
    while waiting:
        requirement = waiting.pop()
        if requirement.name not in needed or requirement.extras:
            needed[requirement.name] = package = distribution(requirement.name)
            waiting += _requirements(package, requirement.extras or {""})
    return needed


def _requirements(package: Distribution, extras: set[str]) -> Iterator[Requirement]:
    for line in package.requires or ():
        requirement = Requirement(line)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
            yield requirement


def _link(package: Distribution, packages: Path) -> None:
    for file in package.files or ():
        target = packages / file
        if ".." in file.parts or target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(file.locate())
