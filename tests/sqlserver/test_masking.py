"""Secrets in statements are not shown."""

from __future__ import annotations

import pytest

from penstock.sqlserver.masking import masked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "CREATE SOURCE CONNECTOR c WITH ('connection.password' = 'it''s', 'topic'='t');",
            "CREATE SOURCE CONNECTOR c WITH ('connection.password' = '[string]', 'topic'='t');",
        ),
        ("WITH (\"aws.secret.access.key\"='x')", "WITH (\"aws.secret.access.key\"='[string]')"),
        ("SET 'ksql.streams.sasl.jaas.config'='open", "SET 'ksql.streams.sasl.jaas.config'='[string]'"),
        ("SELECT * FROM s WHERE password = 'x';", "SELECT * FROM s WHERE password = 'x';"),
    ],
)
def test_what_stands_for_a_secret_is_replaced(text: str, shown: str) -> None:
    assert masked(text) == shown
