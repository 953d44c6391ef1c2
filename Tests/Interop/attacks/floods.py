"""What a phone can send as fast as it can, on every layer, to have the watch write logs."""

from __future__ import annotations

import random
import struct
import uuid
from collections.abc import Callable

from rig.bare_phone import BarePhone

SIGNALING, SECURITY, ATTRIBUTES = 5, 6, 4
ECHO_APP = uuid.UUID("2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0")


class Session:
    """Pebble messages in PPoGATT packets, without waiting for acknowledgements."""

    def __init__(self, phone: BarePhone) -> None:
        self._phone = phone
        self._sequence = 0

    def send(self, endpoint: int, payload: bytes) -> None:
        stream = struct.pack(">HH", len(payload), endpoint) + payload
        for start in range(0, len(stream), 160):
            self._phone.send_packet(bytes([self._sequence << 3]) + stream[start : start + 160])
            self._sequence = (self._sequence + 1) % 32


def malformed_events(phone: BarePhone, number: int) -> None:
    phone.send_event(bytes([0x04, 0x3E, 0x02, 0x01, number & 0xFF]))


def unknown_links(phone: BarePhone, number: int) -> None:
    phone.send_event(struct.pack("<BHHHH", 2, 0x2100 + number % 0x700, 5, 1, 4) + b"\x02")


def connecting_and_leaving(phone: BarePhone, number: int) -> None:
    """From another address each time, on another link."""
    phone.vanish()
    address = ":".join(f"{byte:02X}" for byte in [0xC0 | number & 7, *random.Random(number).randbytes(5)])
    phone.arrive(0x40 + number % 0x400, address)


def garbage_on(channel: int) -> Callable[[BarePhone, int], None]:
    def send(phone: BarePhone, number: int) -> None:
        generator = random.Random(number)
        phone.send_frame(channel, generator.randbytes(generator.randint(1, 24)))

    return send


def unknown_channels(phone: BarePhone, number: int) -> None:
    phone.send_frame(0x0100 + number % 0x1000, b"who is there")


def bent_signaling(phone: BarePhone, number: int) -> None:
    phone.send_frame(SIGNALING, struct.pack("<BBH", 0x14 + number % 6, number & 0xFF | 1, 8) + bytes(8))


def pairing_requests(phone: BarePhone, number: int) -> None:
    del number
    phone.send_frame(SECURITY, bytes([0x01, 0x03, 0x00, 0x01, 0x07, 0x00, 0x00]))


def attribute_errors(phone: BarePhone, number: int) -> None:
    """Answers without a request, and requests for what is not there."""
    phone.send_frame(ATTRIBUTES, struct.pack("<BBHB", 0x01, 0x08, number & 0xFFFF, 0x0A))
    phone.send_frame(ATTRIBUTES, struct.pack("<BH", 0x1E, number & 0xFFFF))


def bent_packets(phone: BarePhone, number: int) -> None:
    phone.send_packet(random.Random(number).randbytes(5))


def transport_resets(phone: BarePhone, number: int) -> None:
    phone.send_packet(bytes([0x02, 0x01]) if number % 2 else bytes([0x03, 25, 25]))


def in_session(write: Callable[[Session, int], None]) -> Callable[[BarePhone, int], None]:
    sessions: dict[int, Session] = {}

    def send(phone: BarePhone, number: int) -> None:
        if number == 0:
            sessions[id(phone)] = Session(phone)
        write(sessions[id(phone)], number)

    return send


def unknown_messages(session: Session, number: int) -> None:
    session.send(number % 0xFFFF, b"nonsense")


def bent_messages(session: Session, number: int) -> None:
    endpoint = (0x10, 0x0B, 0x20, 0x21, 0x30, 0x31, 0x34, 0x7D1, 0x7D3, 0x7D6, 0xB1DB, 0xBEEF, 0x1A7A, 0xABCD)[number % 14]
    if endpoint == 0x7D3:
        return
    session.send(endpoint, random.Random(number).randbytes(number % 40))


def app_messages(session: Session, number: int) -> None:
    """To the Echo app, with text in them."""
    if number == 0:
        app_starts(session, 0)
    text = f"secret {number} ".encode() * 6 + b"\0"
    session.send(0x30, bytes([0x01, number & 0xFF]) + ECHO_APP.bytes + b"\x01" + struct.pack("<IBH", 1, 1, len(text)) + text)


def app_starts(session: Session, number: int) -> None:
    session.send(0x34, bytes([0x01 + number % 2]) + ECHO_APP.bytes)


def titles(session: Session, number: int) -> None:
    words = [f"artist {number}".encode(), b"album", f"title {number}".encode()]
    session.send(0x20, b"\x10" + b"".join(bytes([len(word)]) + word for word in words))


def calls(session: Session, number: int) -> None:
    words = [f"+{number}".encode(), f"caller {number}".encode()]
    session.send(0x21, b"\x04" + struct.pack(">I", number) + b"".join(bytes([len(word)]) + word for word in words))
    session.send(0x21, b"\x09" + struct.pack(">I", number))


def records(session: Session, number: int) -> None:
    key, value = f"key {number}".encode(), b"value"
    session.send(
        0xB1DB,
        struct.pack("<BHBB", 0x01, number & 0xFFFF, 0x00, len(key)) + key + struct.pack("<H", len(value)) + value,
    )


#: How each flood goes on, one step at a time, and whether it needs a session.
FLOODS: dict[str, tuple[Callable[[BarePhone, int], None], bool]] = {
    "malformed events": (malformed_events, False),
    "links that are not there": (unknown_links, False),
    "connecting and leaving": (connecting_and_leaving, False),
    "signaling garbage": (garbage_on(SIGNALING), False),
    "signaling": (bent_signaling, False),
    "channels that are not there": (unknown_channels, False),
    "SMP garbage": (garbage_on(SECURITY), False),
    "pairing requests": (pairing_requests, False),
    "ATT garbage": (garbage_on(ATTRIBUTES), False),
    "ATT errors": (attribute_errors, False),
    "PPoGATT garbage": (bent_packets, True),
    "PPoGATT resets": (transport_resets, True),
    "unknown messages": (in_session(unknown_messages), True),
    "bent messages": (in_session(bent_messages), True),
    "AppMessages": (in_session(app_messages), True),
    "starts of apps": (in_session(app_starts), True),
    "titles": (in_session(titles), True),
    "calls": (in_session(calls), True),
    "records": (in_session(records), True),
}
