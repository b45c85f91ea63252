"""Log lines of services that the command line runs: standard error, UTC, one line each, as text or as JSON.

`PENSTOCK_LOG_FORMAT=json` makes every line a JSON object: `time`, `level`, `logger`, `message`, `request`
where there is one, and `error` with the stack of an exception.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from typing import Any

import click

from penstock.settings.log_context import CURRENT_REQUEST

FORMAT_VARIABLE = "PENSTOCK_LOG_FORMAT"

log_level_option = click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
    default="info",
    show_default=True,
    help=f"What is logged to standard error. {FORMAT_VARIABLE}=json writes JSON lines.",
)


class _Text(logging.Formatter):
    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        request = CURRENT_REQUEST.get()
        text = super().format(record)
        return f"{text} [{request}]" if request and record.exc_info is None else text


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request := CURRENT_REQUEST.get():
            line["request"] = str(request)
        if record.exc_info is not None:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _switch(usual: str) -> None:
    """The root logger goes from its usual level to debug, and back at the next signal."""
    root = logging.getLogger()
    wanted = usual if root.level == logging.DEBUG else "DEBUG"
    root.setLevel(wanted)
    root.log(max(logging.INFO, root.level), "SIGUSR1: the log level is %s now", wanted)


def log_to_stderr(level: str) -> None:
    """Called once, by the command of a service, before anything is logged. SIGUSR1 switches the level to
    debug and back while the service runs."""
    handler = logging.StreamHandler()
    layout = "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s"
    formatter = (
        JsonLines() if os.environ.get(FORMAT_VARIABLE) == "json" else _Text(layout, "%Y-%m-%dT%H:%M:%S")
    )
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler])
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGUSR1, lambda *_: _switch(level.upper()))
    logging.getLogger("hpack").setLevel(logging.INFO)  # below it logs every header, passwords among them
    if level.lower() != "debug":
        logging.getLogger("py4j").setLevel(logging.WARNING)  # it logs every batch of a Spark query
