"""When certificates end, and what is told of it: by dates that are arguments, so nobody waits.

Not here: what TLS does with a peer whose certificate has ended (test_tls.py).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from meshmsg._cli.program import main
from meshmsg._security.certificates.expiry import (
    DAY_S,
    TOLD_BEFORE_S,
    WORDS_MAX,
    Expiry,
    Validity,
    trouble_of,
    validities_of,
)
from meshmsg._security.tls_files import Pem, TlsFiles
from tests.support.certificates import make
from tests.support.certs import Ca, alone, written
from tests.support.pairs import WAIT_S, wait_until

BIND = "tls+tcp://127.0.0.1:0"
tls = pytest.mark.skipif(not mm.has("tls"), reason="no OpenSSL 3 here")
BEGIN, END = 1_700_000_000.0, 1_800_000_000.0
DATES = [Validity(BEGIN, END)]


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (TOLD_BEFORE_S + 1, ""),
        (TOLD_BEFORE_S, "ends in 14 days, on 2027-01-15 08:00 UTC"),
        (TOLD_BEFORE_S - 1, "ends in 13 days, on 2027-01-15 08:00 UTC"),
        (2 * DAY_S - 1, "ends in 47 hours, on 2027-01-15 08:00 UTC"),
        (60, "ends in 1 minute, on 2027-01-15 08:00 UTC"),
        (0, "ended 0 minutes ago, on 2027-01-15 08:00 UTC"),
        (-3 * DAY_S, "ended 3 days ago, on 2027-01-15 08:00 UTC"),
        (END - BEGIN, ""),
        (END - BEGIN + 2 * DAY_S, "is not valid before 2023-11-14 22:13 UTC, in 2 days"),
    ],
)
def test_what_is_wrong_at_a_time(left: float, words: str) -> None:
    """Up to 14 days before its end, to the second, and before its beginning."""
    assert trouble_of(DATES, END - left) == words


def test_of_several_the_first_that_ends_counts() -> None:
    """As a chain is as good as its shortest."""
    assert "ends in 1 minute" in trouble_of([*DATES, Validity(BEGIN, END + 60)], END - 60)
    assert trouble_of([], END) == ""


def test_it_is_told_once_a_version_and_then_once_a_day() -> None:
    """A new file that ends soon is told at once, a good one ends it; so does a clock set back."""
    expiry = Expiry("our certificate", "/etc/x.pem")
    expiry._dates = DATES
    at = END - 10 * DAY_S
    assert expiry.due(at) == f"our certificate /etc/x.pem {trouble_of(DATES, at)}"
    assert expiry.due(at + 1) == expiry.due(at + DAY_S - 1) == ""
    assert "ends in 9 days" in expiry.due(at + DAY_S)
    assert expiry.due(at + DAY_S + 1) == ""
    assert expiry.due(at + DAY_S - 60) == ""
    assert "ends in 11 days" in expiry.due(at - DAY_S)  # the clock was set back
    soon, late = (make("x", days=(-1, days)).pem() for days in (3, 300))
    now = time.time()
    expiry.read(soon)
    assert "ends in 2 days" in expiry.due(now)
    expiry.read(soon)
    assert expiry.due(now) == ""
    expiry.read(late)
    assert expiry.due(now + 30 * DAY_S) == ""
    assert "ended" in expiry.due(now + 301 * DAY_S)


@pytest.mark.parametrize("size", [10, 60, 100, 4000])
@pytest.mark.parametrize("count", [1, 2])
def test_the_words_have_room_in_an_event_and_keep_the_name_of_the_file(
    size: int, count: int
) -> None:
    """A long path is cut at its beginning."""
    expiry = Expiry("our certificate", "/" + "d" * size + "/\xe9/server.pem")
    expiry._dates = DATES * count
    words = expiry.words(END - DAY_S)
    assert len(words.encode()) <= WORDS_MAX
    assert "server.pem" in words
    assert "2027-01-15 08:00 UTC" in words


@pytest.mark.parametrize("year", [1949, 1950, 2049, 2050, 9999])
def test_dates_are_read_in_both_forms_of_der(year: int) -> None:
    """UTCTime until 2049, GeneralizedTime from 2050 on; as `cryptography` reads them."""
    import datetime

    end = datetime.datetime(year, 12, 31, 23, 59, 59, tzinfo=datetime.timezone.utc)
    days = (end - datetime.datetime.now(datetime.timezone.utc)).total_seconds() / DAY_S
    try:
        entity = make("x", days=(min(days, 0) - 1, days))
    except ValueError:  # the library writes none before 1950
        assert year < 1950
        return
    [found] = validities_of(entity.pem())
    assert abs(found.end - entity.certificate.not_valid_after_utc.timestamp()) < 1
    assert abs(found.begin - entity.certificate.not_valid_before_utc.timestamp()) < 1


def test_what_is_no_certificate_has_no_dates() -> None:
    """Cut at every octet of its text, and changed: nothing raises; the core says what is wrong."""
    pem = make("x").pem()
    for at in range(len(pem)):
        cut = pem[:at] + pem[-26:]
        assert len(validities_of(cut)) <= 1
    assert validities_of(b"") == validities_of(b"no certificate") == []
    assert len(validities_of(pem + pem)) == 2


def told(socket: Any) -> list[str]:
    """The details of its events about dates."""
    return [e.detail for e in socket.events() if e.kind is mm.EventKind.CERT_EXPIRES]


@tls
@pytest.mark.parametrize("which", ["cert", "ca"])
@pytest.mark.parametrize(
    ("days", "words"), [((-2, 5), "ends in 4 days"), ((-2, -1), "ended"), ((1, 300), "not valid")]
)
def test_a_socket_tells_of_its_certificate_and_its_ca(
    tmp_path: Path,
    which: str,
    days: tuple[float, float],
    words: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As it takes the policy, also of the second socket; in the log it is a warning."""
    ends = written(tmp_path, make("ends", days=days, signs=True))
    good = alone(tmp_path, "good")
    files = ends if which == "cert" else good
    policy = mm.Tls(**files.files, ca=ends.cert if which == "ca" else good.cert)
    what = "our certificate" if which == "cert" else "the CA"
    for _ in range(2):
        with mm.Pull(bind=BIND, security=policy) as pull:
            [detail] = told(pull)
            assert detail.startswith(f"{what} ")
            assert detail.partition(" ends ")[0].partition(" ended ")[0].startswith(what)
            assert words in detail
            assert "ends.pem" in detail
            wait_until(lambda: any("CERT_EXPIRES" in text for text in caplog.messages))
            caplog.clear()


