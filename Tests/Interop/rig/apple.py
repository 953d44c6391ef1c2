"""What an iPhone hosts for accessories: its notifications (ANCS), its player (AMS), its clock, and Device Information.

Written from Apple's specifications of the two services and from Bluetooth's Current Time Service 1.1. Numbers and the
format of the Notification Source are Bumble's (`bumble.profiles.ancs`, `bumble.profiles.ams`), whose clients read the same.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable
from dataclasses import dataclass

from bumble import att, gatt
from bumble.core import UUID
from bumble.device import Connection
from bumble.profiles import ams, ancs

from . import gatt as uuids
from .phone import Phone
from .security import ATT_CID
from .waiting import Mailbox

Properties = gatt.Characteristic.Properties
Permissions = gatt.Characteristic.Permissions

ENCRYPTED_WRITE = Permissions.WRITEABLE | Permissions.WRITE_REQUIRES_ENCRYPTION
ENCRYPTED_READ = Permissions.READABLE | Permissions.READ_REQUIRES_ENCRYPTION

CURRENT_TIME_SERVICE = UUID.from_16_bits(0x1805)
CURRENT_TIME = UUID.from_16_bits(0x2A2B)
LOCAL_TIME_INFORMATION = UUID.from_16_bits(0x2A0F)


class HostedService:
    """A service in the phone's database, and who has subscribed to what of it."""

    def __init__(self, phone: Phone, service: gatt.Service) -> None:
        self.phone = phone
        self.services = [service]
        #: The watch that has subscribed, by the handle of what it has subscribed to.
        self.subscribers: dict[int, Connection] = {}
        #: Every subscription, by its characteristic.
        self.subscriptions: Mailbox[UUID] = Mailbox("the watch's subscriptions")
        for characteristic in service.characteristics:
            characteristic.on(
                gatt.Characteristic.EVENT_SUBSCRIPTION,
                lambda connection, notify, _, it=characteristic: self._subscribed(it, connection, notify),
            )
        phone.device.add_services(self.services)

    @property
    def range(self) -> tuple[int, int]:
        return self.services[0].handle, self.services[-1].end_group_handle

    def removed(self) -> None:
        """The service is no longer in the phone's database."""
        self.subscribers.clear()

    def link_lost(self) -> None:
        self.subscribers.clear()

    def notify(self, characteristic: gatt.Characteristic, value: bytes) -> None:
        connection = self.subscribers[characteristic.handle]
        notification = att.ATT_Handle_Value_Notification(attribute_handle=characteristic.handle, attribute_value=value)
        connection.send_l2cap_pdu(ATT_CID, bytes(notification))

    def maximum_value(self, characteristic: gatt.Characteristic) -> int:
        return self.subscribers[characteristic.handle].att_mtu - 3

    def refuse_subscriptions(self, characteristic: gatt.Characteristic) -> None:
        """Subscriptions are refused, as if the link were not secure enough."""

        def refuse(bearer: att.Bearer, value: bytes) -> None:
            raise att.ATT_Error(att.ErrorCode.INSUFFICIENT_AUTHENTICATION)

        cccd = self.phone.device.gatt_server.get_attribute(characteristic.handle + 1)
        assert cccd is not None and cccd.type == uuids.CCCD
        cccd.value = att.AttributeValueV2(read=lambda _: bytes(2), write=refuse)

    def _subscribed(self, characteristic: gatt.Characteristic, connection: Connection, notify: bool) -> None:
        if notify:
            self.subscribers[characteristic.handle] = connection
            self.subscriptions.put(characteristic.uuid)
        else:
            self.subscribers.pop(characteristic.handle, None)


