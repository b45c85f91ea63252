"""Variables in settings, and where their values come from."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from penstock.settings import BrokerSettings, SettingError
from penstock.settings.config_providers import ConfigProviders, resolved
from penstock.settings.secret_files import exposed, files_with_secrets, is_secret
from penstock.settings.sources import collect, read_properties

ALL = {"config.providers": "file,env,directory"}


def test_each_provider_gives_the_value_of_its_variables(tmp_path: Path) -> None:
    (tmp_path / "secrets.properties").write_text("key.store=s3\\u0063ret\n")
    (tmp_path / "token").write_text("abc\n")
    texts = {
        "a": f"x${{file:{tmp_path}/secrets.properties:key.store}}y${{env:NAME}}z",
        "b": f"${{directory:{tmp_path}:token}}",
        "c": "nothing to see",
    }
    assert resolved({**ALL, **texts}, {"NAME": "${env:NAME}"}) == {
        **ALL,
        "a": "xs3crety${env:NAME}z",
        "b": "abc\n",
        "c": "nothing to see",
    }


def test_a_provider_may_have_another_name_and_kafkas_class() -> None:
    texts = {
        "config.providers": " here ",
        "config.providers.here.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        "config.providers.here.param.allowlist.pattern": "PUBLIC_.*",
        "a": "${here:PUBLIC_A}",
    }
    assert resolved(texts, {"PUBLIC_A": "1"})["a"] == "1"
    with pytest.raises(SettingError, match="finds no 'PRIVATE'"):
        resolved({**texts, "a": "${here:PRIVATE}"}, {"PRIVATE": "1"})


def test_variables_of_providers_that_are_not_named_stay_as_they_are() -> None:
    texts = {"a": "${vault:secret:key} ${HOME} ${}", "b": "${env:HOME}"}
    assert resolved(texts, {"HOME": "/"}) == texts


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ({**ALL, "a": "${file:/no/such:key}"}, "Could not read properties from file /no/such"),
        ({**ALL, "a": "${env:/path:KEY}"}, "Path is not supported for EnvVarConfigProvider"),
        ({**ALL, "a": "${env:NONE}"}, "The variable ${env:NONE} of a has no value"),
        ({**ALL, "a": "${directory:/:no/where}"}, "has no value"),
        ({"config.providers": "vault"}, "Could not load config provider class"),
        ({**ALL, "config.providers.file.param.allowed.paths": "here"}, "Path here is not absolute"),
        ({**ALL, "config.providers.file.param.allowed.paths": "/no/such"}, "does not exist"),
        ({**ALL, "config.providers.env.param.allowlist.pattern": "("}, "no regular expression"),
    ],
)
def test_what_cannot_be_had_is_an_error(texts: dict[str, str], told: str) -> None:
    with pytest.raises(SettingError) as failure:
        resolved(texts, {})
    assert told in str(failure.value)


@pytest.mark.parametrize("way", ["{outside}", "{inside}/../outside", "{inside}/link"])
def test_no_way_leads_out_of_the_allowed_paths(tmp_path: Path, way: str) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.write_text("key=1")
    (inside / "own").write_text("key=2")
    (inside / "link").symlink_to(outside)
    providers = ConfigProviders.of({**ALL, "config.providers.file.param.allowed.paths": str(inside)}, {})
    assert providers.resolve({"a": f"${{file:{inside}/own:key}}"}) == {"a": "2"}
    with pytest.raises(SettingError, match="is not allowed to be accessed"):
        providers.resolve({"a": f"${{file:{way.format(inside=inside, outside=outside)}:key}}"})


def test_a_broker_reads_its_settings_through_providers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("config.providers=env\nnode.id=${env:NODE}\n")
    with caplog.at_level(logging.INFO):
        settings = BrokerSettings.load(str(file), {"log.dirs": "${env:DATA}"}, {"NODE": "7", "DATA": "/d"})
    assert settings.node_id == 7
    assert settings.log_dirs == ("/d",)
    assert not caplog.records


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("ssl.keystore.password", True),
        ("listener.name.a.plain.sasl.jaas.config", True),
        ("ssl.keystore.key", True),
        ("delegation.token.secret.key", True),
        ("connection.password", True),
        ("aws.secret", True),
        ("aws.secret.access.key", True),
        ("schema.registry.basic.auth.user.info", True),
        ("clientSecret", True),
        ("ssl.keystore.certificate.chain", False),
        ("key.converter", False),
        ("delegation.token.max.lifetime.ms", False),
    ],
)
def test_secrets_are_known_by_their_names(name: str, secret: bool) -> None:
    assert is_secret(name) is secret


def test_files_that_others_may_read_are_named_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, store, secrets = tmp_path / "a.properties", tmp_path / "a.p12", tmp_path / "secrets"
    store.write_bytes(b"")
    secrets.write_text("p=canary")
    file.write_text(
        f"config.providers=file\nssl.keystore.location={store}\nssl.key.password=${{file:{secrets}:p}}\n"
    )
    for path in (file, store, secrets):
        path.chmod(0o644)
    read_properties(str(file))
    assert [record.getMessage().split()[0] for record in caplog.records] == [str(store), str(secrets)]
    assert "canary" not in caplog.text
    caplog.clear()
    store.chmod(0o640)
    secrets.chmod(0o600)
    collect(str(file), {}, {})
    assert not caplog.records
    assert exposed(files_with_secrets(str(file), {"ssl.key.password": "x"})) == [str(file)]
