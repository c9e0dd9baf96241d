"""An empty path, or a file that has nothing in it, is wrong: it is not as if it were not given.

Not here: what such files have in them (test_tls.py, test_keys.py).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import meshmsg as mm
from tests.support.certs import Ca, alone
from tests.support.pairs import WAIT_S, wait_until

pytestmark = pytest.mark.skipif(
    not (mm.has("curve") and mm.has("tls")), reason="no libsodium or no OpenSSL here"
)
BIND = "tls+tcp://127.0.0.1:0"
PARTS = ["cert", "key", "ca", "crl"]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", ["path", "octets", "file"])
def test_a_part_of_tls_that_is_empty_is_wrong(tmp_path: Path, part: str, kind: str) -> None:
    """Whatever stands beside it; the error names the argument."""
    ca = Ca(tmp_path)
    empty = tmp_path / "empty"
    empty.touch(0o600)
    nothing: dict[str, Any] = {"path": "", "octets": b"", "file": empty}
    given = {**ca.sign("server", "127.0.0.1").files, "ca": ca.file, "crl": ca.revoke()}
    given[part] = nothing[kind]
    words = f'^{part}(=.* has no |: .* is empty| is empty| is "", and it is a path)'
    with pytest.raises(mm.UsageError, match=words):
        mm.Tls(**given, allow=lambda who: mm.Allow("anybody"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: mm.Curve(key="", allow=mm.ANYBODY),
        lambda: mm.Curve(key=["", ""], allow=mm.ANYBODY),
        lambda: mm.Secret(""),
        lambda: mm.Plain(allow=""),
    ],
)
def test_so_is_the_path_of_a_secret(make: Callable[[], object]) -> None:
    """It would be that of the folder we are in."""
    with pytest.raises(mm.UsageError, match='is "", and it is a path: '):
        make()


@pytest.mark.parametrize("part", ["crl", "ca"])
def test_a_list_or_a_ca_that_is_cut_to_nothing_changes_nothing(
    tmp_path: Path, part: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whom it kept out stays out, and the log has it."""
    ca = Ca(tmp_path)
    server, good, bad = (ca.sign(name, "127.0.0.1") for name in ("server", "good", "bad"))
    files = {"ca": ca.file, "crl": ca.revoke(bad)}
    stranger = alone(tmp_path, "stranger")
    served = mm.Tls(**server.files, **files, allow=lambda who: mm.Allow("one"))
    with mm.Pull(bind=BIND, security=served) as pull:
        files[part].write_bytes(b"")
        words = f"{part}={files[part]} has no ", "what was read before stays"
        wait_until(lambda: any(all(map(text.__contains__, words)) for text in caplog.messages))
        for who in (bad, stranger):
            failed = pull.stats().handshakes_failed
            called = mm.Tls(**who.files, allow=[server.cert])
            with mm.Push(connect=pull.endpoint, security=called) as push:
                wait_until(lambda before=failed: pull.stats().handshakes_failed > before)
                assert push.stats().sent_messages == 0
        called = mm.Tls(**good.files, allow=[server.cert])
        with mm.Push(connect=pull.endpoint, security=called) as push:
            push.send(b"hi", timeout=WAIT_S)
            assert pull.recv(timeout=WAIT_S) == b"hi"
