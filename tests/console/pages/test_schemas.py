"""Schemas in a simulated browser: versions, differences, a check before an edit is registered."""

from __future__ import annotations

from penstock.console.schema_catalogue import difference
from tests.console.conftest import Visit, Visitor
from tests.console.fake_services import RECORD, FakeServices
from tests.console.pages.test_groups import grid

WITH_DEFAULT = RECORD.replace("]}", ',{"name":"total","type":"double","default":0}]}')


def test_subjects_are_listed_with_their_topic(visit: Visit) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: grid(visitor, "Subjects").rows)
        (row,) = grid(visitor, "Subjects").rows
        assert (row["subject"], row["type"], row["topic"]) == ("orders-value", "Avro", "orders")

    visit("/schemas", body)


def test_a_registry_that_is_away_says_how_to_start_it_and_its_return_is_noticed(
    visit: Visit, others: FakeServices
) -> None:
    others.away = True

    async def body(visitor: Visitor) -> None:
        await visitor.user.should_see("The Schema Registry does not answer", retries=50)
        assert visitor.text("away-command").startswith("penstock registry")
        others.away = False
        await visitor.until(lambda: grid(visitor, "Subjects").rows)
        await visitor.user.should_not_see("does not answer")

    visit("/schemas", body)


def test_a_schema_is_registered_under_a_new_subject(visit: Visit, others: FakeServices) -> None:
    async def body(visitor: Visitor) -> None:
        visitor.click("register")
        visitor.write("schema-subject", "payments-value")
        visitor.write("schema-text", RECORD)
        visitor.click("register-confirm")
        await visitor.until(lambda: len(grid(visitor, "Subjects").rows) == 2)
        assert others.subjects["payments-value"] == [RECORD]

    visit("/schemas", body)


def test_an_edit_that_breaks_says_why_before_it_is_registered(visit: Visit, others: FakeServices) -> None:
    async def body(visitor: Visitor) -> None:
        await visitor.until(lambda: visitor.text("fact-versions") == "1")
        visitor.write("schema-editor", RECORD.replace('"id"', '"total"'))
        visitor.click("check")
        await visitor.user.should_see("It breaks BACKWARD: READER_FIELD_MISSING: total", retries=50)
        visitor.write("schema-editor", WITH_DEFAULT)
        visitor.click("check")
        await visitor.user.should_see("It fits BACKWARD", retries=50)
        visitor.click("register-version")
        await visitor.until(lambda: visitor.text("fact-versions") == "2")
        visitor.marked("compared").value = 1
        await visitor.user.should_see('+       "name": "total",', retries=50)

    visit("/schemas/orders-value", body)


def test_the_difference_of_two_texts_keeps_what_stayed() -> None:
    lines = difference("a\nb\nc", "a\nc\nd")
    assert [(line.kind, line.text) for line in lines] == [
        ("kept", "a"),
        ("removed", "b"),
        ("kept", "c"),
        ("added", "d"),
    ]
