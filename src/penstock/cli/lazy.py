"""A group of commands, each imported when it is called, so that starting a broker loads no client."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """`lazy` gives for each command where it is, as `module:attribute`, and the sentence that help shows."""

    def __init__(self, *, lazy: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in sorted(self._lazy.items())])
