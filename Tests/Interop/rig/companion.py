"""What a companion app does once the transport is open, with its checks.

The order is libpebble3's (pebble-protocol section 5.1); the packets are libpebble2's.
"""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass

from libpebble2.protocol.appmessage import (
    AppMessage,
    AppMessageACK,
    AppMessageNACK,
    AppMessagePush,
    AppMessageTuple,
)
from libpebble2.protocol.apps import AppRunState, AppRunStateRequest, AppRunStateStart, AppRunStateStop
from libpebble2.protocol.system import (
    AppVersionRequest,
    AppVersionResponse,
    GetTimeRequest,
    GetTimeResponse,
    ModelRequest,
    ModelResponse,
    PhoneAppVersion,
    Ping,
    PingPong,
    Pong,
    SetUTC,
    TimeMessage,
    WatchModel,
    WatchVersion,
    WatchVersionRequest,
    WatchVersionResponse,
)

from .pebble import PebbleSession

#: The built-in watchapp that answers each push with the same dictionary.
ECHO_APP = uuid.UUID("2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0")

#: The whole 0x0010 response of current firmware (section 5.3).
WATCH_VERSION_LENGTH = 155
ALL_CAPABILITIES = (1 << 64) - 1

Type = AppMessageTuple.Type


@dataclass(frozen=True)
class WatchInfo:
    """The watch's version response."""

    version: WatchVersionResponse
    color: int


async def introduce(session: PebbleSession) -> None:
    """Answers the question with which a watch begins every session: which version the phone's app has."""
    _, payload = await session.expect(
        PhoneAppVersion,
        "the watch to ask for the phone's version",
        lambda packet: isinstance(packet.message, AppVersionRequest),
    )
    assert payload == b"\x00"
    session.send(
        PhoneAppVersion(
            message=AppVersionResponse(
                protocol_version=0xFFFFFFFF,
                session_caps=0x80000000,
                platform_flags=0x32,
                response_version=2,
                major_version=3,
                minor_version=0,
                bugfix_version=0,
                protocol_caps=ALL_CAPABILITIES,
            )
        )
    )


async def ask_version(session: PebbleSession) -> WatchVersionResponse:
    session.send(WatchVersion(data=WatchVersionRequest()))
    version, payload = await session.expect(WatchVersion, "the watch's version")
    assert isinstance(version.data, WatchVersionResponse)
    assert len(payload) == WATCH_VERSION_LENGTH
    return version.data


async def negotiate(session: PebbleSession, unix_time: int = 1_700_000_000) -> WatchInfo:
    """libpebble3's negotiation: both versions, the colour, the clock."""
    await introduce(session)
    version = await ask_version(session)

    session.send(WatchModel(data=ModelRequest()))
    model, _ = await session.expect(WatchModel, "the watch's colour")
    assert isinstance(model.data, ModelResponse), "libpebble3 gives up without the colour"
    assert model.data.length == 4

    session.send(TimeMessage(message=SetUTC(unix_time=unix_time, utc_offset=60, tz_name="Europe/Paris")))
    return WatchInfo(version, int.from_bytes(model.data.data, "big"))


async def launch(session: PebbleSession, app: uuid.UUID = ECHO_APP) -> None:
    """Has an app run, unless it does already. The watch says which stopped and which started, in that order."""
    session.send(AppRunState(data=AppRunStateRequest()))
    running, _ = await session.expect(AppRunState, "which app runs")
    assert isinstance(running.data, AppRunStateStart)
    if running.data.uuid == app:
        return
    session.send(AppRunState(data=AppRunStateStart(uuid=app)))
    stopped, _ = await session.expect(AppRunState, "the old app's end")
    assert isinstance(stopped.data, AppRunStateStop)
    assert stopped.data.uuid == running.data.uuid
    started, _ = await session.expect(AppRunState, "the new app's start")
    assert isinstance(started.data, AppRunStateStart)
    assert started.data.uuid == app


async def ask_time(session: PebbleSession) -> int:
    session.send(TimeMessage(message=GetTimeRequest()))
    answer, _ = await session.expect(
        TimeMessage,
        "the watch's time",
        lambda packet: isinstance(packet.message, GetTimeResponse),
    )
    return answer.message.time


async def ping(session: PebbleSession, cookie: int) -> None:
    send_ping(session, cookie)
    assert await next_pong(session) == cookie


def send_ping(session: PebbleSession, cookie: int) -> None:
    session.send(PingPong(cookie=cookie, message=Ping(idle=False)))


async def next_pong(session: PebbleSession) -> int:
    """The cookie of the next pong."""
    pong, _ = await session.expect(PingPong, "a pong", lambda packet: isinstance(packet.message, Pong))
    return pong.cookie


