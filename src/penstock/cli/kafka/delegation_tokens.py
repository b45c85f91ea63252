"""`kafka-delegation-tokens`: creates, renews, expires and describes delegation tokens."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock.cli.kafka.asking import Asker, Refused, check
from penstock.cli.kafka.options import CommandFailed, Given, Parser
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script
from penstock.client.token_requests import (
    Ask,
    Token,
    create_token,
    describe_tokens,
    expire_token,
    renew_token,
)

ACTIONS: Final = ("create", "renew", "expire", "describe")
_ROW: Final = "\n{:<15} {:<30} {:<15} {:<15} {:<25} {:<15} {:<15} {:<15}"
_HEADS: Final = ("TOKENID", "HMAC", "OWNER", "REQUESTER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE")


def delegation_tokens(words: Sequence[str]) -> int:
    given = _checked(_parser().parse(words))
    asker = Asker(given.value("bootstrap-server"), load_properties(given.value("command-config")))
    try:
        _BODIES[next(action for action in ACTIONS if given.has(action))](_asking(asker), given)
    except Refused as error:
        raise CommandFailed(f"{error.java_class}: {error}") from error
    return 0


def _asking(asker: Asker) -> Ask:
    def ask(api: Any, fields: Mapping[str, Any], versions: tuple[int, int]) -> Any:
        answer = asker.any(api, fields, versions)
        check(answer)
        return answer

    return ask


def _create(ask: Ask, given: Given) -> None:
    renewers, life_ms = _principals(given, "renewer-principal"), given.value("max-life-time-period")
    print(
        f"Calling create token operation with renewers :[{', '.join(renewers)}] , "
        f"max-life-time-period :{life_ms}"
    )
    owners = _principals(given, "owner-principal")
    token = create_token(ask, renewers, life_ms, owners[0] if owners else None)
    print(f"Created delegation token with tokenId : {token.token_id}")
    _print([token])


def _renew(ask: Ask, given: Given) -> None:
    hmac, period_ms = given.value("hmac"), given.value("renew-time-period")
    print(f"Calling renew token operation with hmac :{hmac} , renew-time-period :{period_ms}")
    expiry_ms = renew_token(ask, _decoded(hmac), period_ms)
    print(f"Completed renew operation. New expiry date : {_date(expiry_ms)}", end="")


def _expire(ask: Ask, given: Given) -> None:
    hmac, period_ms = given.value("hmac"), given.value("expiry-time-period")
    print(f"Calling expire token operation with hmac :{hmac} , expire-time-period :{period_ms}")
    expiry_ms = expire_token(ask, _decoded(hmac), period_ms)
    print(f"Completed expire operation. New expiry date : {_date(expiry_ms)}", end="")


def _describe(ask: Ask, given: Given) -> None:
    owners = _principals(given, "owner-principal")
    if owners:
        print(f"Calling describe token operation for owners: [{', '.join(owners)}]")
    else:
        print("Calling describe token operation for current user.")
    tokens = describe_tokens(ask, owners)
    print(f"Total number of tokens : {len(tokens)}", end="")
    _print(tokens)


_BODIES: Final = {"create": _create, "renew": _renew, "expire": _expire, "describe": _describe}


def _print(tokens: Sequence[Token]) -> None:
    print(_ROW.format(*_HEADS))
    for token in tokens:
        dates = (_date(each) for each in (token.issued_ms, token.expiry_ms, token.end_ms))
        renewers = f"[{','.join(token.renewers)}]"
        hmac = base64.b64encode(token.hmac).decode()
        print(_ROW.format(token.token_id, hmac, token.owner, token.requester, renewers, *dates))


def _date(milliseconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M", time.localtime(milliseconds / 1000))


def _decoded(hmac: str) -> bytes:
    try:
        return base64.b64decode(hmac, validate=True)
    except binascii.Error:
        raise CommandFailed(f"--hmac is no base 64: {hmac}") from None


def _principals(given: Given, option: str) -> list[str]:
    found = [text.strip() for text in given.values(option)]
    for text in found:
        if not all(text.partition(":")):
            raise CommandFailed(f"expected a string in format principalType:principalName but got {text}")
    return found


def _checked(given: Given) -> Given:
    if sum(given.has(action) for action in ACTIONS) != 1:
        given.refuse("Command must include exactly one action: --create, --renew, --expire or --describe")
    given.require("bootstrap-server", "command-config")
    if given.has("create"):
        given.require("max-life-time-period")
    if given.has("renew"):
        given.require("hmac", "renew-time-period")
    if given.has("expire"):
        given.require("hmac", "expiry-time-period")
    given.forbid("create", "hmac", "renew-time-period", "expiry-time-period")
    given.forbid(
        "renew", "renewer-principal", "max-life-time-period", "expiry-time-period", "owner-principal"
    )
    given.forbid("expire", "renew", "max-life-time-period", "renew-time-period", "owner-principal")
    given.forbid("describe", "renew-time-period", "max-life-time-period", "hmac", "expiry-time-period")
    return given


def _parser() -> Parser:
    options = Parser("This tool helps to create, renew, expire, or describe delegation tokens.")
    options.takes("bootstrap-server", text="REQUIRED: server(s) to use for bootstrapping.")
    options.takes(
        "command-config",
        text="REQUIRED: A property file containing configs to be passed to Admin Client. Token management "
        "operations are allowed in secure mode only. This config file is used to pass security related "
        "configs.",
    )
    options.flag("create", text="Create a new delegation token. Use --renewer-principal for renewers.")
    options.flag("renew", text="Renew delegation token. Use --renew-time-period for the time period.")
    options.flag("expire", text="Expire delegation token. Use --expiry-time-period for the time period.")
    options.flag("describe", text="Describe delegation tokens for the given principals, or for the user.")
    principal = "is a Kafka principal. They should be in principalType:name format."
    options.takes("owner-principal", text=f"owner {principal}")
    options.takes("renewer-principal", text=f"renewer {principal}")
    options.takes(
        "max-life-time-period",
        kind="Long",
        text="Max life period for the token in milliseconds; -1 for delegation.token.max.lifetime.ms.",
    )
    options.takes(
        "renew-time-period",
        kind="Long",
        text="Renew time period in milliseconds; -1 for delegation.token.expiry.time.ms.",
    )
    options.takes(
        "expiry-time-period",
        kind="Long",
        text="Expiry time period in milliseconds. If the value is -1, then the token will get invalidated "
        "immediately.",
    )
    options.takes("hmac", text="HMAC of the delegation token")
    return options


main = script(delegation_tokens)
