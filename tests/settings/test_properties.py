"""The syntax of java.util.Properties, rule by rule and by round trip."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.settings.properties import PropertiesError, parse_properties


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1", {"a": "1"}),
        ("a:1", {"a": "1"}),
        ("a 1", {"a": "1"}),
        ("  a  =  1  ", {"a": "1  "}),
        ("a = = 1", {"a": "= 1"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=1", {"": "1"}),
        ("# a=1\n! b=2\n\n  # c=3\nd=4", {"d": "4"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=x,\\\n   y,\\\n   z", {"a": "x,y,z"}),
        ("a=ends with a backslash\\\\\nb=2", {"a": "ends with a backslash\\", "b": "2"}),
        ("a\\=b=c", {"a=b": "c"}),
        ("a\\ b c", {"a b": "c"}),
        ("a=\\t\\n\\r\\f\\q", {"a": "\t\n\r\fq"}),
        ("a=\\u00e9\\uD83D\\uDE00", {"a": "é😀"}),
        ("path=C:\\\\data", {"path": "C:\\data"}),
        ("a=1\\\n# no comment", {"a": "1# no comment"}),
        ("a=1\\", {"a": "1"}),
        ("\\\na=1", {"a": "1"}),
        ("a=1\u2028b", {"a": "1\u2028b"}),
        ("log.dirs=/a/b # no comment either", {"log.dirs": "/a/b # no comment either"}),
    ],
)
def test_a_text_holds_these_pairs(text: str, pairs: dict[str, str]) -> None:
    assert parse_properties(text) == pairs


def test_a_broken_escape_names_its_line() -> None:
    with pytest.raises(PropertiesError, match="line 3"):
        parse_properties("a=1\n\nb=\\u12g4")


def _escape(text: str, *, key: bool) -> str:
    """What java.util.Properties.store writes."""
    escaped = []
    for position, character in enumerate(text):
        if character == " " and (key or position == 0):
            escaped.append("\\ ")
        elif character in "\t\n\r\f":
            escaped.append("\\" + {"\t": "t", "\n": "n", "\r": "r", "\f": "f"}[character])
        elif character in "=:#!\\":
            escaped.append("\\" + character)
        elif not " " <= character <= "~":
            units = character.encode("utf-16-be")
            escaped += [f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2)]
        else:
            escaped.append(character)
    return "".join(escaped)


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(_TEXTS, _TEXTS), st.sampled_from(["=", ":", " = ", " ", "\t:\t"]))
def test_what_java_would_store_is_read_back(pairs: dict[str, str], separator: str) -> None:
    lines = [_escape(key, key=True) + separator + _escape(value, key=False) for key, value in pairs.items()]
    if separator == " " and any(not key for key in pairs):
        return  # an empty key needs a separator that is no blank
    assert parse_properties("# stored\n" + "\n".join(lines) + "\n") == pairs


@given(st.text(max_size=200))
def test_no_text_does_anything_but_parse_or_refuse(text: str) -> None:
    try:
        pairs = parse_properties(text)
    except PropertiesError:
        return
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in pairs.items())
