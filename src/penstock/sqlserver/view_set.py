"""The materialised views of a server: opened when a pull query asks, closed when their table goes."""

from __future__ import annotations

import threading

from penstock.sql.sources import Catalogue, DataSource
from penstock.sqlserver.settings import ServerSettings
from penstock.sqlserver.views import TableView


class ViewSet:
    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._views: dict[str, TableView] = {}
        """By topic."""
        self._opening: dict[str, threading.Lock] = {}

    def of(self, source: DataSource) -> TableView:
        """A view that has everything that was committed when it was opened. Blocks for the first one."""
        with self._lock:
            found = self._views.get(source.topic)
            opening = self._opening.setdefault(source.topic, threading.Lock())
        if found is not None:
            return found
        with opening:  # one of many requests opens it
            with self._lock:
                found = self._views.get(source.topic)
            return found or self._opened(source)

    def _opened(self, source: DataSource) -> TableView:
        window = source.window.kind if source.window else None
        view = TableView(self._settings.bootstrap_servers, source.topic, window, self._settings.client)
        try:
            view.wait_until_current()
        except BaseException:
            view.close()
            raise
        with self._lock:
            self._views[source.topic] = view
        return view

    def follow(self, catalogue: Catalogue) -> None:
        topics = {source.topic for source in catalogue.sources.values()}
        with self._lock:
            gone = [self._views.pop(topic) for topic in list(self._views) if topic not in topics]
        for view in gone:
            view.close()

    def close(self) -> None:
        with self._lock:
            gone, self._views = list(self._views.values()), {}
        for view in gone:
            view.close()
