"""Digests: what is hashed, how it is written, and that no kind can pass for another."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sealkit.wire.canon import digest_record, encode_record
from sealkit.wire.digest import digest_bytes, is_digest, parse_digest, short
from sealkit.wire.episode import Component, Root
from sealkit.wire.errors import MalformedError
from tests.wire import sample

EMPTY = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_fips_180_4_examples() -> None:
    # NIST, "SHA-256 examples": the empty message, "abc", and one million times "a".
    assert digest_bytes(b"") == EMPTY
    assert digest_bytes(b"abc") == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    million = digest_bytes(b"a" * 1_000_000)
    assert million == "sha256:cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"


@given(st.binary())
def test_a_digest_is_read_back_and_shortened(data: bytes) -> None:
    digest = digest_bytes(data)
    assert parse_digest(digest, where="x") == digest == "sha256:" + hashlib.sha256(data).hexdigest()
    assert short(digest) == hashlib.sha256(data).hexdigest()[:12]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param(EMPTY[7:], id="no algorithm"),
        pytest.param(EMPTY[:-1], id="too short"),
        pytest.param(EMPTY + "0", id="too long"),
        pytest.param(EMPTY + "\n", id="newline"),
        pytest.param(" " + EMPTY, id="space"),
        pytest.param(EMPTY.upper(), id="all capitals"),
        pytest.param(EMPTY.replace("e3", "E3"), id="capital digits"),
        pytest.param(EMPTY.replace("sha256", "sha512"), id="another algorithm"),
        pytest.param(EMPTY.replace("e", "g"), id="not hexadecimal"),
        pytest.param("sha256:" + "\u0663" * 64, id="digits of another script"),
        pytest.param("x" * 1000, id="a long text"),
    ],
)
def test_what_is_no_digest(text: str) -> None:
    assert not is_digest(text)
    with pytest.raises(MalformedError) as refusal:
        parse_digest(text, where="seal.json $.pin")
    assert refusal.value.where == "seal.json $.pin"
    assert "due sha256: and 64 lower-case hex digits" in str(refusal.value)
    assert len(str(refusal.value)) < 200


def test_the_kind_is_part_of_what_is_hashed() -> None:
    lines = {kind: encode_record(record) for kind, record in sample.RECORDS.items()}
    for kind, line in lines.items():
        assert f'"type":"sealkit/{kind}/v1"'.encode() in line
    # The same content as a component and as a root.
    component = Component(name="components", value={})
    assert digest_record(component) != digest_record(Root(components={}))
