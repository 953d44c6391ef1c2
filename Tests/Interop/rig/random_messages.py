"""Messages of the Pebble Protocol that libpebble2's own declarations allow, at random."""

from __future__ import annotations

import random
import uuid
from typing import Any

from libpebble2.protocol.base import PebblePacket, types

#: What struct's letters hold.
RANGES = {
    "b": (-(1 << 7), (1 << 7) - 1), "B": (0, (1 << 8) - 1), "h": (-(1 << 15), (1 << 15) - 1), "H": (0, (1 << 16) - 1),
    "i": (-(1 << 31), (1 << 31) - 1), "I": (0, (1 << 32) - 1), "q": (-(1 << 63), (1 << 63) - 1), "Q": (0, (1 << 64) - 1),
}  # fmt: skip
LETTERS = "abcxyz äöü€ ✓"


def packet(kind: type[PebblePacket], chance: random.Random) -> PebblePacket:
    """A packet with random values; lengths and what chooses between kinds are libpebble2's to fill in."""
    made = kind()
    for name, field in kind._type_mapping.items():
        setattr(made, name, _value(field, chance, made))
    return made


def _value(field: types.Field, chance: random.Random, parent: PebblePacket) -> Any:
    if field._enum is not None:
        return chance.choice(list(field._enum))
    match field:
        case types.Boolean():
            return chance.random() < 0.5
        case types.UUID():
            return uuid.UUID(bytes=chance.randbytes(16))
        case types.Union():
            return packet(chance.choice(list(field.contents.values())), chance)
        case types.Embed():
            return packet(field.packet, chance)
        case types.Padding():
            return None
        case types.PascalString() | types.NullTerminatedString():
            return _text(chance, 20)
        case types.FixedString():
            return _text(chance, field.length if isinstance(field.length, int) else 20)
        case types.PascalList() | types.FixedList():
            count = field.count if isinstance(field.count, int) else chance.randrange(4)
            return [_member(field.member_type, chance, parent) for _ in range(count)]
        case types.BinaryArray():
            return chance.randbytes(field.length if isinstance(field.length, int) else chance.randrange(40))
        case types.Optional():
            return _value(field.field, chance, parent)
        case _:
            low, high = RANGES[field.struct_format]
            return chance.choice([low, high, 0, 1, chance.randint(low, high)])


def _member(kind: Any, chance: random.Random, parent: PebblePacket) -> Any:
    return _value(kind, chance, parent) if isinstance(kind, types.Field) else packet(kind, chance)


def _text(chance: random.Random, limit: int) -> str:
    """Text that is not longer than the limit, in bytes."""
    text = "".join(chance.choices(LETTERS, k=chance.randrange(12)))
    while len(text.encode()) > limit:
        text = text[:-1]
    return text
