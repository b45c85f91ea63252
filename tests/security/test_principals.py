"""Principals are written as Kafka writes them."""

from __future__ import annotations

import pytest

from penstock.security.principals import ANONYMOUS, Principal, parse_principal, user


def test_a_principal_is_written_with_its_kind() -> None:
    assert str(user("alice")) == "User:alice"
    assert str(ANONYMOUS) == "User:ANONYMOUS"


def test_a_name_may_hold_colons_and_commas_as_a_distinguished_name_does() -> None:
    assert parse_principal("User:CN=alice,OU=a:b") == Principal("User", "CN=alice,OU=a:b")


@pytest.mark.parametrize("text", ["alice", "User:", ":alice", ""])
def test_a_text_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a principal"):
        parse_principal(text)
