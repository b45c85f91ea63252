"""Cases of tests/sql_cases as persistent queries of one server: Spark gives what the driver gives."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.plan.raw_records import RawRecord
from penstock.sql.testing import Case, read_cases
from penstock.sql.testing.comparing import differences, same
from penstock.sql.testing.topics import source_by_topic
from penstock.sqlserver.registry import RegistryAt
from tests.sqlserver.asked_cases import AskedCases, Refused
from tests.sqlserver.renamed_cases import EXACT, RenamedCase, renamed
from tests.sqlserver.servers import Server

pytestmark = [pytest.mark.timeout(3600), pytest.mark.long]
FILES = sorted((Path(__file__).parent.parent / "sql_cases" / "cases").glob("*.json"))
CASES, AT_ONCE = 200, 10
WITHOUT_PROGRESS_S = 120.0
"""How long queries may commit nothing, on a machine that has a core for each process that wants one."""
EQUAL, DIFFERENT, REFUSED, LATE = "equal", "different", "refused", "not read in time"


@dataclass(frozen=True)
class Outcome:
    """A line of the file that a run writes."""

    case: str
    outcome: str
    compared: str
    reasons: list[str]
    wanted: list[str]
    given: list[str]


def sample(random: Random) -> list[Case]:
    """Every file in turn, as many cases as asked for and some in reserve."""
    by_file = [read_cases(path) for path in FILES]
    for cases in by_file:
        random.shuffle(cases)
    rounds = max(map(len, by_file))
    return [cases[at] for at in range(rounds) for cases in by_file if at < len(cases)]


def found_differences(chosen: RenamedCase, asked: AskedCases) -> tuple[list[str], list[str]]:
    """As the driver's results are compared: topic by topic. The differences, and the records that came."""
    found: list[str] = []
    given: list[str] = []
    for topic in dict.fromkeys(record.topic for record in chosen.case.outputs):
        source = source_by_topic(chosen.engine.catalogue, topic)
        wanted = [record for record in chosen.case.outputs if record.topic == topic]
        actual = [(each, *_decoded(chosen, topic, each, source)) for each in asked.records(topic)]
        given += [f"{topic} {each[1:]} at {each[0].timestamp}" for each in actual]
        if chosen.compared != EXACT:
            wanted = list({repr((each.key, each.window)): each for each in wanted}.values())
            actual = list({repr(each[1:3]): each for each in actual}.values())
            actual.sort(key=lambda each: next((i for i, w in enumerate(wanted) if same(each[1], w.key)), 99))
        for at, (record, (raw, key, window, value)) in enumerate(zip(wanted, actual, strict=False)):
            parts = differences(record, key, window, value, raw.timestamp, raw.headers)
            if chosen.compared != EXACT:
                parts = [part for part in parts if not part.startswith("timestamp")]
            found += [f"{topic} record {at}: {part}" for part in parts]
        if len(actual) != len(wanted):
            found.append(f"{topic}: {len(actual)} records for {len(wanted)}: {[each[1:] for each in actual]}")
    return found, given


def _decoded(chosen: RenamedCase, topic: str, raw: RawRecord, source: Any) -> tuple[Any, Any, Any]:
    key, window, value = chosen.topics.decoded(topic, raw.key, raw.value, source)
    return key, window, _plain(value, chosen.prefix)


def _plain(value: Any, prefix: str) -> Any:
    """Columns of SELECT * in a join are named after their sources."""
    if isinstance(value, dict):
        return {name.replace(prefix, ""): _plain(each, prefix) for name, each in value.items()}
    return [_plain(each, prefix) for each in value] if isinstance(value, list) else value


