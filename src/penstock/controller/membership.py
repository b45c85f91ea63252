"""Brokers as the active controller sees them: they register, send heartbeats and are fenced.

The decisions are in `penstock.controller.brokers`; here they are submitted, and silence is noticed.
Handlers of BrokerRegistration and BrokerHeartbeat call it, and a node that is alone calls it for itself.
"""

from __future__ import annotations

import logging

from penstock.clock import Clock
from penstock.controller.alter_partition import check_broker
from penstock.controller.brokers import (
    Heartbeat,
    HeartbeatAnswer,
    Registration,
    Sessions,
    decide_fence,
    decide_heartbeat,
    decide_register,
    decide_unregister,
)
from penstock.controller.configs import decide_cluster_min_isr
from penstock.controller.controller import Controller, Decision
from penstock.controller.image import Image, replay
from penstock.controller.metadata_records import MetadataRecord
from penstock.controller.rebalancing import decide_preferred
from penstock.controller.rules import rules_of
from penstock.coordinator.promise import Promise
from penstock.settings import BrokerSettings

_log = logging.getLogger(__name__)

_MAX_LATE_SECONDS = 1.0


class Membership:
    """Lives on every node; works on the active controller."""

    def __init__(
        self, controller: Controller, cluster_id: str, clock: Clock, settings: BrokerSettings
    ) -> None:
        self._controller = controller
        self._cluster_id = cluster_id
        self._clock = clock
        self._settings = settings
        self._sessions = Sessions(settings.broker_session_timeout_ms)
        self._ticked_at = clock.monotonic()
        self._balanced_at = clock.monotonic()

    def register(self, wish: Registration, *, fenced: bool = True) -> Promise[int]:
        """The broker's epoch. One that is alone need not be fenced: it has followed everything, and nobody
        else has its id."""

        def decide(image: Image) -> Decision[int]:
            now_ms = self._now_ms()
            self._sessions.expired(image, now_ms)  # a new controller begins every session anew first
            records, epoch = decide_register(
                image,
                wish,
                self._cluster_id,
                self._controller.next_offset,
                rules_of(image, self._settings),
                is_live=fenced and self._sessions.is_live(wish.broker_id, now_ms),
                fenced=fenced,
            )
            self._sessions.touch(wish.broker_id, now_ms)
            return records + decide_cluster_min_isr(image, self._settings), epoch

        return self._controller.submit(decide)

    def heartbeat(self, beat: Heartbeat) -> Promise[HeartbeatAnswer]:
        def decide(image: Image) -> Decision[HeartbeatAnswer]:
            check_broker(image, beat.broker_id, beat.broker_epoch)  # no earlier life counts
            self._sessions.beat(beat, self._now_ms(), self._controller.next_offset)
            others_know = self._sessions.know_who_leaves(image, beat.broker_id)
            return decide_heartbeat(image, beat, rules_of(image, self._settings), others_know=others_know)

        return self._controller.submit(decide)

    def unregister(self, broker_id: int) -> Promise[None]:
        """Forget a broker that will not come back."""

        def decide(image: Image) -> Decision[None]:
            return decide_unregister(image, broker_id, rules_of(image, self._settings)), None

        return self._controller.submit(decide)

    def tick(self) -> None:
        """Fence brokers that have been silent for too long; let preferred replicas lead now and then."""
        now = self._clock.monotonic()
        missed, self._ticked_at = now - self._ticked_at, now
        if not self._controller.is_active:
            self._sessions.clear()
            self._balanced_at = now
        elif missed > _MAX_LATE_SECONDS:
            # This process was stopped or starved, and could hear no broker. Only this time is given back: a
            # controller that is starved again and again would never fence any broker otherwise.
            self._sessions.extend(missed * 1000, now * 1000)
        else:
            self._fence_silent()
            self._rebalance(now)

    def _fence_silent(self) -> None:
        now_ms = self._now_ms()
        if not self._sessions.expired(self._controller.image, now_ms):
            return

        def decide(image: Image) -> Decision[None]:
            records: list[MetadataRecord] = []
            for broker_id in self._sessions.expired(image, now_ms):
                _log.warning("broker %d has been silent for too long and is fenced", broker_id)
                step = decide_fence(image, image.brokers[broker_id], rules_of(image, self._settings))
                image = replay(image, step)
                records += step
            return records, None

        self._controller.submit(decide)

    def _rebalance(self, now: float) -> None:
        settings = self._settings
        if now - self._balanced_at < settings.leader_imbalance_check_interval_seconds:
            return
        self._balanced_at = now
        if settings.auto_leader_rebalance_enable:
            self._controller.submit(lambda image: (decide_preferred(image, rules_of(image, settings)), None))

    def _now_ms(self) -> float:
        return self._clock.monotonic() * 1000
