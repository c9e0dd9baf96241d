"""`security=` with sockets of pyzmq, its authenticator and its files of keys, both ways.

Not here: every pair of roles (test_curve.py).
"""

from __future__ import annotations

from pathlib import Path

import zmq
import zmq.auth
from zmq.auth.thread import ThreadAuthenticator

import meshmsg as mm
from tests.interop.zmqside import bind, zmq_socket
from tests.support.pairs import WAIT_S, of_its_own, wait_until


def test_a_client_of_pyzmq_comes_in_by_our_list(tmp_path: Path) -> None:
    """With keys of either make, from a folder of pyzmq's certificates."""
    server = mm.keygen(tmp_path / "server")
    zmq.auth.create_certificates(tmp_path, "alice")
    (tmp_path / "allowed").mkdir()
    (tmp_path / "alice.key").rename(tmp_path / "allowed" / "alice.key")
    public, secret = zmq.auth.load_certificate(tmp_path / "alice.key_secret")
    assert secret
    policy = mm.Curve(key=server.secret_file, allow=tmp_path / "allowed")
    keys = {
        "CURVE_SERVERKEY": server.public.encode(),
        "CURVE_PUBLICKEY": public,
        "CURVE_SECRETKEY": secret,
    }
    with (
        mm.Pull(bind=of_its_own(), security=policy) as pull,
        zmq_socket(zmq.PUSH, IPV6=0, **keys) as theirs,
    ):
        theirs.connect(pull.endpoint)
        theirs.send(b"hi")
        assert pull.recv(timeout=WAIT_S) == b"hi"
        assert pull.peers()[0].user_id == "alice"
    eve = mm.keygen()
    keys |= {"CURVE_PUBLICKEY": eve.public.encode(), "CURVE_SECRETKEY": eve.secret.encode()}
    with (
        mm.Pull(bind=of_its_own(), security=policy) as pull,
        zmq_socket(zmq.PUSH, IPV6=0, **keys) as theirs,
    ):
        theirs.connect(pull.endpoint)
        wait_until(lambda: any(eve.public in event.detail for event in pull.events()))
        assert not pull.peers()


def test_our_client_comes_in_by_the_authenticator_of_pyzmq(tmp_path: Path) -> None:
    """Whom its folder has, and nobody else."""
    server, alice, eve = mm.keygen(), mm.keygen(tmp_path / "alice"), mm.keygen()
    context = zmq.Context()
    authenticator = ThreadAuthenticator(context)
    authenticator.start()
    try:
        authenticator.configure_curve(domain="*", location=tmp_path)
        with context.socket(zmq.PULL) as theirs:
            theirs.linger = 0
            theirs.curve_secretkey = server.secret.encode()
            theirs.curve_publickey = server.public.encode()
            theirs.curve_server = 1
            endpoint = bind(theirs, of_its_own())
            called = mm.Curve(server=server.public, key=alice.secret_file)
            with mm.Push(connect=endpoint, security=called) as push:
                push.send(b"hi", timeout=WAIT_S)
                assert theirs.recv() == b"hi"
            called = mm.Curve(server=server.public, key=eve)
            with mm.Push(connect=endpoint, security=called) as push:
                wait_until(lambda: any("'400'" in event.detail for event in push.events()))
    finally:
        authenticator.stop()
        context.term()
