"""Command lines as joptsimple reads them, which most of Kafka's commands use.

`--opt value`, `--opt=value`, `-opt value`, and options that may be given several times; Kafka's commands do
not allow the beginning of a name for the whole. The texts of the errors are joptsimple's and those of Kafka's
`CommandLineUtils`. An argument is converted when its value is asked for, so that an argument of the wrong
kind is an error of the command that asks. The module reads and decides; `starting` prints.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

COLUMNS: Final = 80
_KINDS: Final = {"String": str, "Integer": int, "Long": int, "Double": float}
_BOUNDS: Final = {"Integer": 2**31, "Long": 2**63}


class CommandFailed(Exception):
    """The command could not do its work. The message is printed to standard error."""


class OptionError(CommandFailed):
    """The command line cannot be read; the message is joptsimple's."""


class UsageError(Exception):
    """The command line can be read and makes no sense, or asks for help; the help follows the message."""

    def __init__(self, message: str, help_text: str) -> None:
        super().__init__(message)
        self.help_text = help_text


class VersionWanted(Exception):
    """`--version`."""


@dataclass(frozen=True)
class Option:
    """One option under all its names."""

    names: tuple[str, ...]
    text: str
    argument: str | None
    """What its argument is, for the help; None for an option without one."""
    kind: str
    default: Any
    required: bool
    bare: str | None = None
    """The argument that stands when the option is given without one; None when an argument is required."""
    old_names: tuple[str, ...] = ()
    """Names that Kafka has dropped and tutorials still print; the help does not show them."""

    def __str__(self) -> str:
        return f"[{', '.join(self.names)}]"

    def read(self, text: str) -> Any:
        try:
            value = _KINDS[self.kind](text)
        except ValueError:
            value = None
        bound = _BOUNDS.get(self.kind)
        if value is None or (bound is not None and not -bound <= value < bound):
            raise OptionError(f"Cannot parse argument '{text}' of option {self.names[0]}")
        return value


@dataclass
class Given:
    """What a command line gave."""

    parser: Parser
    words_of: dict[Option, list[str]] = field(default_factory=dict)
    """The arguments of each option that was given, as they were written."""
    order: list[str] = field(default_factory=list)
    """The name of each option, in the order in which they were given."""
    rest: list[str] = field(default_factory=list)
    """Words that belong to no option."""

    def has(self, name: str) -> bool:
        return self.parser.option(name) in self.words_of

    def value(self, name: str) -> Any:
        """The one value, or the default."""
        option = self.parser.option(name)
        words = self.words_of.get(option, [])
        if len(words) > 1:
            raise OptionError(
                f"Found multiple arguments for option {option.names[0]}, but you asked for only one"
            )
        return option.read(words[0]) if words else option.default

    def values(self, name: str) -> list[Any]:
        option = self.parser.option(name)
        if option not in self.words_of:
            return [] if option.default is None else [option.default]
        return [option.read(word) for word in self.words_of[option]]

    # -- the checks of Kafka's CommandLineUtils

    def require(self, *names: str) -> None:
        for name in names:
            if not self.has(name):
                self.refuse(f'Missing required argument "{self.parser.option(name)}"')

    def forbid(self, used: str, *others: str) -> None:
        if not self.has(used):
            return
        for other in others:
            if self.has(other):
                self.refuse(
                    f'Option "{self.parser.option(used)}" can\'t be used with option '
                    f'"{self.parser.option(other)}"'
                )

    def refuse(self, message: str) -> NoReturn:
        raise UsageError(message, self.parser.help_text())


