"""Creating a topic through the dialog."""

from __future__ import annotations

import pytest

from penstock.client.errors import InvalidValue
from penstock.console.components.topic_table import TopicTable
from penstock.console.dialogs.create_topic import parse_settings
from penstock.console.fake_backend import FakeBackend
from tests.console.conftest import Visit, Visitor


async def create(visitor: Visitor, **fields: str) -> None:
    visitor.click("create-topic")
    await visitor.user.should_see(marker="topic-name")
    for name, value in fields.items():
        visitor.write(f"topic-{name}", value)
    visitor.click("create-confirm")


def test_a_topic_is_created_with_what_was_typed(visit: Visit, backend: FakeBackend) -> None:
    async def body(visitor: Visitor) -> None:
        await create(visitor, name="new", partitions="4", policy="compact", settings="segment.ms=1000\n")
        await visitor.until(lambda: "new" in [row["name"] for row in visitor.the(TopicTable).rows])
        detail = await backend.topic("new")
        assert len(detail.info.partitions) == 4
        assert detail.config("cleanup.policy") == "compact"
        assert detail.config("segment.ms") == "1000"
        await visitor.user.should_see("Created topic new")
        await visitor.until(lambda: not visitor.marked("create-dialog").value)

    visit("/topics", body)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": "orders"}, "A topic named 'orders' exists already"),
        ({"name": "two words"}, "'two words' is not a topic name"),
        ({"name": "new", "partitions": "0"}, "'0' is not a valid number of partitions"),
        ({"name": "new", "replicas": "many"}, "'many' is not a valid number of replicas"),
        ({"name": "new", "settings": "retention.ms"}, "'retention.ms' is not a setting"),
    ],
)
def test_what_is_refused_is_said_in_the_dialog_which_stays_open(
    visit: Visit, fields: dict[str, str], sentence: str
) -> None:
    async def body(visitor: Visitor) -> None:
        await create(visitor, **fields)
        await visitor.user.should_see(sentence)
        assert visitor.marked("create-dialog").value

    visit("/topics", body)


def test_settings_are_lines_of_name_and_value() -> None:
    assert parse_settings(" a.b = c=d \n\n e=\n") == {"a.b": "c=d", "e": ""}
    with pytest.raises(InvalidValue, match="name=value"):
        parse_settings("=x")
