"""Copies schemas to other registries, for the exporters that this process owns. One thread.

Each pass copies what is new since the one before. A schema keeps its id and its version, so a copy that was
made already is no change; the other registry takes ids in its mode IMPORT, which is set where it is not yet.
A pass that fails is told in the exporter's status and is made again.
"""

from __future__ import annotations

import base64
import logging
import threading
from typing import Any, Final
from urllib.parse import quote

from penstock.client.errors import ClientError
from penstock.client.schema_registry import NotRegistered, RegistryError, SchemaRegistry
from penstock.clock import Clock
from penstock.registry import exporting
from penstock.registry.exporting import URL, Copy
from penstock.registry.records import ExporterValue
from penstock.registry.state import State
from penstock.registry.subjects import Subject
from penstock.registry.topic import SchemasTopic
from penstock.web.errors import HttpError

PASS_S: Final = 0.5
"""How long after a pass the next one begins."""
_log = logging.getLogger(__name__)


class ExportRunner:
    def __init__(self, topic: SchemasTopic, source: str, owner: str, clock: Clock) -> None:
        """`source` names this registry in contexts of the type AUTO, `owner` this process."""
        self._topic = topic
        self._source = source
        self._owner = owner
        self._clock = clock
        self._stopped = threading.Event()
        self._running: dict[str, _Export] = {}
        self._thread = threading.Thread(target=self._run, name="registry-exporters", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(2 * PASS_S)  # it may wait for another registry, which is no reason to stay

    def _run(self) -> None:
        while not self._stopped.wait(PASS_S):
            state = self._topic.view.state
            for name in self._running.keys() - state.exporters.keys():
                del self._running[name]
            for name, exporter in state.exporters.items():
                try:
                    self._advance(name, exporter)
                except (ClientError, HttpError) as error:  # the own topic: tried again in the next pass
                    _log.warning("exporter %s: %s", name, error)

    def _advance(self, name: str, exporter: ExporterValue) -> None:
        now_ms = self._clock.now_ms()
        if not exporting.decide_claim(self._topic.view.state, name, self._owner, now_ms).answer:
            self._running.pop(name, None)
            return
        if not self._topic.change(lambda s: exporting.decide_claim(s, name, self._owner, now_ms)):
            return
        view = self._topic.view
        epoch = view.state.exporter_states[name].epoch
        export = self._running.get(name)
        if export is None or (export.exporter, export.epoch) != (exporter, epoch):
            export = self._running[name] = _Export(exporter, epoch, self._source)
        offset, trace = None, ""
        try:
            if export.copy(view.state):
                offset = view.latest
        except (RegistryError, ValueError) as error:
            trace = str(error)
        now_ms = self._clock.now_ms()
        self._topic.change(
            lambda s: exporting.decide_progress(
                s, name, self._owner, offset=offset, trace=trace, now_ms=now_ms
            )
        )


class _Export:
    """What one exporter has copied since this process owns it."""

    def __init__(self, exporter: ExporterValue, epoch: int, source: str) -> None:
        self.exporter = exporter
        self.epoch = epoch
        self._source = source
        self._there = SchemaRegistry(exporter.config[URL], authorization=_authorization(exporter.config))
        self._done: dict[tuple[Subject, int], bool] = {}
        """The versions that are there, with whether they are deleted."""
        self._seen: State | None = None
        self._importing: set[str] = set()
        self._known: dict[Subject, set[int]] = {}
        """Deleted versions that the other registry had before."""

    def copy(self, state: State) -> bool:
        """Copies what is new; False when nothing was."""
        if state.contexts is (self._seen.contexts if self._seen is not None else None):
            return False
        wanted = list(exporting.copies(state, self.exporter, self._source))
        changed = False
        for each in wanted:
            changed |= self._copy_one(each)
        here = {(each.subject, each.body["version"]) for each in wanted}
        for subject, version in self._done.keys() - here:
            self._delete(subject, version, permanent=True)
            del self._done[subject, version]
            changed = True
        first = self._seen is None
        self._seen = state
        return changed or first

    def _copy_one(self, copy: Copy) -> bool:
        subject, version = copy.subject, copy.body["version"]
        if self._done.get((subject, version)) == copy.deleted:
            return False
        if (subject, version) not in self._done and not (copy.deleted and version in self._deleted(subject)):
            self._import(subject)
            self._ask("POST", f"/subjects/{_quoted(subject)}/versions", copy.body)
        if copy.deleted:
            self._delete(subject, version, permanent=False)
        self._done[subject, version] = copy.deleted
        return True

    def _import(self, subject: Subject) -> None:
        """Sets the mode IMPORT where it does not hold: for the context, or for the subject alone."""
        whole = self.exporter.context_type in ("AUTO", "CUSTOM")
        scope = quote(f":{subject.context}:", safe="") if whole else _quoted(subject)
        if scope in self._importing:
            return
        if self._ask("GET", f"/mode/{scope}?defaultToGlobal=true")["mode"] != "IMPORT":
            self._ask("PUT", f"/mode/{scope}?force=true", {"mode": "IMPORT"})
        self._importing.add(scope)

    def _deleted(self, subject: Subject) -> set[int]:
        if subject not in self._known:
            path = f"/subjects/{_quoted(subject)}/versions?deletedOnly=true"
            try:
                self._known[subject] = set(self._ask("GET", path))
            except NotRegistered:
                self._known[subject] = set()
        return self._known[subject]

    def _delete(self, subject: Subject, version: int, *, permanent: bool) -> None:
        path = f"/subjects/{_quoted(subject)}/versions/{version}"
        for query in ("", "?permanent=true") if permanent else ("",):
            try:
                self._ask("DELETE", path + query)
            except NotRegistered:  # it is deleted already
                continue

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        return self._there.ask(method, path, f"exporter {self.exporter.name}", body)


def _authorization(config: dict[str, str]) -> str:
    """The header for `basic.auth.user.info`, which is USER:PASSWORD; nothing without it."""
    given = config.get("basic.auth.user.info", "")
    return f"Basic {base64.b64encode(given.encode()).decode()}" if given else ""


def _quoted(subject: Subject) -> str:
    return quote(str(subject), safe="")