@pytest.fixture
def pull() -> Iterator[mm.Pull]:
    """A socket of TLS that no thread looks for, as its files are none."""
    own, ca = make("own"), make("ca", signs=True)
    policy = mm.Tls(cert=own.pem(), key=own.key_pem(), ca=ca.pem())
    with mm.Pull(bind=BIND, security=policy) as socket:
        yield socket


def followed(tmp_path: Path, days: float) -> TlsFiles:
    """Files whose certificate ends in so many days."""
    server, ca = written(tmp_path, make("server", days=(-1, days))), Ca(tmp_path)
    given = {"certificate": server.cert, "key": server.key, "ca": ca.file}
    return TlsFiles({part: Pem(part, path) for part, path in given.items()}, {}, None)


@tls
def test_what_is_renewed_is_told_by_its_new_date_and_once_a_day(
    pull: mm.Pull, tmp_path: Path
) -> None:
    """At times that are said."""
    files, now = followed(tmp_path, 300), time.time()
    files.serve(pull._handle)
    assert (files.look(now), told(pull)) == ("", [])
    written(tmp_path, make("server", days=(-1, 8.5)))  # half a day more: it is made after `now`
    assert files.look(now) == ""
    [detail] = told(pull)
    assert "server.pem ends in 8 days, on 20" in detail
    assert (files.look(now + DAY_S - 1), told(pull)) == ("", [])
    assert (files.look(now + DAY_S), len(told(pull))) == ("", 1)
    written(tmp_path, make("server", days=(-1, 300)))
    assert (files.look(now + 5 * DAY_S), told(pull)) == ("", [])


@tls
def test_what_is_wrong_in_a_file_changes_no_date(pull: mm.Pull, tmp_path: Path) -> None:
    """The certificate that is in use is still the one that ends."""
    files, now = followed(tmp_path, 9), time.time()
    files.serve(pull._handle)
    assert len(told(pull)) == 1
    (tmp_path / "server.pem").write_bytes(b"no certificate")
    assert "what was read before stays" in files.look(now)
    assert told(pull) == []
    assert "ends in 8 days" in files.dates()[0].words(now)
    assert (files.look(now + DAY_S + 60), len(told(pull))) == ("", 1)


@tls
def test_both_ends_work_though_it_ends_soon(tmp_path: Path) -> None:
    """It is a word, and no refusal."""
    ca = Ca(tmp_path)
    server, client = (ca.sign(name, "127.0.0.1", days=(-1, 2)) for name in ("server", "client"))
    with (
        mm.Pull(bind=BIND, security=mm.Tls(**server.files, ca=ca.file)) as pull,
        mm.Push(connect=pull.endpoint, security=mm.Tls(**client.files, ca=ca.file)) as push,
    ):
        push.send(b"1", timeout=WAIT_S)
        assert pull.recv(timeout=WAIT_S) == b"1"


def test_keys_show_says_for_how_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From when to when, and what is wrong."""
    for days, words in (((-1, 300), "299 days from now"), ((-3, -2), "it ended ")):
        cert = written(tmp_path, make("server", days=days)).cert
        assert main(["keys", "show", os.fspath(cert)]) == 0
        [line] = [one for one in capsys.readouterr().out.splitlines() if "valid: " in one]
        assert words in line
        assert line.count("UTC") >= 2


@tls
def test_the_doctor_says_for_how_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything else: of the certificate and the CA of the file that is named."""
    ca = Ca(tmp_path)
    server = ca.sign("server", "127.0.0.1")
    client = ca.sign("client", days=(-1, 4))
    file = tmp_path / "me.ini"
    file.write_text(
        "[connect]\nmechanism = tls\n"
        f"cert = {client.cert.name}\nkey = {client.key.name}\nca = {ca.file.name}\n"
    )
    with mm.Pull(bind=BIND, security=mm.Tls(**server.files, ca=ca.file)) as pull:
        assert main(["doctor", pull.endpoint, "--security", os.fspath(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("WARN    dates       our certificate")
    assert "it ends in 3 days" in lines[0]
    assert lines[1].startswith("ok      dates       the CA")
    assert lines[-1] == "All is well now; see WARN."
