"""What connectors may not open and reach, whatever a configuration says."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.connect.api.guards import ALLOWED_PATHS, Forbidden, allowed_address, allowed_path, path_mistakes


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


def test_other_addresses_are_reached() -> None:
    for url in (
        "http://127.0.0.1:8080/x",
        "http://10.1.2.3/",
        "https://[::1]/",
        "mqtt://192.168.0.4:1883",
        "",
    ):
        allowed_address(url)