def test_spark_gives_what_the_driver_gives(
    cluster: tuple[str, str], spark_server: Server, seed: int, pytestconfig: pytest.Config
) -> None:
    chosen = chosen_cases(Random(seed), RegistryAt(cluster[1]))
    asked = AskedCases(cluster[0], spark_server)
    written = pytestconfig.rootpath / "build" / f"cases_on_spark_{seed}.jsonl"
    written.parent.mkdir(exist_ok=True)
    outcomes: list[Outcome] = []
    with written.open("w") as file:
        for at in range(0, len(chosen), AT_ONCE):
            for outcome in group_outcomes(chosen[at : at + AT_ONCE], asked):
                outcomes.append(outcome)
                file.write(json.dumps(asdict(outcome)) + "\n")
            file.flush()
            print(f"{len(outcomes)} cases: {Counter(each.outcome for each in outcomes)}", flush=True)
    wrong = [each for each in outcomes if each.outcome != EQUAL]
    shown = "\n".join(f"{each.case}: {each.outcome}: {line}" for each in wrong for line in each.reasons)
    assert not wrong, f"seed {seed}: {len(wrong)} of {len(chosen)} cases, all in {written}\n{shown}"


def chosen_cases(random: Random, schemas: RegistryAt) -> list[RenamedCase]:
    chosen: list[RenamedCase] = []
    for number, case in enumerate(sample(random)):
        if len(chosen) < CASES and (made := renamed(case, f"C{number}X_", schemas)) is not None:
            chosen.append(made)
    assert len(chosen) == CASES
    return chosen


def group_outcomes(group: list[RenamedCase], asked: AskedCases) -> Iterator[Outcome]:
    """One case must not end the others, whatever happens to it."""
    failed = {each.prefix: outcome for each in group if (outcome := begun(each, asked)) is not None}
    waiting = [each for each in group if each.prefix not in failed]
    left = wait_until_read(waiting, asked)
    for each in group:
        if each.prefix in failed:
            yield failed[each.prefix]
            continue
        try:
            reasons, given = found_differences(each, asked)
            kind = DIFFERENT if reasons else EQUAL
        except Exception as error:  # the topic is not there, or its records cannot be read
            kind, reasons, given = DIFFERENT, [f"not read: {error!r}"], []
        if unread := left.get(each.prefix):
            kind, reasons = LATE, [f"unread: {unread}", *reasons]
        yield outcome_of(each, kind, reasons, given)
    asked.end(group)


def begun(chosen: RenamedCase, asked: AskedCases) -> Outcome | None:
    try:
        asked.begin(chosen)
    except Refused as refused:
        return outcome_of(chosen, REFUSED, [str(refused)], [])
    except Exception as error:
        return outcome_of(chosen, REFUSED, [f"not begun: {error!r}"], [])
    return None


def wait_until_read(waiting: list[RenamedCase], asked: AskedCases) -> dict[str, dict[str, int]]:
    """Wait until the queries of these cases have committed the ends of their inputs. Returns what is left
    after a time without progress, by the case's prefix; that time is longer on a busy machine."""
    left = {each.prefix: asked_unread(each, asked) for each in waiting}
    moved = time.monotonic()
    while any(left.values()) and time.monotonic() - moved < patience_s():
        time.sleep(0.3)
        now = {each.prefix: asked_unread(each, asked) if left[each.prefix] else {} for each in waiting}
        if now != left:
            left, moved = now, time.monotonic()
    return left


def asked_unread(chosen: RenamedCase, asked: AskedCases) -> dict[str, int]:
    try:
        return asked.unread(chosen)
    except Exception as error:
        return {f"not known: {error!r}": 1}


def patience_s() -> float:
    return WITHOUT_PROGRESS_S * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def outcome_of(chosen: RenamedCase, kind: str, reasons: list[str], given: list[str]) -> Outcome:
    """Outputs are shown where they differ."""
    wanted = [] if kind == EQUAL else [repr(each) for each in chosen.case.outputs]
    shown = [] if kind == EQUAL else given
    return Outcome(f"{chosen.prefix} {chosen.case.name}", kind, chosen.compared, reasons, wanted, shown)
