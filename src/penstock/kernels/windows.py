"""Windows: which ones a record belongs to, how long they wait for late records, how long a store keeps them.

Durations are milliseconds, or a `timedelta`; they are kept as milliseconds. Each kind of windows that records
can be grouped by (`GroupWindows`) also says which operator, which store and which serde it needs. A new kind
implements these methods; the DSL asks no further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from penstock.kernels.operation import Function, Operation
    from penstock.kernels.serdes import Serde
    from penstock.kernels.store_specs import StoreSpec

Duration = int | timedelta
FOREVER: Final = 2**63 - 1


def millis(duration: Duration) -> int:
    if isinstance(duration, timedelta):
        return duration // timedelta(milliseconds=1)
    return duration


def _checked(what: str, duration: Duration, *, least: int) -> int:
    value = millis(duration)
    if value < least:
        raise ValueError(f"{what} is {value} ms; it must be at least {least} ms")
    return value


class Aggregation(NamedTuple):
    """What is computed for each key and window, and where it is kept."""

    store: str
    caching: bool
    on_close: bool
    """Whether a window gives one final result when it closes, or one for each update."""
    initializer: Function
    aggregator: Function
    merger: Function | None
    """Makes one aggregate of two when windows merge; none where they never do."""


class StoreSettings(NamedTuple):
    """How the store of a windowed table is kept, whatever its windows are."""

    name: str
    key_serde: Serde[Any]
    value_serde: Serde[Any]
    logging: bool
    caching: bool
    topic_config: tuple[tuple[str, str], ...]
    retention_ms: int


class GroupWindows(Protocol):
    """Windows by which a grouped stream can be divided."""

    merge: ClassVar[bool]
    """Whether two windows of a key can become one, which needs a merger of aggregates."""
    close: ClassVar[bool]
    """Whether a window comes to an end."""
    count_takes_two_numbers: ClassVar[bool]
    """Whether Kafka Streams uses up two numbers for the name of a count's store with unnamed settings."""

    @property
    def retention_ms(self) -> int:
        """How long a store must keep a window at least."""
        ...

    def operation(self, aggregation: Aggregation) -> Operation: ...
    def store_spec(self, settings: StoreSettings) -> StoreSpec: ...
    def key_serde(self, key: Serde[Any]) -> Serde[Any]:
        """The serde of a key with its window."""
        ...


class _Durations:
    """Turns the named fields into milliseconds when the window is made."""

    def _set(self, field: str, duration: Duration, least: int) -> None:
        object.__setattr__(self, field, _checked(field.removesuffix("_ms"), duration, least=least))


class _FixedSize(_Durations):
    """Windows whose end follows from their start."""

    merge: ClassVar[bool] = False
    close: ClassVar[bool] = True
    count_takes_two_numbers: ClassVar[bool] = True
    size_ms: Any

    def operation(self, aggregation: Aggregation) -> Operation:
        from penstock.kernels.windowed import WindowAggregate

        return WindowAggregate(**_arguments(aggregation), windows=self)  # type: ignore[arg-type]

    def store_spec(self, settings: StoreSettings) -> StoreSpec:
        from penstock.kernels.store_specs import WindowSpec

        return WindowSpec(**settings._asdict(), size_ms=self.size_ms)

    def key_serde(self, key: Serde[Any]) -> Serde[Any]:
        from penstock.kernels.serdes import TimeWindowedSerde

        return TimeWindowedSerde(key, self.size_ms)


def _arguments(aggregation: Aggregation) -> dict[str, Any]:
    given = aggregation._asdict()
    del given["merger"]
    return given


