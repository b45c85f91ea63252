"""SCRAM on both sides, by the vectors of the RFC and with everything that can be wrong."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.security.authentication import AuthenticationFailed
from penstock.security.principals import user
from penstock.security.scram import (
    ALGORITHMS,
    SHA_256,
    SHA_512,
    Algorithm,
    ScramClient,
    ScramCredential,
    ScramServer,
    credential_of_password,
)

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
DECOY = b"a key of this broker"


def server(
    password: str = "pencil",
    algorithm: Algorithm = SHA_256,
    name: str = "user",
    nonce: str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
) -> ScramServer:
    credential = credential_of_password(algorithm, password, SALT, 4096)
    return ScramServer(algorithm, {name: credential}.get, nonce, DECOY)


def test_the_exchange_of_rfc_7677() -> None:
    client = ScramClient(SHA_256, "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    machine = server()
    assert client.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    first = machine.respond(client.first())
    assert first == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    final = client.final(first)
    assert final == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert machine.proof is None
    last = machine.respond(final)
    assert last == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    client.check(last)
    assert machine.proof is not None
    assert machine.proof.principal == user("user")


@given(
    name=st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12),
    password=st.text(st.characters(codec="utf-8"), max_size=12),
    mechanism=st.sampled_from(sorted(ALGORITHMS)),
)
def test_every_name_and_password_passes_and_no_other_password_does(
    name: str, password: str, mechanism: str
) -> None:
    algorithm = ALGORITHMS[mechanism]
    machine = server(password, algorithm, name)
    client = ScramClient(algorithm, name, password, "c")
    client.check(machine.respond(client.final(machine.respond(client.first()))))
    wrong = ScramClient(algorithm, name, password + "x", "c")
    machine = server(password, algorithm, name)
    final = wrong.final(machine.respond(wrong.first()))
    with pytest.raises(AuthenticationFailed):
        machine.respond(final)
    assert machine.proof is None


def refused(machine: ScramServer, client: ScramClient) -> str:
    with pytest.raises(AuthenticationFailed) as failure:
        machine.respond(client.final(machine.respond(client.first())))
    return str(failure.value)


def test_nothing_shows_whether_a_user_exists() -> None:
    known, unknown = server(), server()
    wrong = refused(known, ScramClient(SHA_256, "user", "wrong", "c"))
    absent = refused(unknown, ScramClient(SHA_256, "nobody", "pencil", "c"))
    assert wrong == absent
    firsts = [server().respond(b"n,,n=nobody,r=c") for _ in range(2)]
    assert firsts[0] == firsts[1]  # the salt of a user that is not there stays the same
    assert server().respond(b"n,,n=noone,r=c") != firsts[0]
    assert firsts[0].split(b",i=")[1] == b"4096"


def test_the_keys_of_a_decoy_open_nothing() -> None:
    """Its stored key is zeros; a proof that would fit zeros is refused all the same."""
    credential = ScramCredential(SALT, bytes(32), bytes(32), 4096)
    assert ScramServer(SHA_256, {}.get, "s", DECOY)._decoy("x").stored_key == credential.stored_key
    machine = ScramServer(SHA_256, {}.get, "s", DECOY)
    machine.respond(b"n,,n=nobody,r=c")
    with pytest.raises(AuthenticationFailed):
        machine.respond(b"c=biws,r=cs,p=" + base64.b64encode(bytes(32)))


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,",
        b"n=user,r=c",
        b"y,,n=user,r=c",
        b"p=tls-unique,,n=user,r=c",
        b"n,a=other,n=user,r=c",
        b"n,,n=user,r=",
        b"n,,n=us=er,r=c",
        b"n,,m=x,n=user,r=c",
        b"\xff\xfe",
        b"n,,n=user,r=c,tokenauth=true",
    ],
)
def test_a_first_message_of_another_form_is_refused(message: bytes) -> None:
    with pytest.raises(AuthenticationFailed):
        server().respond(message)


@pytest.mark.parametrize(
    "change",
    [
        lambda final: final.replace(b"r=c", b"r=d"),
        lambda final: final.replace(b"r=cs", b"r=c"),
        lambda final: final.replace(b"c=biws", b"c=eSws"),
        lambda final: final.replace(b"p=", b"p=AA"),
        lambda final: final[: final.index(b",p=")],
        lambda final: final[:-6] + b"AAAA==",
        lambda final: final + b",x=1",
    ],
)
def test_a_proof_that_was_changed_on_its_way_is_refused(change: object) -> None:
    machine, client = server(nonce="s"), ScramClient(SHA_256, "user", "pencil", "c")
    final = client.final(machine.respond(client.first()))
    with pytest.raises(AuthenticationFailed):
        machine.respond(change(final))  # type: ignore[operator]
    assert machine.proof is None


@pytest.mark.parametrize(
    "first",
    [
        b"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"r=c,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"r=cs,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=100",
        b"r=cs,s=!!,i=4096",
        b"e=unknown-user",
    ],
)
def test_a_client_does_not_give_its_proof_to_a_server_that_plays_it_down(first: bytes) -> None:
    with pytest.raises(AuthenticationFailed):
        ScramClient(SHA_256, "user", "pencil", "c").final(first)


@pytest.mark.parametrize("last", [b"e=invalid-proof", b"v=AAAA", b"", b"v=!"])
def test_a_client_wants_the_servers_proof_too(last: bytes) -> None:
    machine, client = server(), ScramClient(SHA_512, "user", "pencil", "c")
    machine = server(algorithm=SHA_512)
    client.final(machine.respond(client.first()))
    with pytest.raises(AuthenticationFailed):
        client.check(last)


def test_no_credential_is_printed() -> None:
    text = repr(credential_of_password(SHA_256, "pencil", SALT, 4096))
    assert text == "ScramCredential(iterations=4096)"
