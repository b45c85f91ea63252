"""Every page of the console in a browser, against a real broker and a real registry."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from confluent_kafka import Consumer
from playwright.sync_api import expect

from penstock.client.messages import Messages
from penstock.client.sending import NewRecord
from penstock.console.navigation import SECTIONS
from penstock.testing import Broker
from tests.browser.conftest import Visit

AVRO = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}


@pytest.fixture
def group(broker: Broker, messages: Messages, topic: str) -> str:
    """A group that has read one of three records and has no members."""
    for number in range(3):
        messages.produce(topic, NewRecord(b"%d" % number, partition=0))
    name = f"readers-of-{topic}"
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": name,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    first = consumer.poll(60)
    assert first is not None
    consumer.commit(first, asynchronous=False)
    consumer.close()
    return name


@pytest.mark.parametrize(("name", "path"), SECTIONS)
def test_each_section_has_an_address_and_asks_nobody_else(visit: Visit, name: str, path: str) -> None:
    page = visit.open(path)
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.get_by_role("navigation", name="Main").get_by_role("link", name=name)).to_have_attribute(
        "aria-current", "page"
    )
    elsewhere = [url for url in visit.requested if urlsplit(url).hostname not in (None, "", "127.0.0.1")]
    assert elsewhere == []


def test_the_bar_leads_through_the_sections_without_loading_the_page_anew(visit: Visit) -> None:
    page = visit.open("/")
    page.evaluate("window.here = true")
    for name, path in SECTIONS[1:]:
        page.get_by_role("navigation", name="Main").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        expect(page).to_have_url(re.compile(f"{path}$"))
    assert page.evaluate("window.here") is True


def test_a_group_is_reset_with_a_preview(visit: Visit, broker: Broker, group: str) -> None:
    page = visit.open("/groups")
    page.get_by_role("link", name=group).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(group)
    expect(page.get_by_role("table", name="Partitions").get_by_role("row").nth(1)).to_contain_text("2")
    page.get_by_role("button", name="Reset offsets").click()
    dialog = page.get_by_role("dialog", name=re.compile("Reset the offsets"))
    expect(dialog.get_by_role("button", name="Reset", exact=True)).to_be_disabled()
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_text("1 record will be read again")).to_be_visible()
    dialog.get_by_role("button", name="Reset", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("table", name="Partitions").get_by_role("row").nth(1)).to_contain_text("3")


def test_a_setting_of_a_topic_is_changed(visit: Visit, topic: str) -> None:
    page = visit.open(f"/topics/{topic}/settings")
    page.get_by_role("button", name="Change retention.ms").click()
    dialog = page.get_by_role("dialog", name=re.compile("Change retention.ms"))
    expect(dialog.get_by_text("604800000")).to_be_visible()
    dialog.get_by_role("textbox", name="Value").fill("3600000")
    dialog.get_by_role("button", name="Change", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("row", name=re.compile("^retention.ms"))).to_contain_text("3600000")


def test_a_topic_is_emptied(visit: Visit, messages: Messages, topic: str) -> None:
    messages.produce(topic, NewRecord(b"v", partition=0))
    page = visit.open(f"/topics/{topic}/partitions")
    page.get_by_role("button", name="Empty").click()
    dialog = page.get_by_role("dialog", name=re.compile("Empty topic"))
    dialog.get_by_role("textbox").fill(topic)
    dialog.get_by_role("button", name="Delete all records").click()
    expect(dialog).to_be_hidden()
    assert messages.page(topic).messages == ()


def test_a_schema_is_registered_edited_and_refused_with_a_reason(visit: Visit, registry: str) -> None:
    httpx.post(
        f"{registry}/subjects/seen-value/versions", json={"schema": json.dumps(AVRO)}
    ).raise_for_status()
    page = visit.open("/schemas")
    page.get_by_role("link", name="seen-value").click()
    expect(page.get_by_role("region", name="Schema")).to_contain_text('"name": "Order"')
    editor = page.locator(".code-editor .cm-content")
    editor.click()
    page.keyboard.press("Control+A")
    changed = {**AVRO, "fields": [{"name": "total", "type": "double"}]}
    page.keyboard.insert_text(json.dumps(changed))
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("It breaks BACKWARD")).to_be_visible()
    expect(page.get_by_text("READER_FIELD_MISSING_DEFAULT_VALUE")).to_be_visible()


def test_a_record_is_followed_downloaded_and_written_again(
    visit: Visit, messages: Messages, group: str, tmp_path: Path
) -> None:
    topic = group.removeprefix("readers-of-")
    page = visit.open(f"/topics/{topic}?from=oldest&partition=0")
    page.locator(".messages .line").first.click()
    page.get_by_role("button", name="Produce again…").click()
    dialog = page.get_by_role("dialog", name=f"Produce a record to {topic}")
    expect(dialog.get_by_role("textbox", name="Value", exact=True)).to_have_value("0")
    dialog.get_by_role("textbox", name="Value", exact=True).fill("edited")
    dialog.get_by_role("button", name="Produce").click()
    expect(dialog).to_be_hidden()
    assert [m.value for m in messages.page(topic).messages].count(b"edited") == 1
    page.get_by_role("button", name="Download").click()
    dialog = page.get_by_role("dialog", name=re.compile("Download records"))
    with page.expect_download() as started:
        dialog.get_by_role("button", name="Download").click()
    started.value.save_as(tmp_path / "records.jsonl")
    assert len((tmp_path / "records.jsonl").read_text().splitlines()) >= 3
    page.get_by_role("link", name="Follow this record").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Partition 0, offset 0")
    readers = page.get_by_role("table", name="What has read it")
    expect(readers.get_by_role("row", name=re.compile(group))).to_contain_text("Has passed it")
    expect(page.get_by_text("Logs do not keep the client id")).to_be_visible()
    assert [(each["id"]) for each in Axe().run(page).response["violations"]] == []


def test_a_record_is_written_by_a_form_of_its_schema_and_shown_decoded(
    visit: Visit, registry: str, topic: str
) -> None:
    path = f"{registry}/subjects/{topic}-value/versions"
    httpx.post(path, json={"schema": json.dumps(AVRO)}).raise_for_status()
    page = visit.open(f"/topics/{topic}")
    page.get_by_role("button", name="Produce record").click()
    dialog = page.get_by_role("dialog", name=f"Produce a record to {topic}")
    dialog.get_by_role("combobox", name="Value is").click()
    page.get_by_role("option", name="By the topic's schema").click()
    dialog.get_by_role("textbox", name="id *").fill("7")
    dialog.get_by_role("button", name="Produce").click()
    expect(page.locator(".messages .col-value").last).to_have_text('{"id": 7}')


def test_the_security_page_says_when_there_is_none(visit: Visit) -> None:
    page = visit.open("/security")
    expect(page.get_by_text("This cluster has no access control")).to_be_visible()
    assert violations(visit, "/security") == []


def test_a_service_that_does_not_run_says_how_to_start_it(visit: Visit) -> None:
    page = visit.open("/connectors")
    expect(page.get_by_role("heading", name="Connect does not answer")).to_be_visible()
    expect(page.locator("code")).to_have_text(re.compile("penstock connect --bootstrap-servers"))


def test_a_rule_is_made_fires_and_clears(
    visit: Visit, broker: Broker, group: str, messages: Messages
) -> None:
    page = visit.open("/alerts")
    page.get_by_role("button", name="Create rule").click()
    dialog = page.get_by_role("dialog", name="Create a rule")
    dialog.get_by_role("textbox", name="Name", exact=True).fill(f"lag of {group}")
    dialog.get_by_role("textbox", name=re.compile("Of which")).fill(group)
    dialog.get_by_role("textbox", name=re.compile("Threshold")).fill("1")
    dialog.get_by_role("button", name="Save").click()
    firing = page.get_by_role("table", name="Firing")
    expect(firing).to_contain_text(f"Group {group} is 2 records behind", timeout=60_000)
    topic = group.removeprefix("readers-of-")
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": group, "enable.auto.commit": False}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    last = [message for message in (consumer.poll(60), consumer.poll(60)) if message is not None][-1]
    consumer.commit(last, asynchronous=False)
    consumer.close()
    history = page.get_by_role("table", name="History").get_by_role("row", name=re.compile(group))
    expect(history).to_contain_text("cleared", timeout=60_000)


@pytest.mark.parametrize("path", [path for _, path in SECTIONS])
def test_axe_finds_nothing_on_a_section(visit: Visit, path: str) -> None:
    assert violations(visit, path) == []


def test_axe_finds_nothing_on_a_dark_page_with_an_editor(visit: Visit, registry: str) -> None:
    httpx.post(
        f"{registry}/subjects/seen-value/versions", json={"schema": json.dumps(AVRO)}
    ).raise_for_status()
    visit.page.emulate_media(color_scheme="dark")
    assert violations(visit, "/schemas/seen-value") == []


def violations(visit: Visit, path: str) -> list[tuple[str, str]]:
    page = visit.open(path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    return [(each["id"], each["nodes"][0]["html"]) for each in Axe().run(page).response["violations"]]