@dataclass(frozen=True)
class TimeWindows(_FixedSize):
    """Windows of one size, aligned to the epoch: tumbling, or hopping when `advance` is smaller than
    `size`.
    """

    size: Duration
    advance: Duration | None = None
    grace: Duration = 0

    def __post_init__(self) -> None:
        self._set("size", self.size, 1)
        self._set("advance", self.size if self.advance is None else self.advance, 1)
        self._set("grace", self.grace, 0)
        if self.advance_ms > self.size_ms:
            raise ValueError(
                f"advance is {self.advance_ms} ms; it must be at most the size, {self.size_ms} ms"
            )

    @property
    def size_ms(self) -> int:
        return millis(self.size)

    @property
    def advance_ms(self) -> int:
        assert self.advance is not None
        return millis(self.advance)

    @property
    def grace_ms(self) -> int:
        return millis(self.grace)

    @property
    def retention_ms(self) -> int:
        return self.size_ms + self.grace_ms

    def starts(self, timestamp: int) -> Sequence[int]:
        """Where the windows begin that hold this time, oldest first."""
        size, advance = self.size_ms, self.advance_ms
        return range(max(0, timestamp - size + advance) // advance * advance, timestamp + 1, advance)


@dataclass(frozen=True)
class UnlimitedWindows(_FixedSize):
    """One window from `start` on, which never closes."""

    start: int = 0

    close = False

    size_ms = FOREVER
    grace_ms = 0
    retention_ms = FOREVER

    def __post_init__(self) -> None:
        self._set("start", self.start, 0)

    def starts(self, timestamp: int) -> Sequence[int]:
        return (self.start,) if timestamp >= self.start else ()


@dataclass(frozen=True)
class SlidingWindows(_FixedSize):
    """A window for each set of records that lie within `difference` of one another; both ends include."""

    difference: Duration
    grace: Duration = 0

    count_takes_two_numbers = False

    def __post_init__(self) -> None:
        self._set("difference", self.difference, 0)
        self._set("grace", self.grace, 0)

    @property
    def difference_ms(self) -> int:
        return millis(self.difference)

    @property
    def size_ms(self) -> int:
        return self.difference_ms

    @property
    def grace_ms(self) -> int:
        return millis(self.grace)

    @property
    def retention_ms(self) -> int:
        return 2 * self.difference_ms + self.grace_ms

    def operation(self, aggregation: Aggregation) -> Operation:
        from penstock.kernels.sliding import SlidingAggregate

        return SlidingAggregate(**_arguments(aggregation), windows=self)


@dataclass(frozen=True)
class SessionWindows(_Durations):
    """Sessions: records with less than `gap` between them belong together; both ends include."""

    gap: Duration
    grace: Duration = 0

    merge: ClassVar[bool] = True
    close: ClassVar[bool] = True
    count_takes_two_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._set("gap", self.gap, 1)
        self._set("grace", self.grace, 0)

    @property
    def gap_ms(self) -> int:
        return millis(self.gap)

    @property
    def grace_ms(self) -> int:
        return millis(self.grace)

    @property
    def retention_ms(self) -> int:
        return self.gap_ms + self.grace_ms

    def operation(self, aggregation: Aggregation) -> Operation:
        from penstock.kernels.sessions import SessionAggregate

        assert aggregation.merger is not None, "sessions are merged"
        return SessionAggregate(**aggregation._asdict(), windows=self)

    def store_spec(self, settings: StoreSettings) -> StoreSpec:
        from penstock.kernels.store_specs import SessionSpec

        return SessionSpec(**settings._asdict())

    def key_serde(self, key: Serde[Any]) -> Serde[Any]:
        from penstock.kernels.serdes import SessionWindowedSerde

        return SessionWindowedSerde(key)


@dataclass(frozen=True)
class JoinWindows(_Durations):
    """Records of two streams meet when the other one's time is from `before` earlier to `after` later."""

    before: Duration
    after: Duration | None = None
    grace: Duration = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "before", millis(self.before))
        object.__setattr__(self, "after", self.before if self.after is None else millis(self.after))
        self._set("grace", self.grace, 0)
        if self.before_ms + self.after_ms < 0:
            raise ValueError(
                f"the window ends before it begins: {self.before_ms} before, {self.after_ms} after"
            )

    @property
    def before_ms(self) -> int:
        return millis(self.before)

    @property
    def after_ms(self) -> int:
        assert self.after is not None
        return millis(self.after)

    @property
    def grace_ms(self) -> int:
        return millis(self.grace)

    @property
    def size_ms(self) -> int:
        return self.before_ms + self.after_ms

    @property
    def retention_ms(self) -> int:
        return self.size_ms + self.grace_ms


AnyTimeWindows = TimeWindows | UnlimitedWindows
