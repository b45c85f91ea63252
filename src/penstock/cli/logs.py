"""Log lines of services that the command line runs: standard error, UTC, one line each."""

from __future__ import annotations

import logging
import time

import click

log_level_option = click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
    default="info",
    show_default=True,
    help="What is logged to standard error.",
)


def log_to_stderr(level: str) -> None:
    """Called once, by the command of a service, before anything is logged."""
    handler = logging.StreamHandler()
    formatter = logging.Formatter(
        "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S"
    )
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler])