class Parser:
    """The options of one command. `about` is the first line of its help, `empty` that of the help for a
    command line without a word."""

    def __init__(self, about: str, *, empty: str | None = None) -> None:
        self.about = about
        self._empty = about if empty is None else empty
        self._options: dict[str, Option] = {}
        self.flag("help", text="Print usage information.")
        self.flag("version", text="Display Kafka version.")

    def flag(self, *names: str, text: str) -> None:
        """An option without an argument."""
        self._add(Option(names, text, None, "String", None, False))

    def takes(
        self,
        *names: str,
        text: str,
        what: str = "",
        kind: str = "String",
        default: Any = None,
        required: bool = False,
        bare: str | None = None,
        old_names: tuple[str, ...] = (),
    ) -> None:
        """An option with an argument; with `bare` it may be given without one."""
        self._add(Option(names, text, what, kind, default, required, bare, old_names))

    def _add(self, option: Option) -> None:
        for name in option.names + option.old_names:
            assert name not in self._options, name
            self._options[name] = option

    def option(self, name: str) -> Option:
        return self._options[name]

    def parse_or_help(self, words: Sequence[str]) -> Given:
        """As `parse`; a line that cannot be read is answered with the help, as some commands do."""
        try:
            return self.parse(words)
        except OptionError as error:
            raise UsageError(str(error), self.help_text()) from None

    def parse(self, words: Sequence[str]) -> Given:
        """Raises `UsageError` for --help and for an empty line, `VersionWanted` for --version."""
        given = Given(self)
        left = list(words)
        while left:
            word = left.pop(0)
            if word == "--":
                given.rest += left
                break
            if word.startswith("-") and len(word) > 1:
                self._take(word, left, given)
            else:
                given.rest.append(word)
        if not words or given.has("help"):
            raise UsageError(self.about if words else self._empty, self.help_text())
        if given.has("version"):
            raise VersionWanted
        missing = [str(option.names[0]) for option in self._all() if option.required]
        missing = [name for name in missing if not given.has(name)]
        if missing:
            raise OptionError(f"Missing required option(s) [{', '.join(missing)}]")
        return given

    def _take(self, word: str, left: list[str], given: Given) -> None:
        name, equals, value = word.lstrip("-").partition("=")
        option = self._named(name)
        words = given.words_of.setdefault(option, [])
        given.order.append(option.names[0])
        if option.argument is None:
            return
        if not equals:
            # Joptsimple takes the next word unless it names an option itself.
            if not left or self._names_an_option(left[0]):
                if option.bare is not None:
                    words.append(option.bare)
                    return
                raise OptionError(f"Option {option.names[0]} requires an argument")
            value = left.pop(0)
        words.append(value)

    def _named(self, name: str) -> Option:
        if name not in self._options:
            raise OptionError(f"{name} is not a recognized option")
        return self._options[name]

    def _names_an_option(self, word: str) -> bool:
        return word.startswith("--") and word[2:].partition("=")[0] in self._options

    def _all(self) -> list[Option]:
        return list(dict.fromkeys(self._options.values()))

    # -- help

    def help_text(self) -> str:
        """The table of options, in joptsimple's two columns of 80."""
        options = sorted(self._all(), key=lambda option: sorted(option.names)[0])
        rows = [(_shown(option), option.text + _default(option)) for option in options]
        left = min(40, max(len(shown) for shown, _ in rows) + 1)
        lines = [_row("Option", "Description", left), _row("------", "-----------", left)]
        for shown, text in rows:
            lines += _wrapped(shown, text, left)
        return "\n".join(lines)


def _shown(option: Option) -> str:
    names = ", ".join(("-" if len(name) == 1 else "--") + name for name in sorted(option.names, key=len))
    if option.argument is None:
        return names
    argument = f"{option.kind}: {option.argument}" if option.argument else option.kind
    return f"{names} <{argument}>" if option.bare is None else f"{names} [{argument}]"


def _default(option: Option) -> str:
    return "" if option.default is None else f" (default: {option.default})"


def _row(left_text: str, right_text: str, left: int) -> str:
    return f"{left_text:<{left}} {right_text:<{COLUMNS - left - 1}}"


def _wrapped(shown: str, text: str, left: int) -> Iterable[str]:
    names = textwrap.wrap(shown, left, subsequent_indent="  ")
    texts = textwrap.wrap(text, COLUMNS - left - 1, subsequent_indent="  ") or [""]
    for number in range(max(len(names), len(texts))):
        yield _row(
            names[number] if number < len(names) else "", texts[number] if number < len(texts) else "", left
        )
