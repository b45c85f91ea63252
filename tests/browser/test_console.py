"""What a person does with the console."""

from __future__ import annotations

import json
import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from penstock.client.admin import Admin
from penstock.client.messages import Messages
from penstock.client.sending import NewRecord
from penstock.testing import Broker
from tests.browser.conftest import Visit

HOSTILE = b'<script>window.hacked=1</script><img src=x onerror="window.hacked=1">"\'`${1}{{1+1}}'


def lines(page: Page) -> int:
    return page.locator(".messages .line").count()


def values(page: Page) -> list[str]:
    return page.locator(".messages .line .col-value").all_inner_texts()


def test_from_the_topics_to_a_message_and_back_with_the_keyboard_alone(
    visit: Visit, messages: Messages, topic: str
) -> None:
    messages.produce(topic, NewRecord(b'{"total": 12.50}', b"k-1", (("trace", b"abc"),)))
    page = visit.open("/topics")
    page.get_by_role("link", name=topic).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=topic)).to_be_visible()
    expect(page).to_have_url(re.compile(f"/topics/{topic}"))
    page.get_by_role("button", name=re.compile("Details of partition")).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".detail .code").first).to_have_text('{\n  "total": 12.50\n}')
    expect(page.locator(".detail .headers dd")).to_have_text("abc")
    page.get_by_role("navigation", name="Breadcrumb").get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    expect(page).to_have_url(re.compile(r":\d+/topics$"))  # before that there is no way back
    page.go_back()
    expect(page.get_by_role("heading", name=topic)).to_be_visible()


def test_what_a_message_says_is_only_ever_text(visit: Visit, messages: Messages, topic: str) -> None:
    messages.produce(topic, NewRecord(HOSTILE, HOSTILE, ((HOSTILE.decode(), HOSTILE),)))
    messages.produce(topic, NewRecord(json.dumps({HOSTILE.decode(): HOSTILE.decode()}).encode()))
    page = visit.open(f"/topics/{topic}")
    expect(page.locator(".messages .line")).to_have_count(2)
    for line in page.locator(".messages .line").all():
        line.click()
    expect(page.locator(".detail .headers dd")).to_have_text(HOSTILE.decode())
    page.get_by_placeholder("Search in shown messages").fill("<script>")
    expect(page.get_by_text("2 messages")).to_be_visible()
    assert page.evaluate("window.hacked") is None
    assert page.locator(".messages img, .messages script").count() == 0


def test_live_shows_new_records_as_they_come_and_pauses(visit: Visit, messages: Messages, topic: str) -> None:
    page = visit.open(f"/topics/{topic}")
    page.get_by_role("switch", name="Live").click()
    expect(page.get_by_text("Waiting for messages")).to_be_visible()
    messages.produce(topic, NewRecord(b"first"))
    expect(page.locator(".messages .line")).to_have_count(1)
    page.get_by_role("button", name="Pause").click()
    messages.produce(topic, NewRecord(b"second"))
    page.get_by_role("button", name="Resume (1 new)").click()
    expect(page.locator(".messages .line")).to_have_count(2)
    assert values(page)[0] == "second"


def test_a_flood_stays_bounded_and_the_page_alive(visit: Visit, messages: Messages, topic: str) -> None:
    page = visit.open(f"/topics/{topic}")
    page.get_by_role("switch", name="Live").click()
    expect(page.get_by_text("Waiting for messages")).to_be_visible()
    with messages.sender(enable_idempotence=False, linger_ms=5) as sender:
        for i in range(20_000):
            sender.send(topic, NewRecord(b"%d" % i, partition=0))
    expect(page.locator(".messages .line").first).to_contain_text("19999")
    assert lines(page) == 200
    page.get_by_role("switch", name="Live").click()
    expect(page.get_by_role("button", name="Pause")).to_be_hidden()


def test_a_topic_is_created_filled_and_deleted(visit: Visit, admin: Admin) -> None:
    page = visit.open("/topics")
    page.get_by_role("button", name="Create topic").click()
    dialog = page.get_by_role("dialog", name="Create topic")
    dialog.get_by_role("textbox", name=re.compile("^Name")).fill("made-here")
    dialog.get_by_role("textbox", name="Partitions").fill("2")
    dialog.get_by_role("button", name="Create topic").click()
    page.get_by_role("link", name="made-here").click()
    page.get_by_role("button", name="Produce record").click()
    dialog = page.get_by_role("dialog", name="Produce a record to made-here")
    dialog.get_by_role("textbox", name="Key").fill("k")
    dialog.get_by_role("textbox", name="Value", exact=True).fill("hello")
    dialog.get_by_role("button", name="Produce").click()
    expect(page.locator(".messages .col-value").last).to_have_text("hello")
    assert admin.topic("made-here").records == 1
    page.get_by_role("link", name="Topics").first.click()
    page.get_by_role("button", name="Delete topic made-here").click()
    dialog = page.get_by_role("dialog", name="Delete topic made-here?")
    expect(dialog.get_by_role("button", name="Delete topic")).to_be_disabled()
    dialog.get_by_role("textbox", name="Type the topic's name").fill("made-here")
    dialog.get_by_role("button", name="Delete topic").click()
    expect(page.get_by_role("link", name="made-here")).to_have_count(0)
    assert "made-here" not in [found.name for found in admin.topics(with_offsets=False)]


