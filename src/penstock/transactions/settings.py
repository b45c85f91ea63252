"""The settings of transactions."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.settings import BrokerSettings


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """What the coordinator goes by."""

    max_timeout_ms: int = 900_000
    id_expiration_ms: int = 604_800_000
    expiry_interval_ms: int = 3_600_000

    @staticmethod
    def of(broker: BrokerSettings) -> TransactionSettings:
        return TransactionSettings(
            broker.transaction_max_timeout_ms,
            broker.transactional_id_expiration_ms,
            broker.transaction_remove_expired_transaction_cleanup_interval_ms,
        )