@dataclass
class Notification:
    """What an app shows."""

    app: str
    title: str
    message: str = ""
    subtitle: str = ""
    date: datetime.datetime = datetime.datetime(2025, 1, 1, 12, 0, 0)
    category: ancs.CategoryId = ancs.CategoryId.SOCIAL
    flags: ancs.EventFlags = ancs.EventFlags(0)
    positive: str = ""
    negative: str = "Clear"

    def attribute(self, number: int) -> bytes:
        return {
            ancs.NotificationAttributeId.APP_IDENTIFIER: self.app,
            ancs.NotificationAttributeId.TITLE: self.title,
            ancs.NotificationAttributeId.SUBTITLE: self.subtitle,
            ancs.NotificationAttributeId.MESSAGE: self.message,
            ancs.NotificationAttributeId.MESSAGE_SIZE: str(len(self.message.encode())),
            ancs.NotificationAttributeId.DATE: self.date.strftime("%Y%m%dT%H%M%S"),
            ancs.NotificationAttributeId.POSITIVE_ACTION_LABEL: self.positive,
            ancs.NotificationAttributeId.NEGATIVE_ACTION_LABEL: self.negative,
        }[ancs.NotificationAttributeId(number)].encode()


class NotificationCenter(HostedService):
    """ANCS: notifications by UID, sent to each subscriber."""

    #: Those that are followed by how many bytes are wanted.
    LIMITED = (1, 2, 3)
    INVALID = att.ATT_Error(ancs.ErrorCode.INVALID_PARAMETER)

    def __init__(self, phone: Phone, apps: dict[str, str]) -> None:
        #: What the apps are called.
        self.apps = apps
        self.notifications: dict[int, Notification] = {}
        #: Every action that the watch took: UID, action.
        self.actions: Mailbox[tuple[int, int]] = Mailbox("the watch's actions")
        #: Every command that the watch wrote.
        self.commands: Mailbox[bytes] = Mailbox("what the watch asked")
        #: How many bytes each part of an answer has; None for as many as fit.
        self.part: int | None = None
        #: Changes an answer before it is cut into parts.
        self.spoil: Callable[[bytes], bytes] = lambda answer: answer
        #: What is raised instead of an answer.
        self.refusal: att.ATT_Error | None = None
        self._last_uid = 0
        self._source = gatt.Characteristic(
            gatt.GATT_ANCS_NOTIFICATION_SOURCE_CHARACTERISTIC, Properties.NOTIFY, Permissions.READABLE
        )
        self._data = gatt.Characteristic(
            gatt.GATT_ANCS_DATA_SOURCE_CHARACTERISTIC, Properties.NOTIFY, Permissions.READABLE
        )
        self._control = gatt.Characteristic(
            gatt.GATT_ANCS_CONTROL_POINT_CHARACTERISTIC,
            Properties.WRITE,
            ENCRYPTED_WRITE,
            gatt.CharacteristicValue(write=self._commanded),
        )
        super().__init__(phone, gatt.Service(gatt.GATT_ANCS_SERVICE, [self._source, self._data, self._control]))

    @property
    def source(self) -> gatt.Characteristic:
        return self._source

    async def subscribed(self) -> None:
        """Returns when the watch has subscribed: to the Data Source first, as it has to."""
        assert await self.subscriptions.take(15, "a subscription to ANCS") == self._data.uuid
        assert await self.subscriptions.take(15, "a subscription to ANCS") == self._source.uuid

    def keep(self, notification: Notification) -> int:
        """An app has shown a notification, but no subscriber is told yet."""
        self._last_uid += 1
        self.notifications[self._last_uid] = notification
        return self._last_uid

    def show(self, notification: Notification) -> int:
        """An app shows something."""
        uid = self.keep(notification)
        self.tell(ancs.EventId.NOTIFICATION_ADDED, uid)
        return uid

    def change(self, uid: int, notification: Notification) -> None:
        self.notifications[uid] = notification
        self.tell(ancs.EventId.NOTIFICATION_MODIFIED, uid)

    def remove(self, uid: int) -> None:
        """The user clears it, or the app does."""
        self.tell(ancs.EventId.NOTIFICATION_REMOVED, uid)
        del self.notifications[uid]

    def tell(self, event: ancs.EventId, uid: int, flags: ancs.EventFlags = ancs.EventFlags(0)) -> None:
        shown = self.notifications[uid]
        flags |= shown.flags
        if shown.positive:
            flags |= ancs.EventFlags.POSITIVE_ACTION
        if shown.negative:
            flags |= ancs.EventFlags.NEGATIVE_ACTION
        count = sum(each.category == shown.category for each in self.notifications.values())
        self.notify(self._source, bytes(ancs.Notification(event, flags, shown.category, count, uid)))

    def send_data(self, answer: bytes) -> None:
        size = self.part or self.maximum_value(self._data)
        for start in range(0, len(answer), size):
            self.notify(self._data, answer[start : start + size])

    def _commanded(self, connection: Connection, value: bytes) -> None:
        del connection
        self.commands.put(bytes(value))
        if self.refusal is not None:
            raise self.refusal
        command, rest = value[0], value[1:]
        if command == ancs.CommandId.GET_NOTIFICATION_ATTRIBUTES:
            answer = self._attributes(rest)
        elif command == ancs.CommandId.GET_APP_ATTRIBUTES:
            answer = self._app(rest)
        elif command == ancs.CommandId.PERFORM_NOTIFICATION_ACTION:
            self._act(int.from_bytes(rest[:4], "little"), rest[4])
            return
        else:
            raise att.ATT_Error(ancs.ErrorCode.UNKNOWN_COMMAND)
        # Behind the write's response.
        asyncio.get_running_loop().call_soon(self.send_data, self.spoil(answer))

    def _attributes(self, rest: bytes) -> bytes:
        shown = self.notifications.get(int.from_bytes(rest[:4], "little"))
        if shown is None:
            raise self.INVALID
        answer = bytes([ancs.CommandId.GET_NOTIFICATION_ATTRIBUTES]) + rest[:4]
        wanted = list(rest[4:])
        while wanted:
            number = wanted.pop(0)
            value = shown.attribute(number)
            if number in self.LIMITED:
                value = value[: wanted.pop(0) | wanted.pop(0) << 8]
            answer += bytes([number]) + len(value).to_bytes(2, "little") + value
        return answer

    def _app(self, rest: bytes) -> bytes:
        identifier, attributes = rest.split(b"\x00", 1)
        name = self.apps.get(identifier.decode())
        if name is None:
            raise self.INVALID
        assert attributes == bytes([ancs.AppAttributeId.DISPLAY_NAME]), attributes.hex()
        value = name.encode()
        header = bytes([ancs.CommandId.GET_APP_ATTRIBUTES]) + identifier + b"\x00"
        return header + attributes + len(value).to_bytes(2, "little") + value

    def _act(self, uid: int, action: int) -> None:
        if uid not in self.notifications:
            raise self.INVALID
        self.actions.put((uid, action))
        if action == ancs.ActionId.NEGATIVE:
            # iOS takes away what was cleared, and says so.
            asyncio.get_running_loop().call_soon(self.remove, uid)


