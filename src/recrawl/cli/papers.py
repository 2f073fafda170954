"""`recrawl paper`: the experiments of papers, each a command that its wing announces."""

from __future__ import annotations

import logging
from importlib.metadata import entry_points
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

_log = logging.getLogger(__name__)
GROUP = "recrawl.papers"  #: entry points: name of the command = its function


class Wings(TyperGroup):
    """Commands that are imported when they are used."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return sorted(entry.name for entry in entry_points(group=GROUP))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        for entry in entry_points(group=GROUP, name=cmd_name):
            try:
                command = entry.load()
            except Exception as error:  # noqa: BLE001  # a wing that is not there, or broken
                _log.warning(
                    "The paper %s could not be imported, it is left out: %s", cmd_name, error
                )
                continue
            only = typer.Typer(add_completion=False)
            only.command(name=cmd_name)(command)
            return get_command(only)
        return None


paper = typer.Typer(help="Run the experiments of papers again.", cls=Wings, no_args_is_help=True)


@paper.callback()
def _paper() -> None:
    """Run the experiments of papers again."""
