"""`meshmsg doctor`: what it says of sockets of every kind, and why one cannot be connected to.

Not here: the other commands (test_cli_keys.py).
"""

from __future__ import annotations

import json
import socket as system
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._binding.snapshots import EventKind
from meshmsg._cli.codes import Code
from meshmsg._cli.doctor import ROLES, TRIED
from meshmsg._cli.program import main
from meshmsg._cli.steps import STEP_OF, STEPS, Report
from tests.support.certificates import make
from tests.support.certs import Ca, written
from tests.support.pairs import WAIT_S, of_its_own

curve = pytest.mark.skipif(not mm.has("curve"), reason="no libsodium here")
Doctor = Callable[..., dict[str, Any]]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Have a look, and return what it says."""

    def looked(url: str, *words: object, timeout: float = WAIT_S) -> dict[str, Any]:
        code = main(["doctor", url, "--json", "--timeout", str(timeout), *map(str, words)])
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert told["code"] == code
        return told

    return looked


def failed_at(told: dict[str, Any]) -> tuple[str, str]:
    """Return the step that failed, which is the last, and its words."""
    last = told["steps"][-1]
    assert last["ok"] is False
    assert told["code"] == STEPS[last["name"]]
    return last["name"], last["words"]


@pytest.mark.parametrize("role", ["Pub", "XPub", "Pull", "Rep", "Router", "Sub", "Respondent"])
def test_a_socket_that_gives_nothing_is_looked_at_to_the_end(doctor: Doctor, role: str) -> None:
    """By the role that fits, which is found."""
    with getattr(mm, role)(bind=of_its_own()) as peer:
        told = doctor(peer.endpoint)
    assert told["ok"], told
    assert [step["name"] for step in told["steps"]] == list(STEPS)
    words = {step["name"]: step["words"] for step in told["steps"]}
    assert words["wire"] == "ZMTP 3.1, a socket of meshmsg"
    assert f"it is a {role.upper()}" in words["role"]
    assert words["round trip"].endswith(" ms")


@pytest.mark.parametrize("role", ["Push", "Dealer", "Pair", "Bus", "Surveyor"])
def test_a_socket_that_would_give_messages_is_not_joined(doctor: Doctor, role: str) -> None:
    """Unless a role is named: nobody's messages go to a doctor."""
    with getattr(mm, role)(bind=of_its_own()) as peer:
        told = doctor(peer.endpoint)
        assert told["ok"], told
        last = told["steps"][-1]
        assert (last["name"], last["ok"]) == ("role", None)
        assert f"it is a {role.upper()}, and would give us messages" in last["words"]
        assert not any(event.kind is EventKind.PEER_UP for event in peer.events())


def test_a_role_that_is_named_is_taken(doctor: Doctor) -> None:
    """It joins whom it can talk to; else that is what is wrong."""
    with mm.Push(bind=of_its_own()) as push:
        assert doctor(push.endpoint, "--role", "pull")["steps"][-1]["name"] == "round trip"
        told = doctor(push.endpoint, "--role", "push")
        assert failed_at(told) == ("role", "PUSH cannot talk to PUSH")
        assert told["reason"] == "SOCKET_TYPE"


def test_over_sp_there_is_no_ping(doctor: Doctor) -> None:
    """Which is no fault."""
    with mm.Pull(bind=of_its_own()) as pull:
        told = doctor("sp+" + pull.endpoint)
    assert told["ok"]
    last = told["steps"][-1]
    assert (last["name"], last["ok"], last["words"]) == ("round trip", None, "SP has no ping")


def test_over_ipc_there_is_no_host(doctor: Doctor) -> None:
    """All else is the same."""
    with mm.Pub(bind="ipc://*") as pub:
        told = doctor(pub.endpoint)
        assert told["ok"], told
        assert "has no host" in told["steps"][0]["words"]


def test_what_is_wrong_with_the_place_is_told(doctor: Doctor) -> None:
    """Malformed, unknown, nobody there, somebody who says nothing, and no peer at all."""
    assert failed_at(doctor("tcp://127.0.0.1"))[0] == "name"
    told = doctor("tcp://no.such.name.invalid:5555")
    assert failed_at(told)[0] == "name"
    assert told["reason"] == "UNREACHABLE"
    with system.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        told = doctor(url)
        assert failed_at(told) == ("connection", "connection refused")
        assert (told["reason"], told["advice"][:5]) == ("REFUSED", "start")
        listener.listen()
        told = doctor(url, timeout=0.5)
        assert failed_at(told) == ("wire", "the handshake is not done after 0.5 s (0 octets came)")
        assert "--timeout" in told["advice"]
        told = doctor(url, timeout=4)
        assert failed_at(told)[0] == "wire"
        assert "said nothing" in told["steps"][-1]["words"]