class MediaPlayer(HostedService):
    """AMS: one player, whose attributes are sent to each client that registers for them."""

    def __init__(self, phone: Phone) -> None:
        self.values: dict[tuple[int, int], str] = {}
        #: What the watch registered for: entity, attributes.
        self.registrations: Mailbox[bytes] = Mailbox("the watch's registrations")
        self.commands: Mailbox[ams.RemoteCommandId] = Mailbox("the watch's commands")
        #: What the watch read as a whole: entity, attribute.
        self.reads: Mailbox[tuple[int, int]] = Mailbox("what the watch read")
        #: What the player can do now.
        self.able = set(ams.RemoteCommandId)
        self._registered: set[tuple[int, int]] = set()
        self._selected = (0, 0)
        self._command = gatt.Characteristic(
            gatt.GATT_AMS_REMOTE_COMMAND_CHARACTERISTIC,
            Properties.NOTIFY | Properties.WRITE,
            ENCRYPTED_WRITE,
            gatt.CharacteristicValue(write=self._commanded),
        )
        self._update = gatt.Characteristic(
            gatt.GATT_AMS_ENTITY_UPDATE_CHARACTERISTIC,
            Properties.NOTIFY | Properties.WRITE,
            ENCRYPTED_WRITE,
            gatt.CharacteristicValue(write=self._register),
        )
        self._attribute = gatt.Characteristic(
            gatt.GATT_AMS_ENTITY_ATTRIBUTE_CHARACTERISTIC,
            Properties.READ | Properties.WRITE,
            ENCRYPTED_READ | ENCRYPTED_WRITE,
            gatt.CharacteristicValue(read=self._read, write=self._select),
        )
        super().__init__(phone, gatt.Service(gatt.GATT_AMS_SERVICE, [self._command, self._update, self._attribute]))

    def set(self, entity: ams.EntityId, attribute: int, value: str) -> None:
        """Something about the player changes."""
        self.values[(entity, attribute)] = value
        if (entity, attribute) in self._registered:
            self._tell(entity, attribute)

    def link_lost(self) -> None:
        super().link_lost()
        self._registered.clear()

    def _tell(self, entity: int, attribute: int) -> None:
        value = self.values.get((entity, attribute), "").encode()
        room = self.maximum_value(self._update) - 3
        flags = ams.EntityUpdateFlags.TRUNCATED if len(value) > room else 0
        self.notify(self._update, bytes([entity, attribute, flags]) + value[:room])

    def _register(self, connection: Connection, value: bytes) -> None:
        del connection
        self.registrations.put(bytes(value))
        entity = value[0]
        for attribute in value[1:]:
            self._registered.add((entity, attribute))
            asyncio.get_running_loop().call_soon(self._tell, entity, attribute)

    def _select(self, connection: Connection, value: bytes) -> None:
        del connection
        self._selected = (value[0], value[1])
        if self._selected not in self.values:
            raise att.ATT_Error(0xA2)

    def _read(self, connection: Connection) -> bytes:
        del connection
        self.reads.put(self._selected)
        return self.values[self._selected].encode()

    def _commanded(self, connection: Connection, value: bytes) -> None:
        del connection
        command = ams.RemoteCommandId(value[0])
        if command not in self.able:
            raise att.ATT_Error(0xA1)
        self.commands.put(command)


