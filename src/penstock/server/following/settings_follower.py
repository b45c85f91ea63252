"""Brings the settings of this broker in line with the metadata: what was changed while it runs, and what was
changed before it was started again."""

from __future__ import annotations

import logging

from penstock.controller.configs import ALL_BROKERS, effective_settings
from penstock.controller.image import BROKER_RESOURCE, Image
from penstock.handlers.broker import Broker
from penstock.settings import SettingError
from penstock.storage.logs import Logs

_log = logging.getLogger(__name__)


class SettingsFollower:
    """Called by the controller after each committed step, before `follower.MetadataFollower`."""

    def __init__(self, broker: Broker, logs: Logs) -> None:
        self._broker = broker
        self._logs = logs

    def follow(self, old: Image, new: Image) -> None:
        if self._own(old) == self._own(new):
            return
        try:
            settings = effective_settings(self._broker.static_settings, new)
        except SettingError as error:
            # It was checked before it was committed, so another version committed it.
            _log.error("settings from the metadata cannot be used, the old ones stay: %s", error)
            return
        self._broker.settings = settings
        self._logs.expire_producers_after(settings.producer_id_expiration_ms)
        self._logs.verify_transactions(settings.transaction_partition_verification_enable)
        _log.info("settings of the broker have changed")

    def _own(self, image: Image) -> tuple[object, object]:
        node = str(self._broker.static_settings.node_id)
        return image.config(BROKER_RESOURCE, ALL_BROKERS), image.config(BROKER_RESOURCE, node)
