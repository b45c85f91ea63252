"""Where to read from again, as options: the same for a group and for an application of Streams."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import click

from penstock.client.targets import Target

Command = TypeVar("Command", bound=Callable[..., Any])

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")


def target_options(command: Command) -> Command:
    """At most one of them may be given; `read_target` reads them."""
    for option in (
        click.option("--shift-by", type=int, help="So many records forward, or back if negative."),
        click.option("--to-offset", type=click.IntRange(min=0), help="To an offset in every partition."),
        click.option("--by-duration", metavar="DURATION", help="To so long ago, such as PT1H30M."),
        click.option(
            "--to-datetime", metavar="TIME", help="To a time, such as 2026-01-05T14:30:00.000 (UTC)."
        ),
        click.option("--to-latest", is_flag=True, help="To the end: what is there is not read again."),
        click.option("--to-earliest", is_flag=True, help="To the beginning; this is the default."),
    ):
        command = option(command)
    return command


def read_target(
    to_earliest: bool,
    to_latest: bool,
    to_datetime: str | None,
    by_duration: str | None,
    to_offset: int | None,
    shift_by: int | None,
) -> Target:
    """What the options say; the beginning when none of them is given."""
    given = [to_earliest, to_latest, to_datetime, by_duration, to_offset is not None, shift_by is not None]
    if sum(map(bool, given)) > 1:
        raise click.UsageError("Only one of the options that begin with --to, --by and --shift can be given.")
    timestamp = None
    if to_datetime is not None:
        timestamp = _milliseconds(to_datetime)
    elif by_duration is not None:
        timestamp = round(time.time() * 1000) - _duration_ms(by_duration)
    return Target(latest=to_latest, timestamp_ms=timestamp, offset=to_offset, shift_by=shift_by)


def _milliseconds(text: str) -> int:
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"{text!r} is no time; write 2026-01-05T14:30:00.000 (UTC).") from None
    moment = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


def _duration_ms(text: str) -> int:
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise click.UsageError(f"{text!r} is no duration; write P1D, PT1H30M or PT30S.")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds) // timedelta(milliseconds=1)
