"""What the REST API asks of a worker that drives: it decides, writes the config topic, and tells the runs.

A request changes what is wanted and returns; one thread (`reconciling`) starts and ends runs until what runs
is what is wanted. Everything here blocks; the HTTP shell calls it from threads.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from penstock.client.errors import ClientError
from penstock.connect.api.guards import ALLOWED_PATHS
from penstock.connect.api.source import SourceConnector
from penstock.connect.config.validation import Validated, validate
from penstock.connect.errors import ConnectError
from penstock.connect.plugins import Plugin, UnknownConnector, load_plugins
from penstock.connect.worker import layout, refusals
from penstock.connect.worker.connector_logs import ConnectorLogs
from penstock.connect.worker.layout import PAUSED, STARTED, STOPPED, Entry
from penstock.connect.worker.offset_stores import FileOffsets, OffsetStore, TopicOffsets
from penstock.connect.worker.redrive import redrive
from penstock.connect.worker.runs import FAILED, INJECTED, Job, Run
from penstock.connect.worker.secrets import merged_secrets, validation_shown, without_secrets
from penstock.connect.worker.settings import WorkerSettings
from penstock.connect.worker.sink_run import SinkRun
from penstock.connect.worker.source_run import SourceRun
from penstock.connect.worker.spark_jobs import SparkJobs
from penstock.connect.worker.state import Connector, read_connectors, read_statuses
from penstock.connect.worker.statuses import StatusBook
from penstock.connect.worker.topics import FencedWriter, NotDriver, WorkerTopics
from penstock.connect.worker.worker_metrics import worker_samples
from penstock.metrics.text import Sample
from penstock.settings.config_providers import ConfigProviders
from penstock.settings.errors import SettingError
from penstock.web.errors import HttpError

RESTARTING: Final = "RESTARTING"
ENDED_WITHIN_S: Final = 30.0
IDLE_S: Final = 10.0
"""How often a worker without connectors looks; a change wakes it."""
_log = logging.getLogger(__name__)


class Herder:
    """Of one worker. `drive` begins, `resign` ends what runs here."""

    def __init__(self, settings: WorkerSettings, worker_id: str) -> None:
        self.settings = settings
        self.plugins = load_plugins(settings.plugin_path)
        self.topics = WorkerTopics(settings)
        self.logs = ConnectorLogs()
        self.logs.attach()
        self._providers = ConfigProviders.of(settings.given, os.environ)
        self._jobs = SparkJobs(settings)
        self._offset_file = FileOffsets(settings.offset_file) if settings.offset_file else None
        self._connectors: dict[str, Connector] = {}
        self._runs: dict[str, Run] = {}
        self._gone = (0, 0)
        """Attempts to start a connector, and successes, of runs that are over."""
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._driving = False
        self._writing = threading.Lock()
        self._writer: FencedWriter | None = None
        write = None
        if settings.distributed:

            def write(entries: Any) -> None:
                self.topics.write(settings.status_topic, entries)

        self.statuses = StatusBook(worker_id, self._version_of, write)
        threading.Thread(target=self._reconcile, name="reconciling", daemon=True).start()

    # -- driving

    @property
    def driving(self) -> bool:
        return self._driving

    def drive(self) -> None:
        """Take over: fence the driver before, read what it left, and run it."""
        settings = self.settings
        found: dict[str, Connector] = {}
        self._writer = None
        if settings.distributed and self.topics.exists(settings.config_topic):
            self._fence()
            found = read_connectors(self.topics.read(settings.config_topic))
            self.statuses.load(read_statuses(self.topics.read(settings.status_topic)))
        with self._changed:
            self.statuses.generation += 1
            self._connectors = found
            self._driving = True
            self._changed.notify_all()

    def resign(self) -> None:
        """Another worker drives, or this one ends: nothing runs here any more."""
        with self._changed:
            self._driving = False
            runs = list(self._runs.values())
            for run in runs:
                run.end()
            self._changed.notify_all()
        for run in runs:
            run.join(ENDED_WITHIN_S)

    def close(self) -> None:
        self.resign()
        self.statuses.end()
        self._jobs.stop()
        self.logs.detach()

    # -- asking

    def names(self) -> list[str]:
        with self._lock:
            return list(self._connectors)

    def find(self, name: str) -> Connector:
        with self._lock:
            found = self._connectors.get(name)
        if found is None:
            raise refusals.not_found(f"Connector {name} not found")
        return found

    def info(self, name: str, *, tasks: bool = True) -> dict[str, Any]:
        found = self.find(name)
        plugin = self._plugin(found.config)
        return {
            "name": name,
            "config": without_secrets(found.config, plugin),
            "tasks": [{"connector": name, "task": n} for n in range(len(found.tasks))] if tasks else [],
            "type": plugin.kind,
        }

    def status(self, name: str) -> dict[str, Any]:
        connector, tasks = self.statuses.shown(name)
        with self._lock:
            found = self._connectors.get(name)
        if connector is None or found is None:
            raise refusals.not_found(f"No status found for connector {name}")
        kind = self._plugin(found.config).kind
        return {"name": name, "connector": connector, "tasks": tasks, "type": kind}

    def samples(self) -> Iterator[Sample]:
        """Kafka Connect's numbers, of what runs in this worker."""
        with self._lock:
            runs, names = dict(self._runs), list(self._connectors) if self._driving else []
            gone = self._gone
        yield from worker_samples(runs, names, self.statuses, gone)

    def task_configs(self, name: str) -> list[dict[str, Any]]:
        found = self.find(name)
        plugin = self._plugin(found.config)
        return [
            {"id": {"connector": name, "task": number}, "config": without_secrets(config, plugin)}
            for number, config in enumerate(found.tasks)
        ]

    def validate(self, plugin: Plugin, config: Mapping[str, str]) -> Validated:
        resolved = self._resolved(config)
        found = validate(plugin, resolved, self.settings.defaults)
        return validation_shown(found, config, resolved, plugin)

    # -- changing

    def create(self, name: str, config: Mapping[str, str], state: str = STARTED) -> dict[str, Any]:
        with self._lock:
            if name in self._connectors:
                raise refusals.conflict(f"Connector {name} already exists")
        return self._put(name, self._checked(name, config), state)

    def put(self, name: str, config: Mapping[str, str]) -> tuple[bool, dict[str, Any]]:
        """Whether the connector is new, and what is shown of it."""
        with self._lock:
            known = self._connectors.get(name)
        if known is not None:
            config = merged_secrets(config, known.config)
        checked = self._checked(name, config)
        return known is None, self._put(name, checked, STARTED if known is None else None)

    def patch(self, name: str, changes: Mapping[str, str | None]) -> dict[str, Any]:
        known = self.find(name).config
        kept = {key: value for key, value in known.items() if key not in changes}
        given = {key: value for key, value in changes.items() if value is not None}
        return self.put(name, {**kept, **given})[1]

    def delete(self, name: str) -> None:
        self.find(name)
        self._write([layout.connector(name, None), layout.target(name, None)])
        with self._changed:
            self._connectors.pop(name, None)
            self._changed.notify_all()
        self._await_ended(name)
        self.statuses.forget(name)
        self.logs.forget(name)

    def set_target(self, name: str, state: str) -> None:
        with self._lock:
            found = self._connectors.get(name)
        if found is None:
            raise refusals.not_found(f"Unknown connector {name}")
        entries = [layout.target(name, state)]
        if state == STOPPED:
            entries.append(layout.commit(name, 0))
        self._write(entries)
        with self._changed:
            found.target = state
            if state == STOPPED:
                found.tasks = []
            self._changed.notify_all()

    def restart(self, name: str, *, include_tasks: bool, only_failed: bool) -> dict[str, Any] | None:
        """What is restarted, if anything but the connector itself was asked for."""
        with self._lock:
            found = self._connectors.get(name)
        if found is None:
            raise refusals.not_found(f"Unknown connector: {name}")
        failed = self.statuses.connector_state(name) == FAILED
        whole = failed or (include_tasks and not only_failed)
        states = self.statuses.task_states(name)
        numbers = [n for n, state in states.items() if include_tasks and (not only_failed or state == FAILED)]
        if not include_tasks and not only_failed:
            if failed:
                self._anew(found)
            return None
        shown = self.status(name)
        if whole or not only_failed:
            shown["connector"]["state"] = RESTARTING
            shown["connector"].pop("trace", None)
        for task in shown["tasks"]:
            if task["id"] in numbers:
                task["state"] = RESTARTING
                task.pop("trace", None)
        if whole:
            self._anew(found)
        elif numbers:
            self._restart_tasks(name, numbers)
        return shown

    def restart_task(self, name: str, number: int) -> None:
        with self._lock:
            found = self._connectors.get(name)
        if found is None:
            raise refusals.not_found(f"Unknown connector: {name}")
        if number >= len(found.tasks):
            raise refusals.not_found(f"Unknown task: {name}-{number}")
        self._restart_tasks(name, [number])

    def stopped(self, name: str) -> tuple[Connector, Plugin]:
        """A connector whose offsets may be changed."""
        found = self.find(name)
        if found.target != STOPPED:
            raise refusals.bad_request(
                "Connectors must be in the STOPPED state before their offsets can be modified. This can be "
                "done for the specified connector by issuing a 'PUT' request to the "
                f"'/connectors/{name}/stop' endpoint"
            )
        self._await_ended(name)
        return found, self._plugin(found.config)

    def redrive(self, name: str) -> int:
        """Sends the dead letters of a sink again; how many."""
        found = self.find(name)
        if self._plugin(found.config).kind != "sink":
            raise refusals.bad_request("Dead letters of a source have no topic that they came from")
        try:
            return redrive(self.topics.connection, name, found.config)
        except ConnectError as error:
            raise refusals.bad_request(str(error)) from None

    def offsets(self, found: Connector) -> OffsetStore:
        """Where the offsets of a source are."""
        own = found.config.get("offsets.storage.topic")
        if self._offset_file is not None and not own:
            return self._offset_file
        return TopicOffsets(self.topics, own or self.settings.offset_topic)

    def source(self, found: Connector, plugin: Plugin) -> SourceConnector:
        made = plugin.connector(self._resolved(found.config))
        assert isinstance(made, SourceConnector)
        return made

    # -- what runs report

    def tasks(self, name: str, configs: list[dict[str, str]]) -> None:
        """A run knows the settings of its tasks: they are written if they are new."""
        with self._lock:
            found = self._connectors.get(name)
            if found is None or found.tasks == configs:
                return
        entries = [layout.task(name, number, config) for number, config in enumerate(configs)]
        self._write([*entries, layout.commit(name, len(configs))])
        with self._lock:
            found.tasks = configs
        self.statuses.only_tasks(name, len(configs))

    def connector(self, name: str, state: str, trace: str | None = None) -> None:
        self.statuses.connector(name, state, trace)

    def task(self, name: str, number: int, state: str, trace: str | None = None) -> None:
        self.statuses.task(name, number, state, trace)

    # -- within

    def _checked(self, name: str, config: Mapping[str, str]) -> dict[str, str]:
        """The configuration with its name in it; refused with every mistake at once."""
        if config.get("name", name) != name:
            raise refusals.bad_request(
                f"Connector name configuration ({config['name']}) doesn't match connector name in the URL "
                f"({name})"
            )
        given = {**config, "name": name}
        if not given.get("connector.class"):
            raise refusals.bad_request(no_connector_type(given))
        try:
            plugin = self.plugins.find(given["connector.class"])
            resolved = self._resolved(given)
        except UnknownConnector as error:
            raise refusals.bad_request(str(error)) from None
        except SettingError as error:
            raise refusals.bad_request(str(error)) from None
        found = validate(plugin, resolved, self.settings.defaults)
        if found.errors:
            raise refusals.invalid_config(validation_shown(found, given, resolved, plugin).errors)
        return given

    def _put(self, name: str, config: dict[str, str], state: str | None) -> dict[str, Any]:
        """Written first, then wanted."""
        entries: list[Entry] = [] if state in (None, STARTED) else [layout.target(name, state)]
        self._write([*entries, layout.connector(name, config)])
        with self._changed:
            known = self._connectors.get(name)
            if known is None:
                self._connectors[name] = Connector(config, state or STARTED)
            else:
                known.config = config
                known.generation += 1
            self._changed.notify_all()
        return self.info(name, tasks=known is not None)

    def _fence(self) -> FencedWriter:
        """The driver before cannot write any more. Topics that are missing are made: a worker without
        connectors has none."""
        settings = self.settings
        self.topics.ensure([settings.config_topic, settings.status_topic, settings.offset_topic])
        self._writer = self.topics.fenced_writer(f"connect-cluster-{settings.group_id}")
        return self._writer

    def _write(self, entries: list[Entry]) -> None:
        if not self.settings.distributed:
            return
        try:
            with self._writing:
                writer = self._writer or self._fence()
            writer.write(self.settings.config_topic, entries)
        except NotDriver as error:
            raise refusals.conflict(str(error)) from error
        except ConnectError as error:
            raise refusals.failed(str(error)) from error

    def _plugin(self, config: Mapping[str, str]) -> Plugin:
        try:
            return self.plugins.find(config.get("connector.class", ""))
        except UnknownConnector as error:
            raise refusals.bad_request(str(error)) from None

    def _version_of(self, name: str) -> str:
        with self._lock:
            found = self._connectors.get(name)
        with suppress(ConnectError):
            return self.plugins.find(found.config.get("connector.class", "")).version if found else ""
        return ""

    def _resolved(self, config: Mapping[str, str]) -> dict[str, str]:
        """With secrets in place of their variables, and what the worker adds."""
        own = {key: value for key, value in config.items() if not key.startswith(INJECTED)}
        return {**self._providers.resolve(own), ALLOWED_PATHS: self.settings.allowed_paths}

    def _anew(self, found: Connector) -> None:
        with self._changed:
            found.generation += 1
            self._changed.notify_all()

    def _restart_tasks(self, name: str, numbers: list[int]) -> None:
        with self._lock:
            run = self._runs.get(name)
        if run is not None:
            run.restart_tasks(numbers)

    def _await_ended(self, name: str) -> None:
        with self._changed:
            self._changed.wait_for(lambda: name not in self._runs, ENDED_WITHIN_S)
            if name in self._runs:
                raise refusals.conflict(f"Connector {name} is still ending its last batch. Ask again")

    # -- the reconciling thread

    def _reconcile(self) -> None:
        while True:
            with self._changed:
                self._changed.wait(0.2 if self._runs else IDLE_S)
                changes = [*self._endings(), *self._beginnings()]
            for change in changes:
                try:
                    change()
                except (ConnectError, ClientError, SettingError, HttpError) as error:
                    _log.warning("a connector could not be changed: %s", error)

    def _endings(self) -> list[Callable[[], None]]:
        """Runs that are over are taken away; those that are not wanted are told to end."""
        told: list[Callable[[], None]] = []
        for name, run in list(self._runs.items()):
            wanted = self._connectors.get(name) if self._driving else None
            ends = wanted is None or wanted.generation != run.job.generation or wanted.target == STOPPED
            if ends:
                run.end()
            else:
                assert wanted is not None
                run.pause(wanted.target == PAUSED)
            if ends and not run.is_alive():
                del self._runs[name]
                self._gone = (self._gone[0] + run.starts, self._gone[1] + run.started)
                self._changed.notify_all()
                if wanted is not None and wanted.target == STOPPED:
                    told.append(lambda name=name: self._told_stopped(name))  # type: ignore[misc]
        return told

    def _beginnings(self) -> list[Callable[[], None]]:
        told: list[Callable[[], None]] = []
        if not self._driving:
            return told
        for name, wanted in self._connectors.items():
            if name in self._runs:
                continue
            if wanted.target == STOPPED:
                if self.statuses.connector_state(name) != STOPPED:
                    told.append(lambda name=name: self._told_stopped(name))  # type: ignore[misc]
            else:
                self._begin(name, wanted)
        return told

    def _told_stopped(self, name: str) -> None:
        self.statuses.connector(name, STOPPED)
        self.statuses.only_tasks(name, 0)

    def _begin(self, name: str, wanted: Connector) -> None:
        try:
            plugin = self.plugins.find(wanted.config.get("connector.class", ""))
            config = self._resolved(wanted.config)
        except (ConnectError, SettingError) as error:
            if self.statuses.connector_state(name) != FAILED:
                self.statuses.connector(name, FAILED, str(error))
            return
        job = Job(
            name, plugin, config, dict(wanted.config), bool(wanted.tasks), wanted.generation, self.settings,
            self._jobs, self.topics, self.offsets(wanted), self,
        )  # fmt: skip
        run = (SourceRun if plugin.kind == "source" else SinkRun)(job)
        run.pause(wanted.target == PAUSED)
        self._runs[name] = run
        run.start()

    def used(self, name: str, used: Mapping[str, int]) -> None:
        self.statuses.topics(name, used)


def no_connector_type(config: Mapping[str, str]) -> str:
    shown = ", ".join(f"{key}={value}" for key, value in without_secrets(config).items())
    return f"Connector config {{{shown}}} contains no connector type"
