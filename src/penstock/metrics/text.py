"""Metrics as data, and as the text that Prometheus reads (version 0.0.4 of its format)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Kind = Literal["counter", "gauge", "summary"]


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics of one name. A summary has samples with a quantile, and `_count` and `_sum` beside them."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


class Sample(NamedTuple):
    """One number. `suffix` is `_count` or `_sum` for those two of a summary."""

    family: Family
    labels: Mapping[str, str]
    value: float
    suffix: str = ""


def render(samples: Iterable[Sample]) -> str:
    """All samples; those of one family stand together, as the format demands."""
    families: dict[Family, list[str]] = {}
    for sample in samples:
        families.setdefault(sample.family, []).append(_line(sample))
    return "".join(_text(family, lines) for family, lines in families.items())


def _text(family: Family, lines: list[str]) -> str:
    help_text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    return f"# HELP {family.name} {help_text}\n# TYPE {family.name} {family.kind}\n{''.join(lines)}"


def _line(sample: Sample) -> str:
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
    shown = f"{{{labels}}}" if labels else ""
    return f"{sample.family.name}{sample.suffix}{shown} {_number(sample.value)}\n"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


def summary(
    family: Family, labels: Mapping[str, str], count: int, total: float, quantiles: Mapping[str, float]
) -> Iterator[Sample]:
    """The samples of one summary; `quantiles` by their share, written as Prometheus wants it: "0.99"."""
    for share, value in quantiles.items():
        yield Sample(family, {**labels, "quantile": share}, value)
    yield Sample(family, labels, total, "_sum")
    yield Sample(family, labels, count, "_count")
