"""May this principal do that, and why: the decision of the broker's authorizer, explained.

The entries and the two settings that matter are read from the cluster. The decision is then made by the code
that the broker itself runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from penstock.client.acls import Acl, Acls
from penstock.client.configs import Configs, Owner
from penstock.client.errors import ClientError
from penstock.security import acls as entries
from penstock.security.acls import PatternType, Permission
from penstock.security.authorizer import AllowAll, Authorizer
from penstock.security.operations import Operation, ResourceType
from penstock.security.principals import Principal
from penstock.security.standard_authorizer import StandardAuthorizer

if TYPE_CHECKING:
    from penstock.client.admin import Admin


class Question(NamedTuple):
    principal: Principal
    host: str
    operation: Operation
    kind: ResourceType
    name: str


class Verdict(NamedTuple):
    allowed: bool
    why: str
    """A sentence."""
    entry: Acl | None
    """The entry that decided, if one did."""


class Rules(NamedTuple):
    """What decides besides the entries; None where the broker does not show it."""

    is_on: bool
    super_users: frozenset[str] | None
    allow_if_no_acl: bool | None


def check(admin: Admin, question: Question) -> Verdict:
    rules = _rules(admin)
    if not rules.is_on:
        return Verdict(True, "The broker has no authorizer (authorizer.class.name): all may do all.", None)
    return decide(Acls(admin).describe(Acl()), rules, question)


def decide(found: list[Acl], rules: Rules, question: Question) -> Verdict:
    allowed, rule = _authorizer(found, rules).decide(*question)
    if isinstance(rule, entries.Acl):
        shown = _shown(rule)
        return Verdict(allowed, f"This entry {'allows' if allowed else 'denies'} it.", shown)
    return Verdict(allowed, _reason(rule, found, rules, question), None)


def authorizer_of(admin: Admin) -> Authorizer:
    """The decisions of the cluster as of now, for any principal. ClientError when it does not show its
    entries to this client."""
    rules = _rules(admin)
    if not rules.is_on:
        return AllowAll()
    return _authorizer(Acls(admin).describe(Acl()), rules)


def _authorizer(found: list[Acl], rules: Rules) -> StandardAuthorizer:
    by_id = {number.to_bytes(8, "big"): _entry(acl) for number, acl in enumerate(found)}
    return StandardAuthorizer(
        lambda: by_id, rules.super_users or (), allow_if_no_acl=bool(rules.allow_if_no_acl)
    )


def _reason(rule: str, found: list[Acl], rules: Rules, question: Question) -> str:
    what = f"{question.kind.name.lower().replace('_', ' ')} {question.name!r}"
    if rule == "SuperUser":
        return f"{question.principal} is one of super.users."
    if rule == "DefaultAllow":
        return f"No entry names {what}, and allow.everyone.if.no.acl.found is true."
    named = [acl for acl in found if _names(acl, question)]
    if not named:
        reason = f"No entry names {what}, and what no entry names is closed."
    else:
        own = [acl for acl in named if acl.principal in (str(question.principal), entries.ANY_PRINCIPAL)]
        reason = (
            f"{len(named)} entries name {what}, "
            f"{len(own) or 'none'} of them for {question.principal}, and none allows "
            f"{question.operation.name} from {question.host}."
        )
    if rules.super_users is None:
        reason += " Whether it is one of super.users, the broker does not show to this client."
    return reason


def _names(acl: Acl, question: Question) -> bool:
    if acl.resource_type != question.kind.name:
        return False
    if acl.pattern_type == PatternType.PREFIXED.name:
        return question.name.startswith(acl.resource_name or "")
    return acl.resource_name in (question.name, entries.WILDCARD)


def _rules(admin: Admin) -> Rules:
    node = admin.cluster().brokers[0].node_id
    try:
        values = {entry.name: entry.value for entry in Configs(admin).describe(Owner.broker(node))}
    except ClientError:
        return Rules(True, None, None)
    supers = (values.get("super.users") or "").split(";")
    return Rules(
        bool(values.get("authorizer.class.name")),
        frozenset(name.strip() for name in supers if name.strip()),
        values.get("allow.everyone.if.no.acl.found") == "true",
    )


def _entry(acl: Acl) -> entries.Acl:
    return entries.Acl(
        ResourceType[acl.resource_type],
        PatternType[acl.pattern_type],
        acl.resource_name or "",
        acl.principal or "",
        acl.host or "",
        Operation[acl.operation],
        Permission[acl.permission],
    )


def _shown(acl: entries.Acl) -> Acl:
    return Acl(
        acl.resource.name,
        acl.name,
        acl.pattern.name,
        acl.principal,
        acl.host,
        acl.operation.name,
        acl.permission.name,
    )
