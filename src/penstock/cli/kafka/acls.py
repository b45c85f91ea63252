"""`kafka-acls`: lists, adds and removes access control entries."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

from penstock.cli.kafka import acl_entries
from penstock.cli.kafka.acl_entries import Entry, Pattern
from penstock.cli.kafka.acl_options import checked, parser, patterns, principals, to_add, wanted
from penstock.cli.kafka.asking import Asker, Refused
from penstock.cli.kafka.options import CommandFailed, Given
from penstock.cli.kafka.properties import load_properties
from penstock.cli.kafka.starting import script


def acls(words: Sequence[str]) -> int:
    given = checked(parser().parse_or_help(words))
    try:
        asker = Asker(given.value("bootstrap-server"), load_properties(given.value("command-config")))
        if given.has("add"):
            _add(asker, given)
        elif given.has("remove"):
            _remove(asker, given)
        else:
            _list(asker, given)
    except CommandFailed as error:
        reason = f"{error.java_class}: {error}" if isinstance(error, Refused) else error
        print(f"Error while executing ACL command: {reason}")
        return 1
    return 0


def _add(asker: Asker, given: Given) -> None:
    for pattern, entries in sorted(to_add(given).items()):
        old = acl_entries.described(asker, pattern).get(pattern, [])
        for entry in sorted(entries & set(old)):
            print(f"Acl (pattern={pattern}, entry={entry}) already exists.")
        new = sorted(entries - set(old))
        if new:
            print(f"Adding ACLs for resource `{pattern}`: \n {_lines(new)}\n")
            acl_entries.create(asker, pattern, new)


def _remove(asker: Asker, given: Given) -> None:
    for pattern, entries in sorted(wanted(given).items()):
        listed = sorted(entries)
        question = (
            f"Are you sure you want to remove ACLs: \n {_lines(listed)}\n from resource filter `{pattern}`? "
            "(y/n)"
            if listed
            else f"Are you sure you want to delete all ACLs for resource filter `{pattern}`? (y/n)"
        )
        if given.has("force") or _confirmed(question):
            acl_entries.delete(asker, pattern, listed)


def _list(asker: Asker, given: Given) -> None:
    named = principals(given, "principal")
    found: dict[Pattern, list[Entry]] = {}
    wanted_patterns: list[Pattern | None] = [*patterns(given, needed=False)]
    for pattern in wanted_patterns or [None]:
        found |= acl_entries.described(asker, pattern)
    if not named:
        _print(found)
    for principal in named:
        print(f"ACLs for principal `{principal}`")
        own = {
            pattern: [entry for entry in entries if entry.principal == principal]
            for pattern, entries in found.items()
        }
        _print({pattern: entries for pattern, entries in own.items() if entries})


def _print(found: Mapping[Pattern, Iterable[Entry]]) -> None:
    for pattern, entries in found.items():
        print(f"Current ACLs for resource `{pattern}`:\n{_lines(entries)}\n")


def _lines(entries: Iterable[Entry]) -> str:
    return "\n".join(f"\t{entry}" for entry in entries)


def _confirmed(question: str) -> bool:
    print(question, flush=True)
    return sys.stdin.readline().strip().lower() == "y"


main = script(acls)
