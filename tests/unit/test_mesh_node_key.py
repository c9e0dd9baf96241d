"""The key of a node as its sockets prove it, and how a record says that they do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from meshmsg._mesh.keys.node import PRIME, private_key, public_key, user_id
from meshmsg._mesh.limits import RECORD_MAX
from meshmsg._mesh.octets import SIGNATURE, record_octets, signed_of
from meshmsg._mesh.signing import Ed25519Signer, ed25519_verify
from meshmsg._mesh.told import NODE_KEY
from tests.support.mesh_nodes import SERVICE, record


@given(st.binary(min_size=32, max_size=32))
def test_the_two_keys_of_a_node_are_a_pair(seed: bytes) -> None:
    """As another library computes it."""
    own = X25519PrivateKey.from_private_bytes(private_key(seed)).public_key().public_bytes_raw()
    assert public_key(Ed25519Signer(seed).key) == own


@given(st.binary(min_size=32, max_size=32))
def test_any_octets_have_a_key(octets: bytes) -> None:
    """A record was signed by a key; that of a stranger need not be one."""
    assert len(public_key(octets)) == 32


def test_a_key_that_is_none_is_one_that_nobody_proves() -> None:
    """What it comes to with any other is zeros, which is refused."""
    nobodys = [(1).to_bytes(32, "little"), (PRIME + 1).to_bytes(32, "little")]
    assert [public_key(one) for one in nobodys] == [bytes(32)] * 2
    with pytest.raises(ValueError):
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(bytes(32)))


def test_a_node_is_known_by_its_name_and_its_key() -> None:
    """So that no other one can be known by the same, whatever it calls itself."""
    one, other = (Ed25519Signer(bytes([octet]) * 32).key for octet in (1, 2))
    assert user_id("a", one) == f"a#{public_key(one).hex()[:32]}" != user_id("a", other)
    made = record(1)
    assert made.user_id == user_id(made.name, made.sign_key)


def test_a_record_says_of_each_service_whether_its_node_proves_it() -> None:
    """That is one octet; a record without them is read as ever."""
    without = record(1, services=(SERVICE, replace(SERVICE, name="other", key=b"")))
    proved = tuple(replace(one, key=NODE_KEY) for one in without.services)
    data = record_octets(replace(without, services=proved))
    read = signed_of(data + bytes(SIGNATURE)).record
    assert [one.key for one in read.services] == [NODE_KEY, NODE_KEY]
    plain = record_octets(replace(without, services=tuple(replace(s, key=b"") for s in proved)))
    assert len(data) - len(plain) == 2
    assert len(data) + SIGNATURE <= RECORD_MAX


def test_who_takes_the_proof_out_of_a_record_of_another_is_found_out() -> None:
    """Or puts one in: the signature is of all of it."""
    signer = Ed25519Signer(b"s" * 32)
    mine = record(1, sign_key=signer.key, services=(replace(SERVICE, key=NODE_KEY),))
    data = record_octets(mine)
    signature = signer.sign(data)
    assert ed25519_verify(signer.key, data, signature)
    forged = record_octets(replace(mine, services=(replace(SERVICE, key=b""),)))
    assert not ed25519_verify(signer.key, forged, signature)
    other = record_octets(replace(mine, sign_key=Ed25519Signer(b"o" * 32).key))
    assert not ed25519_verify(signer.key, other, signature)
