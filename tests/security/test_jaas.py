"""JAAS strings of real configurations."""

from __future__ import annotations

import pytest

from penstock.security.jaas import PLAIN_MODULE, SCRAM_MODULE, JaasError, parse_jaas


def test_a_line_of_a_real_configuration_is_read() -> None:
    module = parse_jaas(f'{SCRAM_MODULE} required username="alice" password="a=b;c \\"d\\"" tokenauth=true;')
    assert module.name == SCRAM_MODULE
    assert module.options == {"username": "alice", "password": 'a=b;c "d"', "tokenauth": "true"}


def test_users_of_a_broker_are_options_as_well() -> None:
    module = parse_jaas(f"{PLAIN_MODULE} required\n  username='admin'\n  user_alice = 'x' ; ")
    assert module.options == {"username": "admin", "user_alice": "x"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        f'{PLAIN_MODULE} required username="a"',
        f"{PLAIN_MODULE} perhaps a=b;",
        f"{PLAIN_MODULE} required a b;",
        f"{PLAIN_MODULE} required a=;",
        f'{PLAIN_MODULE} required password="secret;',
        f'{PLAIN_MODULE} required a="b"; {PLAIN_MODULE} required a="b";',
    ],
)
def test_another_form_is_refused_without_showing_a_value(text: str) -> None:
    with pytest.raises(JaasError) as refused:
        parse_jaas(text)
    assert "secret" not in str(refused.value)


def test_no_password_is_printed() -> None:
    assert "hidden" not in repr(parse_jaas(f'{PLAIN_MODULE} required password="hidden";'))
