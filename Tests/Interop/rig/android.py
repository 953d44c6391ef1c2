"""Android's GATT as an app on it sees it: one operation at a time, and callbacks one after the other.

`BluetoothGatt` refuses an operation while another is under way: from the call until its callback, in which the next one may be
started. A write without response is an operation too. Discovery and the exchange of the MTU are none, and neither is what the
watch notifies. Callbacks come in the order in which the phone received what they tell, so that a notification that arrives
together with a response is told after the response's callback has run. `BluetoothGattServer` refuses nothing, but asks its app
to wait for `onNotificationSent` before it sends the next notification.

Apps differ in what they do about it: Gadgetbridge goes on in its callbacks and loses what is refused; libpebble3 has a queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from bumble import att
from bumble.device import Connection

from .phone import WatchLink
from .security import ATT_CID

#: How many turns of the loop a coroutine takes from the end of its operation to its next one, generously.
TURNS = 10
RESPONSES = (att.Opcode.ATT_READ_RESPONSE, att.Opcode.ATT_WRITE_RESPONSE)
REQUESTS = (att.Opcode.ATT_READ_REQUEST, att.Opcode.ATT_WRITE_REQUEST)


@dataclass(frozen=True)
class Lost:
    """An operation that Android refused, and the one that was under way."""

    operation: str
    during: str


class Refused(ConnectionError):
    """Another operation is under way; the requested one is not carried out."""


class AndroidGATT:
    """An app's `BluetoothGatt` on one link. Each refusal is added to `lost`."""

    def __init__(self, link: WatchLink, lost: list[Lost]) -> None:
        self.lost = lost
        self._link = link
        self._under_way: str | None = None
        #: Callbacks for the app, in the order in which their packets arrived.
        self._callbacks: asyncio.Queue[Callable[[], Awaitable[None] | None]] = asyncio.Queue()
        #: What ends the operation whose response is awaited.
        self._awaited: Callable[[], Awaitable[None]] | None = None
        self._take = link.client.on_gatt_pdu
        link.client.on_gatt_pdu = self._received  # type: ignore[method-assign]
        thread = asyncio.create_task(self._run())
        link.connection.on(Connection.EVENT_DISCONNECTION, lambda _: thread.cancel())

    async def read(self, handle: int) -> bytes:
        """`readCharacteristic`. Returns in its callback."""
        value: bytes = await self._request(f"read of 0x{handle:04X}", self._link.client.read_value(handle))
        return value

    async def write(self, handle: int, value: bytes) -> None:
        """`writeCharacteristic` with response, or `writeDescriptor`. Returns in its callback."""
        await self._request(f"write of 0x{handle:04X}", self._link.client.write_value(handle, value, True))

    async def write_without_response(self, handle: int, value: bytes) -> None:
        """`writeCharacteristic` without response. Returns in its callback, which comes once the packet is on its way."""
        self._begin(f"write of 0x{handle:04X} without response")
        command = att.ATT_Write_Command(attribute_handle=handle, attribute_value=value)
        self._link.connection.send_l2cap_pdu(ATT_CID, bytes(command))
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._callbacks.put_nowait(lambda: self._end(called))
        await called

    def listen(self, handle: int, on_changed: Callable[[bytes], None]) -> None:
        """`setCharacteristicNotification`: `onCharacteristicChanged` from now on."""
        self._link.client.notification_subscribers[handle] = {
            lambda value: self._callbacks.put_nowait(lambda: on_changed(value))
        }

    async def _request(self, what: str, request: Coroutine[Any, Any, Any]) -> Any:
        try:
            self._begin(what)
        except Refused:
            request.close()
            raise
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        answer = asyncio.ensure_future(request)

        async def end() -> None:
            await asyncio.wait((answer,))
            self._end(called)

        self._awaited = end
        try:
            await called
        except asyncio.CancelledError:
            answer.cancel()
            raise
        return answer.result()

    def _begin(self, what: str) -> None:
        if self._under_way is not None:
            self.lost.append(Lost(what, during=self._under_way))
            raise Refused(f"{what} during the {self._under_way}")
        self._under_way = what

    def _end(self, called: asyncio.Future[None]) -> None:
        self._under_way = None
        if not called.done():
            called.set_result(None)

    def _received(self, pdu: att.ATT_PDU) -> None:
        is_answer = pdu.op_code in RESPONSES or (
            isinstance(pdu, att.ATT_Error_Response) and pdu.request_opcode_in_error in REQUESTS
        )
        self._take(pdu)
        if is_answer and self._awaited is not None:
            self._callbacks.put_nowait(self._awaited)
            self._awaited = None

    async def _run(self) -> None:
        """The thread on which Android calls the app: one callback ends before the next begins."""
        while True:
            callback = await self._callbacks.get()
            if (more := callback()) is not None:
                await more
            # The task that waits for this callback goes on now, up to its next operation.
            for _ in range(TURNS):
                await asyncio.sleep(0)


class GATTQueue:
    """An app's own queue before `BluetoothGatt`, so that nothing is ever refused: libpebble3's library, Kable, has one."""

    def __init__(self, gatt: AndroidGATT) -> None:
        self._gatt = gatt
        self._turn = asyncio.Lock()

    async def read(self, handle: int) -> bytes:
        async with self._turn:
            return await self._gatt.read(handle)

    async def write(self, handle: int, value: bytes) -> None:
        async with self._turn:
            await self._gatt.write(handle, value)

    async def write_without_response(self, handle: int, value: bytes) -> None:
        async with self._turn:
            await self._gatt.write_without_response(handle, value)


class Sender:
    """A thread of an app that sends packets one after the other, each when the one before has been sent.

    `send`: what sends one. What it refuses is lost.
    """

    def __init__(self, connection: Connection, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._packets: asyncio.Queue[bytes] = asyncio.Queue()
        self._send = send
        thread = asyncio.create_task(self._run())
        connection.on(Connection.EVENT_DISCONNECTION, lambda _: thread.cancel())

    def put(self, packet: bytes) -> None:
        self._packets.put_nowait(packet)

    async def _run(self) -> None:
        while True:
            packet = await self._packets.get()
            try:
                await self._send(packet)
            except Refused:
                pass


async def notify_characteristic_changed(connection: Connection, handle: int, value: bytes) -> None:
    """`BluetoothGattServer.notifyCharacteristicChanged`. Returns in `onNotificationSent`, once the packet is on its way."""
    notification = att.ATT_Handle_Value_Notification(attribute_handle=handle, attribute_value=value)
    connection.send_l2cap_pdu(ATT_CID, bytes(notification))
    await asyncio.sleep(0)
