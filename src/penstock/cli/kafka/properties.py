"""Files of properties and pairs `name=value` that Kafka's commands take."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from penstock.cli.kafka.options import CommandFailed


def load_properties(path: str | None) -> dict[str, str]:
    """The properties of a file such as `--command-config` names; none without a file."""
    if path is None:
        return {}
    from penstock.settings.properties import PropertiesError, parse_properties

    try:
        return parse_properties(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CommandFailed(f"{path} (No such file or directory)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"{path} ({error})") from None
    except PropertiesError as error:
        raise CommandFailed(f"{path}: {error}") from None


def key_values(pairs: Iterable[str]) -> dict[str, str]:
    """`name=value` pairs; a name alone has the empty value."""
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}
