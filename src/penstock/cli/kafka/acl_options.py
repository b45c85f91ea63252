"""The options of `kafka-acls`, and the entries that they describe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.cli.kafka.acl_entries import Entry, Pattern
from penstock.cli.kafka.options import CommandFailed, Given, OptionError, Parser
from penstock.security.acls import PatternType, Permission
from penstock.security.operations import CLUSTER_NAME, OPERATIONS, Operation, ResourceType

ACTIONS: Final = ("add", "remove", "list")
RESOURCES: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
    "delegation-token": ResourceType.DELEGATION_TOKEN,
    "user-principal": ResourceType.USER,
}
OPERATION_NAMES: Final = {each.name.replace("_", ""): each for each in Operation}
"""Operations as they are written, in capitals: `DescribeConfigs` and `describeconfigs` are the same."""
CLUSTER: Final = Pattern(ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
Wanted = dict[Pattern, set[Entry]]


def checked(given: Given) -> Given:
    """The command line, or Kafka's error for what does not go together."""
    server, controller = given.has("bootstrap-server"), given.has("bootstrap-controller")
    if server and controller:
        given.refuse("Only one of --bootstrap-server or --bootstrap-controller must be specified")
    if not server and not controller:
        given.refuse("One of --bootstrap-server or --bootstrap-controller must be specified")
    if sum(given.has(action) for action in ACTIONS) != 1:
        given.refuse("Command must include exactly one action: --list, --add, --remove. ")
    given.forbid(
        *("list", "producer", "consumer", "allow-host", "allow-principal", "deny-host", "deny-principal")
    )
    for role in ("producer", "consumer"):
        given.forbid(role, "operation", "deny-principal", "deny-host")
    if given.has("principal") and not given.has("list"):
        given.refuse("The --principal option is only available if --list is set")
    if given.has("producer") and not given.has("topic"):
        given.refuse("With --producer you must specify a --topic")
    if given.has("idempotent") and not given.has("producer"):
        given.refuse("The --idempotent option is only available if --producer is set")
    _check_consumer(given)
    if controller:
        raise CommandFailed(
            "--bootstrap-controller is not supported yet: give a broker with --bootstrap-server"
        )
    return given


def _check_consumer(given: Given) -> None:
    if not given.has("consumer"):
        return
    others = not given.has("producer") and (given.has("cluster") or given.has("transactional-id"))
    if not given.has("topic") or not given.has("group") or others:
        given.refuse(
            "With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id "
            "option should be specified."
        )


def pattern_type(given: Given) -> PatternType:
    text = given.value("resource-pattern-type")
    try:
        return PatternType[text.upper()]
    except KeyError:
        allowed = "|".join(each.name for each in PatternType)
        raise OptionError(
            f"Cannot parse argument '{text}' of option resource-pattern-type: write one of {allowed}"
        ) from None


def patterns(given: Given, *, needed: bool) -> list[Pattern]:
    """The resources that the options name."""
    kind = pattern_type(given)
    found = [
        Pattern(RESOURCES[option], name, kind) for option in RESOURCES for name in _trimmed(given, option)
    ]
    if kind == PatternType.LITERAL and (given.has("cluster") or given.has("idempotent")):
        found.append(CLUSTER)
    if not found and needed:
        given.refuse(
            "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
            "--delegation-token <Delegation Token ID>"
        )
    return found


def principals(given: Given, option: str) -> list[str]:
    found = _trimmed(given, option)
    for text in found:
        kind, colon, name = text.partition(":")
        if not kind or not colon or not name:
            raise CommandFailed(f"expected a string in format principalType:principalName but got {text}")
    return found


def wanted(given: Given) -> Wanted:
    """The entries for each pattern; none for a pattern whose entries are all meant."""
    found: Wanted = {}
    if given.has("producer"):
        for pattern in patterns(given, needed=True):
            if pattern.kind == ResourceType.TOPIC:
                found[pattern] = _entries(given, (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE))
            elif pattern.kind == ResourceType.TRANSACTIONAL_ID:
                found[pattern] = _entries(given, (Operation.WRITE, Operation.DESCRIBE))
        if given.has("idempotent"):
            found[CLUSTER] = _entries(given, (Operation.IDEMPOTENT_WRITE,))
    if given.has("consumer"):
        for pattern in patterns(given, needed=True):
            if pattern.kind == ResourceType.TOPIC:
                entries = _entries(given, (Operation.READ, Operation.DESCRIBE))
                found[pattern] = found.get(pattern, set()) | entries
            elif pattern.kind == ResourceType.GROUP:
                found[pattern] = _entries(given, (Operation.READ,))
    if not given.has("producer") and not given.has("consumer"):
        entries = _entries(given, _operations(given))
        found = dict.fromkeys(patterns(given, needed=True), entries)
    _check_operations(given, found)
    return found


