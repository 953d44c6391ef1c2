"""Dictionaries of AppMessages."""

from __future__ import annotations

import random

import pytest

from cairn_watch import int8, int16, int32, uint8, uint16, uint32
from cairn_watch.appmessage import Value, decode, encode, from_control, matches, to_control

EVERYTHING: dict[int, Value] = {
    0: uint8(255), 1: uint16(65535), 2: uint32(4294967295), 3: int8(-128), 4: int16(-32768), 5: int32(-2147483648),
    6: "Grüße", 7: "", 8: b"\0\xff", 9: b"", 0xFFFF_FFFF: 7,
}  # fmt: skip


def test_there_and_back() -> None:
    for found in (decode(encode(EVERYTHING)), from_control(to_control(EVERYTHING))):
        assert found == EVERYTHING
        assert [type(found[key]).__name__ for key in (0, 1, 2, 3, 4, 5)] == [
            "uint8", "uint16", "uint32", "int8", "int16", "int32"
        ]  # fmt: skip


def test_the_wire() -> None:
    assert encode({}) == b"\0"
    assert encode({1: uint8(2)}).hex() == "01" "01000000" "02" "0100" "02"
    assert encode({1: -2}).hex() == "01" "01000000" "03" "0400" "feffffff"
    assert encode({1: "a"}).hex() == "01" "01000000" "01" "0200" "6100"
    assert encode({1: b"a"}).hex() == "01" "01000000" "00" "0100" "61"


@pytest.mark.parametrize("kind", [uint8, uint16, uint32, int8, int16, int32])
def test_ranges(kind: type[uint8]) -> None:
    bits = 8 * kind.width
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind.is_signed else (0, (1 << bits) - 1)
    assert kind(low) == low and kind(high) == high
    for wrong in (low - 1, high + 1):
        with pytest.raises(ValueError, match=f"{wrong} is no {kind.__name__}, which goes from {low} to {high}"):
            kind(wrong)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({-1: 1}, "a key is a number from 0"),
        ({1 << 32: 1}, "a key is a number from 0"),
        ({"x": 1}, "a key is a number from 0"),
        ({1: 1.5}, "entry 1: an AppMessage carries str, bytes and int, and 1.5 is float"),
        ({1: None}, "entry 1"),
        ({1: b"x" * 65536}, "entry 1 has 65536 bytes"),
        (dict.fromkeys(range(256), 1), "at most 255 entries"),
    ],
)
def test_what_is_no_dictionary(entries: dict[int, Value], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        encode(entries)


def test_what_comes_cut_off_is_refused() -> None:
    whole = encode(EVERYTHING)
    for length in range(len(whole)):
        with pytest.raises(ValueError, match="dictionary"):
            decode(whole[:length])


def test_any_bytes_are_a_dictionary_or_an_error() -> None:
    source = random.Random(17)
    for _ in range(20_000):
        try:
            decode(source.randbytes(source.randint(0, 40)))
        except ValueError:
            pass


def test_matching() -> None:
    assert matches({}, EVERYTHING) and matches({0: 255, 6: None}, EVERYTHING)
    assert not matches({0: 254}, EVERYTHING) and not matches({77: None}, EVERYTHING)
