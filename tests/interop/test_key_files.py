"""Files of keys are pyzmq's: it reads ours, and we read its, once nobody else can.

Not here: our own files in detail (tests/unit/test_keys.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

import meshmsg as mm
from meshmsg._security.files.key_files import read_keys

zmq = pytest.importorskip("zmq")
auth = pytest.importorskip("zmq.auth")

pytestmark = pytest.mark.skipif(
    not mm.has("curve") or not zmq.has("curve"), reason="no CURVE on both sides"
)


def test_pyzmq_reads_ours(tmp_path: Path) -> None:
    """Both files, and the folder of public ones."""
    pair = mm.keygen(tmp_path / "me", metadata={"name": "x"})
    assert pair.secret_file
    assert pair.public_file
    keys = (pair.public.encode(), str(pair.secret).encode())
    assert auth.load_certificate(pair.secret_file) == keys
    assert auth.load_certificate(pair.public_file) == (keys[0], None)
    assert auth.load_certificates(tmp_path) == {keys[0]: True}
    assert zmq.curve_public(keys[1]) == keys[0]


def test_we_read_pyzmqs(tmp_path: Path) -> None:
    """Its secret file is refused first, as it leaves it for others to read."""
    public, secret = auth.create_certificates(tmp_path, "peer", metadata={"name": "a b"})
    with pytest.raises(mm.UsageError, match=f"chmod 600 {secret}"):
        Path(secret).chmod(0o644)
        read_keys(secret)
    Path(secret).chmod(0o600)
    found = read_keys(secret)
    assert found.secret is not None
    assert (found.public.encode(), found.secret.encode()) == auth.load_certificate(secret)
    assert found.metadata == {"name": "a b"}
    assert read_keys(public).public == found.public
    assert read_keys(public).secret is None
