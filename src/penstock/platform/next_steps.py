"""What a person can do when the platform is up: five lines to paste."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

DEFAULT_SERVERS = "127.0.0.1:9092"
DEFAULT_SQL = "http://127.0.0.1:8088"


def next_steps(bootstrap_servers: str, sql_url: str, console_url: str, scripts: Sequence[str]) -> str:
    """`scripts` are the names of those that run: the example's topics are worth a look."""
    penstock = command_name()
    where = "" if bootstrap_servers == DEFAULT_SERVERS else f" --bootstrap-servers {bootstrap_servers}"
    sql = "" if sql_url == DEFAULT_SQL else f" {sql_url}"
    topic = "trade-statistics" if "stock_statistics" in scripts else "greetings"
    lines = (
        f"{penstock} topic list{where}",
        f"echo hello | {penstock} produce greetings{where}",
        f"{penstock} consume {topic} --from-beginning --max {3 if topic != 'greetings' else 1}{where}",
        f"{penstock} sql shell{sql} -e 'SHOW TOPICS;'",
        f"{penstock} doctor{where}",
    )
    shown = "\n".join(f"  {line}" for line in lines)
    return f"\nNext, in another terminal (Ctrl-C here stops everything):\n{shown}\nAnd look: {console_url}"


def command_name() -> str:
    """`penstock`, or the path to it when the shell would not find this one."""
    own = Path(sys.argv[0])
    found = shutil.which("penstock")
    if own.name != "penstock":
        return "penstock"
    if found is not None and os.path.realpath(found) == os.path.realpath(own):
        return "penstock"
    relative = os.path.relpath(own)
    return relative if len(relative) < len(str(own)) else str(own)
