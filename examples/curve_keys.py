"""A server that knows its clients by their keys, and turns one away that it no longer trusts.

Run it: python examples/curve_keys.py  (it needs libsodium: pip install meshmsg[curve])
"""

import tempfile
from pathlib import Path

import meshmsg as mm


def main() -> None:
    """Make keys, let alice in and eve not, then take alice off the list."""
    with tempfile.TemporaryDirectory() as folder:
        server = mm.keygen(Path(folder, "server"))  # server.key, server.key_secret
        alice = mm.keygen(Path(folder, "alice"))
        allowed = mm.AllowList({alice.public: "alice"})
        policy = mm.Curve(key=server.secret_file, allow=allowed)
        with mm.Pull(bind="tcp://127.0.0.1:0", security=policy) as pull:
            called = mm.Curve(server=server.public, key=alice.secret_file)
            with mm.Push(connect=pull.endpoint, security=called) as push:
                push.send(b"hello", timeout=5)
                message = pull.recv(timeout=5)
                print(f"{pull.peers()[0].user_id} says {message.decode()}")
                called = mm.Curve(server=server.public, key=mm.keygen())
                with mm.Push(connect=pull.endpoint, security=called) as eve:
                    try:
                        eve.wait_for_peers(timeout=0.5)
                    except mm.TimedOutError as error:
                        print(f"eve: {error}")
                allowed.remove(alice)
                [event] = [e for e in pull.events() if e.reason is mm.Reason.REVOKED]
                print(f"alice: {event.detail}; peers left: {len(pull.peers())}")


if __name__ == "__main__":
    main()
