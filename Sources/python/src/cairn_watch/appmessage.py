"""AppMessages as Python has them: dictionaries from keys to texts, numbers and bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias


class SizedInteger(int):
    """An integer that knows its width on the wire. It equals the plain number.

    Raises ValueError if the number does not fit.
    """

    name: ClassVar[str]
    width: ClassVar[int]
    is_signed: ClassVar[bool]

    def __new__(cls, value: int) -> SizedInteger:
        bits = 8 * cls.width
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if cls.is_signed else (0, (1 << bits) - 1)
        if not low <= value <= high:
            raise ValueError(f"{value} is no {cls.name}, which goes from {low} to {high}")
        return super().__new__(cls, value)

    def __repr__(self) -> str:
        return f"{self.name}({int(self)})"


class uint8(SizedInteger):
    """An unsigned number of one byte, from 0 to 255."""

    name, width, is_signed = "uint8", 1, False


class uint16(SizedInteger):
    """An unsigned number of two bytes, from 0 to 65535."""

    name, width, is_signed = "uint16", 2, False


class uint32(SizedInteger):
    """An unsigned number of four bytes, from 0 to 4294967295."""

    name, width, is_signed = "uint32", 4, False


class int8(SizedInteger):
    """A signed number of one byte, from -128 to 127."""

    name, width, is_signed = "int8", 1, True


class int16(SizedInteger):
    """A signed number of two bytes, from -32768 to 32767."""

    name, width, is_signed = "int16", 2, True


class int32(SizedInteger):
    """A signed number of four bytes, from -2147483648 to 2147483647."""

    name, width, is_signed = "int32", 4, True


INTEGERS: dict[str, type[SizedInteger]] = {kind.name: kind for kind in (uint8, uint16, uint32, int8, int16, int32)}

#: The value of an entry. A plain `int` is an int32, and `bool` a uint8 of 0 or 1; the classes here say another width.
Value: TypeAlias = str | bytes | int
#: An AppMessage's dictionary: keys from 0 to 4294967295.
Dictionary: TypeAlias = Mapping[int, Value]

#: An AppMessage has at most this many entries: their count is one byte.
MAXIMUM_ENTRIES = 255
MAXIMUM_KEY = 0xFFFF_FFFF
MAXIMUM_VALUE_LENGTH = 0xFFFF


@dataclass(frozen=True)
class Message:
    """An AppMessage that came to the watch or left it, or came to the phone.

    `app`: the watchapp's UUID. `entries`: its dictionary. `sequence`: the number of the watch's event, 0 on the phone.
    `at`: seconds since the watch was started, or on the phone the loop's time. `result`: how sending it ended, where it
    was sent and this is known.
    """

    app: str
    entries: dict[int, Value]
    sequence: int = 0
    at: float = 0.0
    result: str | None = None


def sized(value: Value) -> str | bytes | SizedInteger:
    """The value with its width. Raises TypeError for what no AppMessage can carry, ValueError for what does not fit."""
    if isinstance(value, (str, bytes, SizedInteger)):
        return value
    if isinstance(value, bool):
        return uint8(value)
    if isinstance(value, int):
        return int32(value)
    raise TypeError(f"an AppMessage carries str, bytes and int, and {value!r} is {type(value).__name__}")


def checked(entries: Dictionary) -> dict[int, str | bytes | SizedInteger]:
    """The dictionary with widths. Raises ValueError or TypeError, which name the entry."""
    if len(entries) > MAXIMUM_ENTRIES:
        raise ValueError(f"an AppMessage has at most {MAXIMUM_ENTRIES} entries, and this one {len(entries)}")
    result = {}
    for key, value in entries.items():
        if not isinstance(key, int) or not 0 <= key <= MAXIMUM_KEY:
            raise ValueError(f"a key is a number from 0 to {MAXIMUM_KEY}, and {key!r} is not")
        try:
            result[key] = sized(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"entry {key}: {error}") from None
    return result


def to_control(entries: Dictionary) -> list[dict[str, Any]]:
    """The dictionary as the command `send` takes it."""
    result: list[dict[str, Any]] = []
    for key, value in checked(entries).items():
        if isinstance(value, str):
            result.append({"key": key, "type": "string", "string": value})
        elif isinstance(value, bytes):
            result.append({"key": key, "type": "bytes", "bytes": value.hex()})
        else:
            result.append({"key": key, "type": value.name, "number": int(value)})
    return result


def from_control(entries: Iterable[Mapping[str, Any]]) -> dict[int, Value]:
    """The dictionary that an event has. Of a type that the SDK has not, the bytes."""
    result: dict[int, Value] = {}
    for entry in entries:
        kind = entry["type"]
        if kind == "string":
            result[entry["key"]] = entry["string"]
        elif kind in INTEGERS:
            result[entry["key"]] = INTEGERS[kind](entry["number"])
        else:
            result[entry["key"]] = bytes.fromhex(entry["bytes"])
    return result


#: Types on the wire (`AppMessageTuple.Type`).
_BYTES, _STRING, _UNSIGNED, _SIGNED = range(4)
_TUPLE = struct.Struct("<IBH")


def encode(entries: Dictionary) -> bytes:
    """The dictionary on the wire: the count, then of each entry key (UInt32), type (UInt8), length (UInt16) and value.

    All numbers are little-endian; a text ends with a NUL.
    """
    result = bytearray([len(entries)] if len(entries) <= MAXIMUM_ENTRIES else b"")
    for key, value in checked(entries).items():
        if isinstance(value, str):
            kind, data = _STRING, value.encode() + b"\0"
        elif isinstance(value, bytes):
            kind, data = _BYTES, value
        else:
            kind = _SIGNED if value.is_signed else _UNSIGNED
            data = value.to_bytes(value.width, "little", signed=value.is_signed)
        if len(data) > MAXIMUM_VALUE_LENGTH:
            raise ValueError(f"entry {key} has {len(data)} bytes, and at most {MAXIMUM_VALUE_LENGTH} fit")
        result += _TUPLE.pack(key, kind, len(data)) + data
    return bytes(result)


def decode(data: bytes) -> dict[int, Value]:
    """The dictionary that `encode` made. Raises ValueError, which says at which byte it ends too early."""
    if not data:
        raise ValueError("a dictionary without its count")
    count, offset = data[0], 1
    result: dict[int, Value] = {}
    for _ in range(count):
        if len(data) < offset + _TUPLE.size:
            raise ValueError(f"a dictionary of {count} entries that ends at byte {len(data)}, within an entry's head")
        key, kind, length = _TUPLE.unpack_from(data, offset)
        offset += _TUPLE.size
        value = data[offset : offset + length]
        if len(value) < length:
            raise ValueError(f"a dictionary of {count} entries that ends at byte {len(data)}, within entry {key}")
        offset += length
        if kind == _STRING:
            result[key] = value.split(b"\0", 1)[0].decode("utf-8", "replace")
        elif kind in (_UNSIGNED, _SIGNED) and length in (1, 2, 4):
            name = f"{'int' if kind == _SIGNED else 'uint'}{8 * length}"
            result[key] = INTEGERS[name](int.from_bytes(value, "little", signed=kind == _SIGNED))
        else:
            result[key] = value
    return result


def matches(wanted: Mapping[int, Value | None], entries: Dictionary) -> bool:
    """Whether the dictionary has every key that is wanted, with that value, or with any where the wanted one is None."""
    return all(key in entries and (value is None or entries[key] == value) for key, value in wanted.items())
