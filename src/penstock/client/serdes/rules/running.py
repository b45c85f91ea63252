"""Rules chosen and run: in order, with what happens when one of them fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from penstock.client.api.exceptions import ConfigException, SerializationException
from penstock.client.serdes.rules.fields import Field, Walk
from penstock.client.serdes.rules.model import CONDITION, DOMAIN, MIGRATION, Contract, Mode, Rule

EXECUTORS: Final = "rule.executors"
ACTIONS: Final = "rule.actions"


class RuleFailed(Exception):
    """A condition does not hold, or a transform could not be made."""


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What a rule knows beside its value."""

    rule: Rule
    mode: Mode
    subject: str
    topic: str
    is_key: bool
    contract: Contract

    def parameter(self, name: str) -> str | None:
        """Of the rule, or else of the schema's metadata."""
        return self.rule.params.get(name) or self.contract.properties.get(name)


class Executor(Protocol):
    """Runs rules of one type. One with `of_fields = True` has `change(context, field, value)` instead."""

    type: str

    def transform(self, context: RuleContext, value: Any) -> Any:
        """The new value, or for a condition whether it holds. RuleFailed, or any error, is a failure."""
        ...


class Action(Protocol):
    """What follows a rule; ERROR and NONE are built in."""

    type: str

    def run(self, context: RuleContext, value: Any, error: Exception | None) -> None: ...


@dataclass
class Rules:
    """The rules of all schemas of one serializer or deserializer."""

    executors: dict[str, Any] = field(default_factory=dict)
    actions: dict[str, Action] = field(default_factory=dict)

    def run(
        self,
        mode: Mode,
        contract: Contract,
        value: Any,
        walk: Walk | None,
        place: tuple[str, str, bool],
        kind: str = DOMAIN,
    ) -> Any:
        """`place` is subject, topic, and whether it is the key."""
        rules = [rule for rule in contract.ordered(mode, kind) if rule.runs_in(mode)]
        for index, rule in enumerate(rules):
            context = RuleContext(rule, mode, *place, contract)
            others = rules[index + 1 :] if mode in (Mode.READ, Mode.DOWNGRADE) else rules[:index]
            try:
                value = self._one(context, value, walk, others)
            except SerializationException:
                raise
            except Exception as error:
                self._act(context, value, error)
            else:
                self._act(context, value, None)
        return value

    def migrate(self, mode: Mode, contracts: list[Contract], value: Any, place: tuple[str, str, bool]) -> Any:
        for contract in contracts:
            value = self.run(mode, contract, value, None, place, MIGRATION)
        return value

    def close(self) -> None:
        for each in (*self.executors.values(), *self.actions.values()):
            if callable(close := getattr(each, "close", None)):
                close()

    def _one(self, context: RuleContext, value: Any, walk: Walk | None, others: list[Rule]) -> Any:
        rule = context.rule
        executor = self.executors.get(rule.type)
        if executor is None:
            raise RuleFailed(f"there is nothing that runs rules of type {rule.type or 'null'}")
        if getattr(executor, "of_fields", False):
            if walk is None or any(rule.is_shadowed_by(other) for other in others):
                return value
            return walk(value, _change(context, executor))
        whole: Executor = executor
        result = whole.transform(context, value)
        if rule.kind != CONDITION:
            return result
        if not result:
            raise RuleFailed(_words(rule))
        return value

    def _act(self, context: RuleContext, value: Any, error: Exception | None) -> None:
        name = context.rule.action(context.mode, failed=error is not None)
        if name == "NONE":
            return
        if name != "ERROR":
            action = self.actions.get(name)
            if action is None:
                raise SerializationException(f"There is no action {name} for rule {context.rule.name!r}.")
            action.run(context, value, error)
        if error is not None:
            raise SerializationException(
                f"Rule failed: {context.rule.name} ({context.mode} of subject {context.subject!r}): {error}"
            ) from error


def _change(context: RuleContext, executor: Any) -> Any:
    """What is done with each field: only with those that have one of the rule's tags."""
    rule = context.rule

    def change(field: Field, value: Any) -> Any:
        tags = field.tags | context.contract.tags_of(field.full_name)
        if rule.tags and not rule.tags & tags:
            return value
        result = executor.change(context, field._replace(tags=tags), value)
        if rule.kind != CONDITION:
            return result
        if result is False:
            raise RuleFailed(f"{_words(rule)} ({field.full_name})")
        return value

    return change


def _words(rule: Rule) -> str:
    return rule.doc or (f"Rule expr failed: {rule.expr}" if rule.expr else f"Rule failed: {rule.name}")


def rules_of(settings: Mapping[str, Any]) -> Rules:
    """Ours, and those that `rule.executors` and `rule.actions` name, with their parameters."""
    from penstock.client.api import plugins
    from penstock.client.serdes.rules.dead_letters import DeadLetters
    from penstock.client.serdes.rules.encryption import EncryptField, EncryptPayload
    from penstock.client.serdes.rules.expressions import Cel, CelField, Jsonata

    made: dict[str, dict[str, Any]] = {}
    ours: dict[str, tuple[type[Any], ...]] = {
        EXECUTORS: (Cel, CelField, Jsonata, EncryptField, EncryptPayload),
        ACTIONS: (DeadLetters,),
    }
    for setting, classes in ours.items():
        found = {each.type: each() for each in classes}
        for name, given in _named(settings, setting):
            each = plugins.plugin(f"{setting}.{name}.class", given, {})
            found[str(getattr(each, "type", name)).upper()] = each
        for kind, each in found.items():
            plugins.configure(each, {**settings, **_parameters(settings, setting, kind)})
        made[setting] = found
    return Rules(made[EXECUTORS], made[ACTIONS])


def _named(settings: Mapping[str, Any], setting: str) -> Iterator[tuple[str, Any]]:
    names = settings.get(setting) or ()
    for name in names.split(",") if isinstance(names, str) else names:
        given = settings.get(f"{setting}.{name.strip()}.class")
        if given is None:
            raise ConfigException(
                f"{setting} names {name.strip()}, and {setting}.{name.strip()}.class is missing."
            )
        yield name.strip(), given


def _parameters(settings: Mapping[str, Any], setting: str, kind: str) -> dict[str, Any]:
    """`rule.executors._default_.param.X` is for all, `rule.executors.CEL.param.X` for one."""
    found = {}
    for name in ("_default_", kind):
        prefix = f"{setting}.{name}.param."
        found.update(
            {each.removeprefix(prefix): settings[each] for each in settings if each.startswith(prefix)}
        )
    return found
