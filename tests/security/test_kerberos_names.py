"""Names of Kerberos and the users that they stand for."""

from __future__ import annotations

import pytest

from penstock.security.kerberos_names import KerberosNames


@pytest.mark.parametrize(
    ("rules", "principal", "expected"),
    [
        ("DEFAULT", "alice@HERE", "alice"),
        ("", "kafka/host@HERE", "kafka"),
        ("RULE:[1:$1@$0](.*@THERE)s/@.*//,DEFAULT", "bob@THERE", "bob"),
        ("RULE:[1:$1@$0](.*@THERE)s/@.*//,DEFAULT", "bob@HERE", "bob"),
        ("RULE:[2:$1-$2](.*)", "app/host@THERE", "app-host"),
        ("RULE:[1:$1]/L", "ALICE@HERE", "alice"),
        ("RULE:[1:$1]/U,DEFAULT", "alice@HERE", "ALICE"),
        ("RULE:[1:$1](.*)s/a/b/g", "aaa@HERE", "bbb"),
        ("RULE:[1:$1](.*)s/a/b/", "aaa@HERE", "baa"),
        ("RULE:[1:$1](.*)s/(.)(.)/$2$1/", "ab@HERE", "ba"),
    ],
)
def test_rules_give_a_user(rules: str, principal: str, expected: str) -> None:
    assert KerberosNames(rules, "HERE").user_of(principal) == expected


@pytest.mark.parametrize(
    ("rules", "principal"),
    [
        ("DEFAULT", "alice@THERE"),
        ("RULE:[2:$1]", "alice@HERE"),
        ("RULE:[1:$1@$0]", "alice@HERE"),
        ("DEFAULT", "nonsense"),
    ],
)
def test_a_name_without_a_rule_is_nobody(rules: str, principal: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        KerberosNames(rules, "HERE").user_of(principal)


@pytest.mark.parametrize(
    "rules", ["RULE:", "RULE:[1:$2]", "RULE:[1:$1](()", "DEFAULT nonsense", "RULE:[1:$1]/X"]
)
def test_a_rule_of_another_form_is_refused(rules: str) -> None:
    with pytest.raises(ValueError, match="Invalid rule"):
        KerberosNames(rules, "HERE")