def test_the_theme_follows_the_system_until_it_is_chosen_and_is_remembered(visit: Visit) -> None:
    page = visit.open("/topics")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate(background) != light
    page.get_by_role("radio", name="Theme: light").click()
    assert page.evaluate(background) == light
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="Theme: dark")).to_be_checked()
    page.emulate_media(color_scheme="light")
    page.reload()
    expect(page.get_by_role("radio", name="Theme: dark")).to_be_checked()
    assert page.evaluate(background) != light


@pytest.mark.parametrize("width", [1280, 400])
def test_long_names_and_values_do_not_break_the_page(
    visit: Visit, admin: Admin, messages: Messages, width: int
) -> None:
    name = f"a-very-long-topic-name.{'x' * 150}.{width}"
    admin.create_topic(name, 1, 1)
    messages.produce(name, NewRecord(b"v" * 3000, b"k" * 300, (("h" * 200, b"w" * 500),)))
    visit.page.set_viewport_size({"width": width, "height": 800})
    page = visit.open("/topics")
    expect(page.get_by_role("link", name=name)).to_be_visible()
    assert overflow(page) <= 0
    page.get_by_role("link", name=name).click()
    page.locator(".messages .line").click()
    expect(page.locator(".detail .headers")).to_be_visible()
    assert overflow(page) <= 0
    admin.delete_topic(name)


def overflow(page: Page) -> int:
    """How far the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def test_everything_comes_from_the_console_itself(visit: Visit, topic: str) -> None:
    page = visit.open("/topics")
    page.get_by_role("link", name=topic, exact=True).click()
    expect(page.get_by_role("heading", name=topic)).to_be_visible()
    elsewhere = [url for url in visit.requested if urlsplit(url).hostname not in (None, "", "127.0.0.1")]
    assert elsewhere == []


def test_controls_have_names_and_icons_are_hidden_from_screen_readers(
    visit: Visit, messages: Messages, topic: str
) -> None:
    messages.produce(topic, NewRecord(b"v"))
    for path in ("/topics", f"/topics/{topic}"):
        page = visit.open(path)
        expect(page.locator(".line").first).to_be_visible()
        assert page.locator(".icon:not([aria-hidden=true])").count() == 0
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("button, a, input, [role=switch]")].filter((e) =>
                !(e.innerText || e.ariaLabel || e.labels?.length || e.getAttribute("aria-labelledby"))
                && e.checkVisibility() && !e.closest("[aria-hidden=true]")).map((e) => e.outerHTML)"""
        )
        assert nameless == []


def test_reloading_a_live_page_stays_live(visit: Visit, messages: Messages, topic: str) -> None:
    page = visit.open(f"/topics/{topic}")
    page.get_by_role("switch", name="Live").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page).to_have_url(re.compile("live=1"))
    page.reload()
    expect(page.get_by_text("Waiting for messages")).to_be_visible()
    messages.produce(topic, NewRecord(b"after the reload"))
    expect(page.locator(".messages .line")).to_have_count(1)


def test_a_broker_that_goes_away_is_named_and_its_return_noticed(
    visit: Visit, broker: Broker, topic: str
) -> None:
    address = broker.bootstrap_servers
    page = visit.open("/topics")
    expect(page.get_by_role("link", name=topic, exact=True)).to_be_visible()
    broker.stop()
    banner = page.get_by_role("alert").filter(has_text=f"The broker at {address} cannot be reached")
    try:
        expect(banner).to_be_visible()
        expect(page.get_by_role("link", name=topic, exact=True)).to_be_visible()
    finally:
        broker.start()
    expect(banner).to_be_hidden()
    page.get_by_role("link", name=topic, exact=True).click()
    expect(page.get_by_text("This topic is empty")).to_be_visible()


@pytest.mark.parametrize("path", ["/nothing", "/topics/a/b", "/index.html", "/apis/x"])
def test_a_wrong_path_is_said_in_words_and_nothing_is_missing_in_the_browser(visit: Visit, path: str) -> None:
    page = visit.open(path)
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    page.get_by_role("link", name="Go to the overview").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_the_topics_are_also_at_their_own_path(visit: Visit, topic: str) -> None:
    page = visit.open("/topics")
    expect(page.get_by_role("link", name=topic)).to_be_visible()
