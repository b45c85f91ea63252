"""The guard against produce requests that come too late (KIP-890).

A transaction's first batch in a partition is appended only after the coordinator has said that the partition
belongs to the transaction. While it is asked, a marker may end that transaction; then its yes is worth
nothing any more. So whoever asks takes a guard first and shows it with the batch: a marker that ends the
transaction, or the first batch itself, makes all guards of that producer void. Called by
`penstock.storage.producers`, under the log's lock.
"""

from __future__ import annotations


class Guard:
    """Stands for one verification; only its identity counts."""

    __slots__ = ("epoch_bump",)

    def __init__(self, *, epoch_bump: bool) -> None:
        self.epoch_bump = epoch_bump
        """The transaction is of version 2: every one has an epoch of its own, and sequences begin at 0."""


class _Verification:
    __slots__ = ("epoch", "guard", "lowest_sequence", "started_ms")

    def __init__(self, guard: Guard, epoch: int, sequence: int, started_ms: int) -> None:
        self.guard = guard
        self.epoch = epoch
        # No batch of a higher sequence goes in before this one: a lower one that has to be verified again
        # would be out of order for ever.
        self.lowest_sequence = sequence
        self.started_ms = started_ms

    def note(self, epoch: int, sequence: int) -> None:
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class Verifications:
    """Those in progress, by producer id; they are forgotten with the producers."""

    def __init__(self) -> None:
        self._verifications: dict[int, _Verification] = {}

    def begin(self, producer_id: int, epoch: int, sequence: int, *, epoch_bump: bool, now_ms: int) -> Guard:
        """The guard of the verification in progress, or of a new one."""
        verification = self._verifications.get(producer_id)
        if verification is None:
            guard = Guard(epoch_bump=epoch_bump)
            verification = _Verification(guard, epoch, sequence, now_ms)
            self._verifications[producer_id] = verification
        verification.note(epoch, sequence)
        return verification.guard

    def holds(self, producer_id: int, guard: Guard | None) -> bool:
        """Whether nothing has happened since `guard` was given out."""
        verification = self._verifications.get(producer_id)
        return guard is not None and verification is not None and verification.guard is guard

    def lowest_sequence(self, producer_id: int) -> int | None:
        verification = self._verifications.get(producer_id)
        return None if verification is None else verification.lowest_sequence

    def void(self, producer_id: int) -> None:
        self._verifications.pop(producer_id, None)

    def end(self, producer_id: int, epoch: int) -> None:
        """A marker of this epoch was written. In version 2 it carries the epoch of the transaction that comes
        next, so a verification of that epoch is not of the transaction which has just ended here."""
        verification = self._verifications.get(producer_id)
        is_of_next = (
            verification is not None and verification.guard.epoch_bump and verification.epoch == epoch
        )
        if not is_of_next:
            self.void(producer_id)

    def expire(self, oldest_ms: int) -> None:
        """Forget what was begun at `oldest_ms` or before and never came to anything."""
        expired = [pid for pid, each in self._verifications.items() if each.started_ms <= oldest_ms]
        for producer_id in expired:
            del self._verifications[producer_id]
