"""`run`: an application as a program, which says when it runs and ends cleanly on Ctrl-C and SIGTERM."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Final

from penstock.client.admin import Admin
from penstock.client.errors import ClientError, TopicExists
from penstock.plan.errors import TopologyError
from penstock.settings.errors import SettingError
from penstock.streams.application import METRICS_LISTENER, Application

LOOK_EVERY_S: Final = 0.25
METRICS_VARIABLE: Final = "PENSTOCK_METRICS_LISTENER"
"""Opens `/metrics` of an application whose settings do not name an address."""
TOPICS_TIMEOUT_S: Final = 60.0
"""Kafka's `default.api.timeout.ms`: an application may start together with its cluster."""


def run(
    application: Application,
    *,
    topics: Mapping[str, Mapping[str, str]] | None = None,
    partitions: int | None = None,
    master: str = "local[*]",
) -> int:
    """Create the topics that are missing, run the application until it is told to stop, return its exit code.

    `topics` are names with their settings, such as `{"cleanup.policy": "compact"}`; `master` is Spark's:
    this machine, or `spark://host:port`. A line that begins with `ready` goes to standard output when records
    may come. Call it from the main thread: it listens to signals.
    """
    from penstock.spark.launch import session

    if listen := os.environ.get(METRICS_VARIABLE):
        application.settings.setdefault(METRICS_LISTENER, listen)
    try:
        create_missing_topics(application.bootstrap_servers, topics or {}, partitions, application.security)
        application.start(session(application.application_id, master))
        stop = _listen_for_signals()  # after the start: Spark puts a handler of its own on SIGINT
        print(f"ready {application.application_id}", flush=True)
        while not stop.is_set() and not application.wait(LOOK_EVERY_S):
            continue
    except (ClientError, TopologyError, SettingError) as error:
        return _failed(application, error)
    finally:
        application.close()
    return 0 if application.error is None else 1  # the application has logged its error


def create_missing_topics(
    bootstrap_servers: str,
    topics: Mapping[str, Mapping[str, str]],
    partitions: int | None = None,
    security: Mapping[str, str] | None = None,
) -> None:
    """Topics by name with their settings; those that exist stay as they are. `security` are Kafka's settings
    of how the brokers are reached."""
    if not topics:
        return
    admin = Admin(bootstrap_servers, timeout_s=TOPICS_TIMEOUT_S, settings=security)
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


def _failed(application: Application, error: object) -> int:
    print(f"{application.application_id}: {error}", file=sys.stderr)
    return 1