class Clock(HostedService):
    """The Current Time Service."""

    MANUAL, ZONE_CHANGED = 0x01, 0x04

    def __init__(self, phone: Phone, now: datetime.datetime, quarters: int) -> None:
        self.now = now
        #: Quarters of an hour that local time is ahead of UTC.
        self.quarters = quarters
        self.time = gatt.Characteristic(
            CURRENT_TIME,
            Properties.READ | Properties.NOTIFY,
            ENCRYPTED_READ,
            gatt.CharacteristicValue(read=lambda _: self.value()),
        )
        zone = gatt.Characteristic(
            LOCAL_TIME_INFORMATION,
            Properties.READ,
            ENCRYPTED_READ,
            gatt.CharacteristicValue(read=lambda _: bytes([self.quarters & 0xFF, 0])),
        )
        super().__init__(phone, gatt.Service(CURRENT_TIME_SERVICE, [self.time, zone]))

    def value(self, reason: int = 0) -> bytes:
        now = self.now
        fields = [now.month, now.day, now.hour, now.minute, now.second, now.isoweekday(), 0, reason]
        return now.year.to_bytes(2, "little") + bytes(fields)

    def set(self, now: datetime.datetime, reason: int) -> None:
        self.now = now
        self.notify(self.time, self.value(reason))


class DeviceInformation(HostedService):
    """By which a watch knows iOS 9 and newer."""

    def __init__(self, phone: Phone) -> None:
        name = gatt.Characteristic(uuids.MANUFACTURER_NAME, Properties.READ, Permissions.READABLE, b"Apple Inc.")
        super().__init__(phone, gatt.Service(uuids.DEVICE_INFORMATION, [name]))