@curve
def test_over_curve_it_says_who_it_is_and_that_we_were_let_in(
    doctor: Doctor, tmp_path: Path
) -> None:
    """By two options, or a file of policies."""
    server, alice = mm.keygen(tmp_path / "server"), mm.keygen(tmp_path / "alice")
    policy = mm.Curve(key=server, allow=[alice])
    (tmp_path / "security.ini").write_text(
        "[connect]\nmechanism = curve\nserver = server.key\nkey = alice.key_secret\n"
    )
    options = ["--server", server.public, "--key", tmp_path / "alice.key_secret"]
    for role in ("Pub", "Pull", "Router"):
        with getattr(mm, role)(bind=of_its_own(), security=policy) as peer:
            for given in (options, ["--security", tmp_path / "security.ini"]):
                told = doctor(peer.endpoint, *given)
                assert told["ok"], told
                words = {step["name"]: step["words"] for step in told["steps"]}
                assert words["mechanism"] == f"CURVE; it has the key {server.public}"
                assert f"it is a {role.upper()}" in words["role"]


@curve
def test_over_curve_the_one_reason_why_not_is_told(doctor: Doctor, tmp_path: Path) -> None:
    """The same as events have, with what to do."""
    server, eve = mm.keygen(), mm.keygen(tmp_path / "eve")
    key = tmp_path / "eve.key_secret"
    policy = mm.Curve(key=server, allow=[mm.keygen()])
    with mm.Pub(bind=of_its_own(), security=policy) as pub:
        told = doctor(pub.endpoint)
        assert failed_at(told) == ("mechanism", "the peer's mechanism is 'CURVE', ours NULL")
        assert "--server KEY" in told["advice"]
        told = doctor(pub.endpoint, "--server", mm.keygen().public)
        assert failed_at(told)[0] == "mechanism"
        assert "server= is most likely not its key" in told["steps"][-1]["words"]
        assert "keys show" in told["advice"]
        told = doctor(pub.endpoint, "--server", server.public, "--key", key)
        assert failed_at(told)[0] == "allowed"
        assert "keys allow" in told["advice"]
        assert eve.public not in str(told)
        told = doctor(pub.endpoint, "--server", server.public)
        assert failed_at(told)[0] == "allowed"
        assert "say --key FILE" in told["advice"]
    with mm.Pub(bind=of_its_own()) as pub:
        told = doctor(pub.endpoint, "--server", server.public)
        assert failed_at(told) == ("mechanism", "the peer's mechanism is 'NULL', ours CURVE")


