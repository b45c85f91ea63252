"""One step of a member towards its target: give up first, take what is free, wait for the rest (KIP-848)."""

from __future__ import annotations

from collections.abc import Callable

from penstock.groups.consumer_group import Member, MemberState, flatten, nested
from penstock.groups.consumer_records import NO_PARTITIONS, Assignment, CurrentValue
from penstock.protocol.errors import ErrorCode, KafkaError

HeldByOther = Callable[[bytes, int], bool]


def reconcile(
    member: Member,
    target_epoch: int,
    target: Assignment,
    held_by_other: HeldByOther,
    owned: Assignment | None,
) -> CurrentValue:
    """What the member has after this heartbeat. `owned` is what it says it has; None when it says nothing."""
    current = member.current
    match current.state:
        case MemberState.STABLE:
            if current.member_epoch == target_epoch:
                return current
            epoch = current.member_epoch
        case MemberState.UNREVOKED:
            if _owns_any(owned, current.pending_revocation):
                return current
            epoch = current.member_epoch + 1
        case MemberState.UNRELEASED:
            epoch = current.member_epoch
        case _:
            # Written by a newer coordinator: only a member without partitions can go on from here.
            if owned is None or owned:
                raise KafkaError(
                    ErrorCode.FENCED_MEMBER_EPOCH,
                    "The consumer group member is in a unknown state. The member must abandon all its "
                    "partitions and rejoin.",
                )
            epoch = target_epoch
    return _next(current, epoch, target_epoch, target, held_by_other, owned)


def _next(
    current: CurrentValue,
    epoch: int,
    target_epoch: int,
    target: Assignment,
    held_by_other: HeldByOther,
    owned: Assignment | None,
) -> CurrentValue:
    has, wants = set(flatten(current.assigned)), set(flatten(target))
    kept = has & wants
    to_revoke = nested(has - kept)
    if to_revoke and _owns_any(owned, to_revoke):
        # It stays in its epoch until it has given these up: no other member gets them before.
        return CurrentValue(epoch, current.member_epoch, MemberState.UNREVOKED, nested(kept), to_revoke)
    unreleased = {part for part in wants - kept if held_by_other(*part)}
    state = MemberState.UNRELEASED if unreleased else MemberState.STABLE
    return CurrentValue(target_epoch, current.member_epoch, state, nested(wants - unreleased), NO_PARTITIONS)


def _owns_any(owned: Assignment | None, partitions: Assignment) -> bool:
    """A member that says nothing may still have them."""
    if owned is None:
        return True
    return any(owned.get(topic_id, frozenset()) & indexes for topic_id, indexes in partitions.items())
