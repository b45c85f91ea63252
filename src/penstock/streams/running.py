"""`run`: an application as a program, which says when it runs and ends cleanly on Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any, Final, Protocol

from penstock.client.admin import Admin
from penstock.client.errors import ClientError, TopicExists

LOOK_EVERY_S: Final = 0.25


class Runs(Protocol):
    """What `run` needs of an application."""

    @property
    def application_id(self) -> str: ...
    @property
    def bootstrap_servers(self) -> str: ...
    @property
    def error(self) -> BaseException | None: ...
    def start(self, spark: Any = None) -> None: ...
    def wait(self, timeout_seconds: float | None = None) -> bool: ...
    def close(self) -> None: ...


def run(
    application: Runs,
    *,
    topics: Mapping[str, Mapping[str, str]] | None = None,
    partitions: int | None = None,
    spark: Any = None,
) -> int:
    """Create the topics that are missing, run the application until it is told to stop, return its exit code.

    `topics` are names with their settings, such as `{"cleanup.policy": "compact"}`. A line that begins with
    `ready` goes to standard output once the application runs. Call it from the main thread: it listens to
    signals.
    """
    try:
        create_missing_topics(application.bootstrap_servers, topics or {}, partitions)
        application.start(spark)
        stop = _listen_for_signals()  # after the start: Spark puts a handler of its own on SIGINT
        print(f"ready {application.application_id}", flush=True)
        while not stop.is_set() and not application.wait(LOOK_EVERY_S):
            continue
    except ClientError as error:
        return _failed(application, error)
    finally:
        application.close()
    return 0 if application.error is None else _failed(application, application.error)


def create_missing_topics(
    bootstrap_servers: str, topics: Mapping[str, Mapping[str, str]], partitions: int | None = None
) -> None:
    """Topics by name with their settings; those that exist stay as they are."""
    if not topics:
        return
    admin = Admin(bootstrap_servers)
    for name, settings in topics.items():
        try:
            admin.create_topic(name, partitions, configs=settings)
        except TopicExists:
            continue


def _listen_for_signals() -> threading.Event:
    stop = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, note)
    return stop


def _failed(application: Runs, error: object) -> int:
    print(f"{application.application_id}: {error}", file=sys.stderr)
    return 1
