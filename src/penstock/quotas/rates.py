"""How fast something happens, and how long to wait until it was slow enough: Kafka's windowed rate and its
token bucket, with Kafka's arithmetic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """So many samples of so many milliseconds: `quota.window.num` and `quota.window.size.seconds`."""

    samples: int
    sample_ms: int

    @property
    def burst_seconds(self) -> float:
        return self.samples * self.sample_ms / 1000


class _Sample:
    __slots__ = ("last_ms", "start_ms", "value")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.start_ms = self.last_ms = now_ms
        self.value = 0.0


class Rate:
    """Something per second, over the samples of a window and the one that began before it."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, value: float, now_ms: int) -> None:
        sample = self._sample(now_ms)
        sample.value += value
        sample.last_ms = now_ms

    def per_second(self, now_ms: int) -> float:
        self._purge(now_ms)
        return sum(sample.value for sample in self._samples) / (self.window_ms(now_ms) / 1000)

    def window_ms(self, now_ms: int) -> int:
        """The time that the rate is taken over. A client that has just come is measured as if it had been
        silent before, or its first request would look like a flood."""
        self._purge(now_ms)
        elapsed_ms = now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)
        missing = self._window.samples - 1 - elapsed_ms // self._window.sample_ms
        return max(1, elapsed_ms + max(0, missing) * self._window.sample_ms)

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """How long nothing may happen until the rate is `limit`; 0 when it is not above."""
        rate = self.per_second(now_ms)
        if rate <= limit:
            return 0
        return round((rate - limit) / limit * self.window_ms(now_ms))

    def _sample(self, now_ms: int) -> _Sample:
        if not self._samples:
            self._samples.append(_Sample(now_ms))
        sample = self._samples[self._current]
        if now_ms - sample.start_ms < self._window.sample_ms:
            return sample
        self._current = (self._current + 1) % (self._window.samples + 1)
        if self._current == len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._current].reset(now_ms)
        return self._samples[self._current]

    def _purge(self, now_ms: int) -> None:
        oldest_ms = now_ms - self._window.samples * self._window.sample_ms
        for sample in self._samples:
            if sample.last_ms <= oldest_ms:
                sample.reset(now_ms)


class TokenBucket:
    """Tokens come at the rate of the limit and are kept up to a burst. It may be overdrawn once; then nothing
    is given until it is refilled (KIP-599)."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._tokens: float | None = None
        self._refilled_ms = 0

    def tokens(self, limit: float, now_ms: int) -> float:
        burst = limit * self._window.burst_seconds
        if self._tokens is None:
            self._tokens = burst
        else:
            self._tokens = min(burst, self._tokens + limit * (now_ms - self._refilled_ms) / 1000)
        self._refilled_ms = now_ms
        return self._tokens

    def take(self, count: float, limit: float, now_ms: int) -> None:
        self._tokens = self.tokens(limit, now_ms) - count

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        """How long until the debt is paid; 0 when there is none."""
        return max(0, round(-self.tokens(limit, now_ms) / limit * 1000))
