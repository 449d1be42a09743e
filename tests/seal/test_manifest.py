"""The manifest: every planned scenario, checked as a whole, read one at a time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sealkit.plan.load import open_plan
from sealkit.seal.manifest import ManifestSeal, open_manifest, planned_keys, write_manifest
from sealkit.wire.canon import encode_record
from sealkit.wire.declared import Scenario
from sealkit.wire.digest import digest_bytes
from sealkit.wire.errors import SealkitError, UntrustedError
from sealkit.wire.merkle import merkle_root
from tests.seal.studies import make_study, plan_of

KEYS = [("windy", 0), ("windy", 3), ("windy", 7), ("calm", 0), ("calm", 1), ("calm", 90)]


def scenario(family: str, seed: int, filler: str = "") -> Scenario:
    return Scenario(
        world="pond", family=family, seed=seed, params={}, genesis={"frog": {"on": seed}}, briefing=f"Jump.{filler}",
        contracts=(), snapshots=(), restores=(), footprints={}, finals=("rest",), max_acts=5,
    )  # fmt: skip


def written(tmp_path: Path, keys: list[tuple[str, int]] = KEYS) -> tuple[Path, ManifestSeal]:
    path = tmp_path / "pond.manifest.jsonl"
    return path, write_manifest(path, (scenario(*key) for key in keys))


def test_the_plan_fixes_which_scenarios_there_are_and_in_which_order(tmp_path: Path) -> None:
    spec = open_plan(plan_of(make_study(tmp_path))).spec
    assert list(planned_keys(spec)) == [
        ("windy", 0), ("windy", 3), ("windy", 7),
        ("calm", 0), ("calm", 1), ("calm", 3), ("calm", 4), ("calm", 7), ("calm", 90),  # 1: smoke; 4 and 90: pilot
    ]  # fmt: skip


def test_what_was_written_is_found_by_family_and_seed(tmp_path: Path) -> None:
    path, sealed = written(tmp_path)
    lines = [encode_record(scenario(*key)) for key in KEYS]
    assert path.read_bytes() == b"".join(line + b"\n" for line in lines)
    assert sealed == ManifestSeal(root=merkle_root(lines), count=6)
    with open_manifest(path, sealed, inside=tmp_path) as manifest:
        assert list(manifest.keys()) == KEYS and len(manifest) == 6
        for key, line in reversed(list(zip(KEYS, lines, strict=True))):
            assert manifest.line(*key) == line
            assert manifest.digest(*key) == digest_bytes(line)
            assert manifest.scenario(*key) == scenario(*key)
        for absent in (("windy", 1), ("windy", 8), ("gale", 0), ("windy", -1), ("windy", 2**70)):
            with pytest.raises(UntrustedError, match="holds no scenario of family"):
                manifest.line(*absent)


def test_a_long_line_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    long = [scenario("windy", seed, "x" * 200_000) for seed in range(3)]
    with open_manifest(path, write_manifest(path, long), inside=tmp_path) as manifest:
        assert manifest.scenario("windy", 1) == long[1]
        assert manifest.scenario("windy", 2) == long[2]


def _lines(raw: bytes) -> list[bytes]:
    return raw.split(b"\n")[:-1]


def _join(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


ATTACKS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "edited": (lambda raw: raw.replace(b"Jump.", b"Jumb.", 1), "has changed since its seal: found 6 lines, root"),
    "dropped": (lambda raw: _join(_lines(raw)[:-1]), "found 5 lines, root"),
    "added": (lambda raw: raw + encode_record(scenario("calm", 91)) + b"\n", "more than the 6 lines sealed"),
    "swapped families": (lambda raw: _join(_lines(raw)[3:] + _lines(raw)[:3]), "found 6 lines, root"),
    "swapped seeds": (lambda raw: _join([_lines(raw)[1], _lines(raw)[0], *_lines(raw)[2:]]), "line 2: seed 0 is out"),
    "doubled": (lambda raw: _join([_lines(raw)[0], *_lines(raw)[:5]]), "line 2: seed 0 is out of order or there twice"),
    "family again": (lambda raw: _join([*_lines(raw)[1:], _lines(raw)[0]]), "line 6: family 'windy' comes again"),
    "newline cut": (lambda raw: raw[:-1], "line 6: no newline"),
    "empty": (lambda raw: b"", "found 0 lines"),
    "no JSON": (lambda raw: b"{" + raw, "line 1: "),
    "no key": (lambda raw: b"{}\n" + raw, "line 1: Object missing"),
    "a wide seed": (lambda raw: raw.replace(b'"seed":0', b'"seed":9007199254740993', 1), "line 1: "),
    "a seed below zero": (lambda raw: raw.replace(b'"seed":0', b'"seed":-1', 1), "line 1: "),
    "depth 1000": (lambda raw: raw.replace(b'"params":{}', b'"params":' + b"[" * 10**5 + b"]" * 10**5, 1), ""),
    "a line of 5 MiB": (lambda raw: b'{"x":"' + bytes(5 * 2**20) + raw, "line 1: no newline at its end within"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_manifest_that_was_touched_is_refused(tmp_path: Path, attack: str) -> None:
    path, sealed = written(tmp_path)
    touch, message = ATTACKS[attack]
    path.write_bytes(touch(path.read_bytes()))
    with pytest.raises(SealkitError) as raised:
        open_manifest(path, sealed, inside=tmp_path)
    assert message in str(raised.value)
    assert raised.value.exit_code == 1


def test_a_missing_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UntrustedError, match="there is no manifest"):
        open_manifest(tmp_path / "m.jsonl", ManifestSeal(root="", count=0), inside=tmp_path)


def test_a_line_that_changes_after_opening_is_not_passed_on(tmp_path: Path) -> None:
    path, sealed = written(tmp_path)
    with open_manifest(path, sealed, inside=tmp_path) as manifest:
        path.write_bytes(path.read_bytes().replace(b"Jump.", b"Jumb.", 1))
        with pytest.raises(UntrustedError, match="the line of windy 0 has changed since it was opened"):
            manifest.line("windy", 0)
        assert manifest.scenario("windy", 3) == scenario("windy", 3)


def test_a_sealed_line_that_is_not_canonical_is_not_decoded(tmp_path: Path) -> None:
    path, _ = written(tmp_path)
    raw = path.read_bytes().replace(b'"seed":0', b'"seed": 0', 1)
    path.write_bytes(raw)
    sealed = ManifestSeal(root=merkle_root(_lines(raw)), count=6)
    with (
        open_manifest(path, sealed, inside=tmp_path) as manifest,
        pytest.raises(SealkitError, match="not the canonical spelling"),
    ):
        manifest.scenario("windy", 0)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.sets(st.integers(0, 2**53 - 1), min_size=1), min_size=1))
def test_any_set_of_seeds_is_found_again(tmp_path_factory: pytest.TempPathFactory, seeds: dict[str, set[int]]) -> None:
    path = tmp_path_factory.mktemp("m") / "m.jsonl"
    keys = [(family, seed) for family, known in seeds.items() for seed in sorted(known)]
    with open_manifest(path, write_manifest(path, (scenario(*k) for k in keys)), inside=path.parent) as manifest:
        assert list(manifest.keys()) == keys
        assert all(manifest.scenario(*key).seed == key[1] for key in keys)


def test_ten_thousand_scenarios_are_open_in_one_megabyte(tmp_path: Path) -> None:
    def many() -> Iterator[Scenario]:
        one = scenario("windy", 0, "x" * 500)
        for seed in range(10_000):
            yield msgspec.structs.replace(one, seed=seed)

    path = tmp_path / "m.jsonl"
    sealed = write_manifest(path, many())
    tracemalloc.start()
    with open_manifest(path, sealed, inside=tmp_path) as manifest:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert manifest.scenario("windy", 9_999).seed == 9_999
    assert peak < 1_000_000 < path.stat().st_size
