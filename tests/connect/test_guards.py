"""What connectors may not open and reach, whatever a configuration says."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.connect.api.guards import (
    ALLOWED_PATHS,
    Forbidden,
    allowed_address,
    allowed_host,
    allowed_path,
    path_mistakes,
)
from penstock.connect.converters.table import converter
from penstock.connect.errors import ConfigError


def test_paths_stay_within_what_the_worker_allows(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for each in (inside, outside):
        each.mkdir()
    (inside / "link").symlink_to(outside)
    config = {ALLOWED_PATHS: str(inside)}
    assert allowed_path(config, f"{inside}/a/../b.txt") == inside / "b.txt"
    for path in (
        f"{inside}/../outside/x",
        f"{inside}/link/x",
        f"{inside}-not",
        "/etc/passwd",
        "",
        "..",
        str(tmp_path),
    ):
        with pytest.raises(Forbidden, match=r"penstock\.allowed\.paths"):
            allowed_path(config, path)
    with pytest.raises(Forbidden, match="no directory is allowed"):
        allowed_path({}, str(inside))
    assert path_mistakes({**config, "file": "/etc/passwd"}, "file")[0][0] == "file"
    assert path_mistakes(config, "file") == []


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]:80/",
        "http://user:pw@169.254.169.254/",
        "http://100.100.100.200/",
        "http://[fd00:ec2::254]/",
        "http://224.0.0.1/",
    ],
)
def test_addresses_where_clouds_keep_credentials_are_not_reached(url: str) -> None:
    with pytest.raises(Forbidden, match="may not reach"):
        allowed_address(url)


@pytest.mark.parametrize("host", ["a.example,169.254.169.254", "/var/run/postgresql", "@abstract", "a b"])
def test_only_one_host_may_be_named(host: str) -> None:
    """libpq would try each host of a list, and takes a path for a socket."""
    with pytest.raises(Forbidden, match="one host"):
        allowed_host(host)


@pytest.mark.parametrize("url", ["http://169.254.169.254/", "http://127.0.0.1:8081,http://169.254.169.254"])
def test_a_registry_of_a_connector_is_no_way_to_such_an_address(url: str) -> None:
    with pytest.raises(ConfigError, match="may not reach"):
        converter("value.converter", "Avro", {"schema.registry.url": url}, is_key=False)


def test_other_addresses_are_reached() -> None:
    for url in (
        "http://127.0.0.1:8080/x",
        "http://10.1.2.3/",
        "https://[::1]/",
        "mqtt://192.168.0.4:1883",
        "",
    ):
        allowed_address(url)