def to_add(given: Given) -> Wanted:
    kind = pattern_type(given)
    if kind not in (PatternType.LITERAL, PatternType.PREFIXED):
        given.refuse(f"A '--resource-pattern-type' value of '{kind.name}' is not valid when adding acls.")
    found = wanted(given)
    if not all(found.values()):
        given.refuse("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    return found


def _entries(given: Given, operations: Iterable[Operation | None]) -> set[Entry]:
    found = set()
    for word, permission in (("allow", Permission.ALLOW), ("deny", Permission.DENY)):
        names = principals(given, f"{word}-principal")
        hosts = _trimmed(given, f"{word}-host") or (["*"] if names else [])
        found |= {
            Entry(name, host, operation, permission)  # type: ignore[arg-type]  # None: `_check_operations`
            for name in names
            for host in hosts
            for operation in operations
        }
    return found


def _operations(given: Given) -> list[Operation | None]:
    """None stands for a word that is no operation."""
    return [OPERATION_NAMES.get(word.upper()) for word in _trimmed(given, "operation")]


def _check_operations(given: Given, found: Wanted) -> None:
    for pattern, entries in found.items():
        valid = (*OPERATIONS[pattern.kind], Operation.ALL)
        if any(entry.operation not in valid for entry in entries):
            named = ", ".join(each.name for each in valid)
            given.refuse(f"ResourceType {pattern.kind.name} only supports operations [{named}]")


def _trimmed(given: Given, option: str) -> list[str]:
    return list(dict.fromkeys(text.strip() for text in given.values(option)))


def parser() -> Parser:
    options = Parser("This tool helps to manage acls on kafka.")
    servers = (
        "A list of host/port pairs to use for establishing the connection to the Kafka cluster, in the form "
        "host1:port1,host2:port2,..."
    )
    options.takes("bootstrap-server", what="server to connect to", text=servers)
    options.takes("bootstrap-controller", what="controller to connect to", text=servers)
    options.takes(
        "command-config",
        what="command-config",
        text="A property file containing configs to be passed to Admin Client.",
    )
    options.flag("add", text="Indicates you are trying to add ACLs.")
    options.flag("remove", text="Indicates you are trying to remove ACLs.")
    options.flag("list", text="List ACLs for the specified resource, or all.")
    options.flag("force", text="Assume Yes to all queries and do not prompt.")
    _add_resources(options)
    _add_principals(options)
    return options


def _add_resources(options: Parser) -> None:
    every = "A value of '*' indicates all of them."
    options.takes("topic", what="topic", text=f"topic to which ACLs should be added or removed. {every}")
    options.flag("cluster", text="Add/Remove cluster ACLs.")
    options.takes("group", what="group", text=f"Consumer Group to which the ACLs apply. {every}")
    options.takes(
        "transactional-id", what="transactional-id", text=f"The transactionalId to which ACLs apply. {every}"
    )
    options.takes(
        "delegation-token", what="delegation-token", text=f"Delegation token to which ACLs apply. {every}"
    )
    options.takes(
        "user-principal",
        what="user-principal",
        text="A user principal as a resource, for CreateTokens and DescribeTokens.",
    )
    options.takes(
        "resource-pattern-type",
        what="ANY|MATCH|LITERAL|PREFIXED",
        default="LITERAL",
        text="The type of the resource pattern or pattern filter. ACLs are added with literal or prefixed. "
        "When listing or removing, 'any' matches every type of pattern with exactly this name, and 'match' "
        "every pattern that affects this resource. WARNING: use 'match' with '--remove' with care.",
    )


def _add_principals(options: Parser) -> None:
    names = ", ".join(
        "".join(word.capitalize() for word in each.name.split("_"))
        for each in Operation
        if each != Operation.ANY
    )
    options.takes(
        "operation",
        default="All",
        text=f"Operation that is being allowed or denied. Valid operation names are: {names}",
    )
    for word in ("allow", "deny"):
        options.takes(
            f"{word}-principal",
            what=f"{word}-principal",
            text="principal is in principalType:name format. User:'*' is the wild card for all users. Deny "
            "rules take precedence over allow rules.",
        )
        options.takes(
            f"{word}-host",
            what=f"{word}-host",
            text=f"Host from which principals listed in --{word}-principal are meant. The default is '*'.",
        )
    options.takes("principal", what="principal", text="List ACLs for the specified principal only.")
    options.flag("producer", text="Add/remove ACLs for producers: WRITE, DESCRIBE and CREATE on topic.")
    options.flag("consumer", text="Add/remove ACLs for consumers: READ, DESCRIBE on topic and READ on group.")
    options.flag("idempotent", text="Enable idempotence for the producer, together with --producer.")