def test_over_plain_a_wrong_password_is_told(doctor: Doctor, tmp_path: Path) -> None:
    """By a file of policies."""
    for name, text in (("right", "one"), ("wrong", "two")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
        lines = f"[connect]\nmechanism = plain\nuser = alice\npassword = {name}\n"
        (tmp_path / f"{name}.ini").write_text(lines)
    with mm.Pub(bind=of_its_own(), security=mm.Plain(allow={"alice": "one"})) as pub:
        told = doctor(pub.endpoint, "--security", tmp_path / "right.ini")
        assert told["ok"], told
        assert told["steps"][3]["words"] == "PLAIN"
        told = doctor(pub.endpoint, "--security", tmp_path / "wrong.ini")
        assert failed_at(told)[0] == "allowed"
        assert "check user and password" in told["advice"]


def test_tls_without_a_policy_is_told_what_to_say(doctor: Doctor) -> None:
    """Before anything is connected to."""
    told = doctor("tls+tcp://127.0.0.1:1")
    assert failed_at(told) == ("mechanism", "TLS needs a policy, and there is none")
    assert "--security FILE" in told["advice"]


@curve
def test_a_policy_that_is_not_for_the_endpoint_is_told_as_one(
    doctor: Doctor, tmp_path: Path
) -> None:
    """CURVE where TLS is, none where it is, and TLS where it is not."""
    mm.keygen(tmp_path / "server")
    told = doctor("tls+tcp://127.0.0.1:1", "--server", tmp_path / "server.key")
    assert failed_at(told)[0] == "mechanism"
    assert "TLS is not CURVE" in told["steps"][-1]["words"]
    assert "mechanism = tls or secret" in told["advice"]
    ini = tmp_path / "security.ini"
    ini.write_text("[connect]\nmechanism = none\n")
    assert failed_at(doctor("tls+tcp://127.0.0.1:1", "--security", ini))[0] == "mechanism"
    if mm.has("tls"):
        ini.write_text("[connect]\nmechanism = tls\nca = system\n")
        told = doctor("tcp://127.0.0.1:1", "--security", ini)
        assert failed_at(told)[0] == "mechanism"
        assert "have the endpoint and [connect]" in told["advice"]


@curve
def test_two_servers_are_told_apart_from_nobody(doctor: Doctor, tmp_path: Path) -> None:
    """The peer's greeting says so, long before the handshake's time is over."""
    mm.keygen(tmp_path / "ours")
    lines = "[connect]\nmechanism = curve\nkey = ours.key_secret\nallow = anybody\n"
    (tmp_path / "two.ini").write_text(lines)
    policy = mm.Curve(key=mm.keygen(), allow=mm.ANYBODY)
    with mm.Pub(bind=of_its_own(), security=policy) as pub:
        told = doctor(pub.endpoint, "--security", tmp_path / "two.ini", "--timeout", "1.5")
        step, words = failed_at(told)
        assert step == "mechanism"
        assert "it is a server, as we are: one of the two has to be the client" in words


tls = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")


def dates_of(told: dict[str, Any]) -> list[tuple[bool, str]]:
    """Return what is said of certificates, and whether it is a warning."""
    return [(step["warns"], step["words"]) for step in told["steps"] if step["name"] == "dates"]


@tls
def test_over_tls_the_dates_of_the_certificate_that_the_peer_shows_are_told(
    doctor: Doctor, tmp_path: Path
) -> None:
    """Behind those of our CA: from when to when, and how long that is from now."""
    ca = Ca(tmp_path)
    server = ca.sign("server", "127.0.0.1", days=(-1, 60.5))
    ini = tmp_path / "security.ini"
    ini.write_text(f"[connect]\nmechanism = tls\nca = {ca.file}\n")
    policy = mm.Tls(**server.files, ca=ca.file, clients="none", allow=mm.ANYBODY)
    with mm.Pub(bind="tls+tcp://127.0.0.1:0", security=policy) as pub:
        told = doctor(pub.endpoint, "--security", ini)
        assert told["ok"], told
        begin = server.entity.certificate.not_valid_before_utc.strftime("%Y-%m-%d %H:%M UTC")
        end = server.entity.certificate.not_valid_after_utc.strftime("%Y-%m-%d %H:%M UTC")
        good = f"the peer's certificate: {begin} to {end}: 60 days from now"
        assert dates_of(told)[-1] == (False, good)
        assert [step["name"] for step in told["steps"] if step["name"] != "dates"] == list(STEPS)


@tls
@pytest.mark.parametrize(
    ("days", "said"),
    [((-1, 5.5), "it ends in 5 days, on"), ((-9, -3.5), "it ended 3 days ago, on")],
)
def test_over_tls_a_certificate_of_the_peer_that_does_not_stay_good_is_a_warning(
    doctor: Doctor, tmp_path: Path, days: tuple[float, float], said: str
) -> None:
    """Also where only its pin is looked at, so that it is let in."""
    server = written(tmp_path, make("server", days=days))
    ini = tmp_path / "security.ini"
    ini.write_text("[connect]\nmechanism = tls\nallow = pins\n")
    (tmp_path / "pins").write_text(f"{server.pin} server\n")
    policy = mm.Tls(**server.files, clients="none", allow=mm.ANYBODY)
    with mm.Pub(bind="tls+tcp://127.0.0.1:0", security=policy) as pub:
        told = doctor(pub.endpoint, "--security", ini)
        assert told["ok"], told
        [(warns, words)] = dates_of(told)
    assert warns
    assert words.startswith("the peer's certificate: ")
    assert said in words


@tls
def test_over_tls_a_certificate_that_is_refused_for_its_date_is_told_with_it(
    doctor: Doctor, tmp_path: Path
) -> None:
    """By the words of the event."""
    ca = Ca(tmp_path)
    server = ca.sign("server", "127.0.0.1", days=(-9, -3))
    ini = tmp_path / "security.ini"
    ini.write_text(f"[connect]\nmechanism = tls\nca = {ca.file}\n")
    policy = mm.Tls(**server.files, ca=ca.file, clients="none", allow=mm.ANYBODY)
    with mm.Pub(bind="tls+tcp://127.0.0.1:0", security=policy) as pub:
        told = doctor(pub.endpoint, "--security", ini)
    assert failed_at(told)[0] == "mechanism"
    assert "ca has to be its signer" in told["advice"]
    assert server.entity.certificate.not_valid_after_utc.strftime("%Y-%m-%d") in str(
        told["steps"][-1]
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--timeout", "0"], "--timeout is 0"),
        (["--key", "x"], "--key FILE goes with --server KEY"),
        (["--server", "x"], "no key in Z85"),
        (["--security", "nowhere"], "cannot be read"),
        (["--security", "x", "--server", "y"], "in place of --server"),
    ],
)
def test_what_is_wrong_with_the_command_is_told(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is connected."""
    assert main(["doctor", "tcp://127.0.0.1:9", *words]) == Code.USAGE
    assert said in capsys.readouterr().err


def test_the_environment_counts_as_for_any_program(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of policies that is named there."""
    path = tmp_path / "security.ini"
    path.write_text("[bind]\nmechanism = none\n")
    monkeypatch.setenv("MESHMSG_SECURITY", str(path))
    assert main(["doctor", "tcp://127.0.0.1:9"]) == Code.USAGE
    path.write_text("[connect]\nmechanism = none\n")
    with mm.Engine() as engine, mm.Pub(bind=of_its_own(), engine=engine, security=mm.NONE) as pub:
        assert main(["doctor", pub.endpoint]) == Code.USAGE  # an engine reads the file once


def test_it_is_a_program_that_speaks_plainly() -> None:
    """Line by line, and the exit code."""

    def run(url: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "meshmsg", "doctor", url]
        return subprocess.run(command, capture_output=True, text=True)

    with mm.Pub(bind=of_its_own()) as pub:
        done = run(pub.endpoint)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[-1] == "All is well."
    assert [line.split("  ")[0] for line in lines[:-1]] == ["ok"] * len(STEPS)
    done = run(pub.endpoint)
    assert (done.returncode, done.stderr) == (Code.CONNECTION, "")
    assert "FAILED  connection  REFUSED: connection refused" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("What to do: start the program")


def test_a_warning_is_not_all_that_is_said() -> None:
    """The last line points at it."""
    report = Report("tls+tcp://a.example:1")
    report.dates("the CA: it ends in 2 days", good=True)
    assert report.lines()[-1] == "All is well."
    report.dates("the CA: it ends in 2 days", good=False)
    assert report.lines()[-1] == "All is well now; see WARN."


@tls
def test_over_tls_each_reason_has_what_to_do(doctor: Doctor, tmp_path: Path) -> None:
    """Where one side has no TLS, and where the server does not take our certificate."""
    ca = Ca(tmp_path)
    server = ca.sign("server", "127.0.0.1")
    ini = tmp_path / "security.ini"
    ini.write_text(f"[connect]\nmechanism = tls\nca = {ca.file}\n")
    with mm.Pub(bind="tcp://127.0.0.1:0") as pub:
        told = doctor(f"tls+{pub.endpoint}", "--security", ini)
        assert told["reason"] in ("TLS_EXPECTED", "HANDSHAKE_EOF")  # or what it says comes in time
        assert told["advice"].startswith("take tcp://")
    with mm.Pub(bind="tls+tcp://127.0.0.1:0", security=mm.Tls(**server.files, ca=ca.file)) as pub:
        told = doctor(pub.endpoint, "--security", ini)
        assert told["reason"] == "TLS_ALERT"
        assert "cert and key of --security FILE" in told["advice"]
        told = doctor(pub.endpoint.removeprefix("tls+"))
        assert told["reason"] == "PLAINTEXT"
        assert told["advice"].startswith("take tls+tcp://")


def test_each_reason_has_its_step_and_each_role_is_one() -> None:
    """What is not in the table is about the connection."""
    assert set(STEP_OF.values()) < set(STEPS)
    quiet_to = {kind._quiet_to for kind in ROLES.values()} - {""}
    assert {*quiet_to, *TRIED} <= set(ROLES)
    assert {"SOCKET_TYPE", "MECHANISM", "NOT_ALLOWED", "NOT_ZMTP"} <= set(STEP_OF)