def unsigned(key: int, width: int, value: int) -> AppMessageTuple:
    return AppMessageTuple(key=key, type=Type.Uint, data=value.to_bytes(width, "little"))


def signed(key: int, width: int, value: int) -> AppMessageTuple:
    return AppMessageTuple(key=key, type=Type.Int, data=value.to_bytes(width, "little", signed=True))


def string(key: int, value: str) -> AppMessageTuple:
    return AppMessageTuple(key=key, type=Type.CString, data=value.encode() + b"\x00")


def array(key: int, value: bytes) -> AppMessageTuple:
    return AppMessageTuple(key=key, type=Type.ByteArray, data=value)


def one_of_each() -> list[list[AppMessageTuple]]:
    """A dictionary for each type and width at its edges, the empty dictionary, and one with everything in it."""
    singles = [
        *(unsigned(0, w, v) for w in (1, 2, 4) for v in (0, 1, (1 << 8 * w) - 1)),
        *(signed(0xFFFFFFFF, w, v) for w in (1, 2, 4) for v in (-(1 << 8 * w - 1), -1, 0, (1 << 8 * w - 1) - 1)),
        *(string(10000, v) for v in ("", "a", "Grüße, 世界 \U0001f426", "x" * 300)),
        *(array(1, v) for v in (b"", b"\x00", bytes(range(256)), bytes(500))),
    ]
    return [[], *([single] for single in singles), singles[:12]]


def dictionaries(count: int, seed: int, limit: int) -> list[list[AppMessageTuple]]:
    """`count` dictionaries: one of each kind, then random ones of up to `limit` encoded bytes."""
    source = random.Random(seed)
    result = one_of_each()
    while len(result) < count:
        tuples: list[AppMessageTuple] = []
        size = 1
        for _ in range(source.randint(1, 9)):
            key = source.getrandbits(32)
            width = source.choice((1, 2, 4))
            kind = source.choice((Type.Uint, Type.Int, Type.CString, Type.ByteArray))
            if kind == Type.Uint:
                candidate = unsigned(key, width, source.getrandbits(8 * width))
            elif kind == Type.Int:
                candidate = signed(key, width, source.getrandbits(8 * width) - (1 << 8 * width - 1))
            elif kind == Type.CString:
                candidate = string(key, "é" * source.randint(0, 40))
            else:
                candidate = array(key, source.randbytes(source.randint(0, 120)))
            size += 7 + len(candidate.data)
            if size > limit:
                break
            tuples.append(candidate)
        result.append(tuples)
    return result[:count]


def push(transaction: int, tuples: list[AppMessageTuple], app: uuid.UUID = ECHO_APP) -> AppMessage:
    return AppMessage(transaction_id=transaction, data=AppMessagePush(uuid=app, dictionary=tuples))


async def expect_ack(session: PebbleSession, sent: AppMessage, seconds: float = 10) -> None:
    """Expects the ACK of a push."""
    answer = await _expect_answer(session, sent, seconds)
    assert isinstance(answer.data, AppMessageACK), f"the watch refused push {sent.transaction_id}"


async def expect_refusal(session: PebbleSession, sent: AppMessage, seconds: float = 10) -> None:
    """Expects the NACK of a push."""
    answer = await _expect_answer(session, sent, seconds)
    assert isinstance(answer.data, AppMessageNACK), f"the watch took push {sent.transaction_id}"


async def expect_ack_and_echo(session: PebbleSession, sent: AppMessage, seconds: float = 10) -> int:
    """Expects the ACK of a push and its echo, and ACKs the echo. Returns the echo's transaction id."""
    await expect_ack(session, sent, seconds)
    content = sent.serialise()
    what = f"push {sent.transaction_id} of {len(content)} bytes"
    echo, payload = await session.expect(
        AppMessage, f"the echo of {what}", lambda packet: isinstance(packet.data, AppMessagePush), seconds
    )
    # The same UUID and the same dictionary, byte for byte; the transaction id is the watch's own.
    assert payload[2:] == content[2:], f"{what} came back as {payload.hex()}"
    assert echo.data.dictionary == sent.data.dictionary
    session.send(AppMessage(transaction_id=echo.transaction_id, data=AppMessageACK()))
    return echo.transaction_id


async def _expect_answer(session: PebbleSession, sent: AppMessage, seconds: float) -> AppMessage:
    answer, _ = await session.expect(
        AppMessage,
        f"the answer to push {sent.transaction_id} of {len(sent.serialise())} bytes",
        lambda packet: (
            isinstance(packet.data, (AppMessageACK, AppMessageNACK)) and packet.transaction_id == sent.transaction_id
        ),
        seconds,
    )
    return answer
