"""Files of properties, addresses and pairs `name=value` that Kafka's commands take."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from penstock.cli.kafka.options import CommandFailed, Given

_ADDRESS: Final = re.compile(r"^\s*(?:\w+://)?\[?[\w.:%-]+\]?:\d+\s*$")


def load_properties(path: str | None) -> dict[str, str]:
    """The properties of a file such as `--command-config` names; none without a file."""
    if path is None:
        return {}
    from penstock.settings.config_providers import resolved
    from penstock.settings.errors import SettingError
    from penstock.settings.properties import PropertiesError, parse_properties

    try:
        return resolved(parse_properties(Path(path).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise CommandFailed(f"{path} (No such file or directory)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"{path} ({error})") from None
    except (PropertiesError, SettingError) as error:
        raise CommandFailed(f"{path}: {error}") from None


def key_values(pairs: Iterable[str]) -> dict[str, str]:
    """`name=value` pairs; a name alone has the empty value."""
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def one_of(given: Given, new: str, old: str, *, warning: str = "Option") -> str:
    """The name of the option that was given: the new one, or the deprecated one, never both. `warning` is
    the first word of what is printed about the deprecated one."""
    if given.has(new) and given.has(old):
        given.refuse(f"Options --{new} and --{old} cannot be specified together.")
    if given.has(old):
        print(
            f"{warning} --{old} is deprecated and will be removed in a future version. Use --{new} instead."
        )
        return old
    return new


def check_addresses(given: Given, option: str) -> None:
    """Addresses as `host:port,host:port`, or Kafka's complaint with the help."""
    text = given.value(option)
    if text is None or not text.strip():
        given.refuse("Error while validating the bootstrap address\n")
    if not all(_ADDRESS.search(address) for address in text.split(",")):
        given.refuse("Please provide valid host:port like host1:9091,host2:9092\n")
