"""BlueZ over D-Bus: the bus, bluetoothd, and what it knows, kept up to date from its signals."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus
from dbus_fast.unpack import unpack_variants

from rig.process import Program
from rig.waiting import GaveUp, within

T = TypeVar("T")

BLUEZ = "org.bluez"
ADAPTER = "org.bluez.Adapter1"
DEVICE = "org.bluez.Device1"
SERVICE = "org.bluez.GattService1"
CHARACTERISTIC = "org.bluez.GattCharacteristic1"
BATTERY = "org.bluez.Battery1"
PROPERTIES = "org.freedesktop.DBus.Properties"
OBJECTS = "org.freedesktop.DBus.ObjectManager"

BLUETOOTHD = "/usr/libexec/bluetooth/bluetoothd"
#: Where bluetoothd keeps what it knows of adapters and devices.
STORAGE = Path("/var/lib/bluetooth")
#: A program starts slowly in an emulated machine.
START_SECONDS = 60
CALL_SECONDS = 60


def version() -> str:
    return subprocess.run([BLUETOOTHD, "--version"], check=True, capture_output=True, text=True).stdout.strip()


class Refused(AssertionError):
    """A method answered with an error."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name


class BlueZ:
    """A connection to the bus, and the objects of the bluetoothd that runs."""

    def __init__(self, bus: MessageBus) -> None:
        #: By path and interface: properties.
        self.objects: dict[str, dict[str, dict[str, Any]]] = {}
        #: Answers calls to objects of ours, by path.
        self.hosts: dict[str, Callable[[Message], Message | None]] = {}
        self._bus = bus
        #: The serial number of the message that asked for all objects.
        self._asked: int | None = None
        self._changed = asyncio.Event()
        self._watchers: list[Callable[[str, str, str, Any], None]] = []
        bus.add_message_handler(self._handle)

    @classmethod
    @contextlib.asynccontextmanager
    async def on_system_bus(cls, out: Path) -> AsyncIterator[BlueZ]:
        """Starts the bus, and connects."""
        os.makedirs("/run/dbus", exist_ok=True)
        configuration = Path(__file__).with_name("bus.conf")
        command = ["dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile", "--print-address"]
        daemon = await Program.start(command, out / "dbus-daemon.log")
        try:
            await daemon.wait_for_line("unix:path", START_SECONDS)
            bus = await MessageBus(
                bus_address="unix:path=/run/dbus/system_bus_socket", negotiate_unix_fd=True
            ).connect()
            bluez = cls(bus)
            await bluez._follow()
            yield bluez
            bus.disconnect()
        finally:
            daemon.kill()

    @contextlib.asynccontextmanager
    async def daemon(self, out: Path, *options: str) -> AsyncIterator[Program]:
        """bluetoothd, until the end of the block."""
        STORAGE.mkdir(parents=True, exist_ok=True)
        program = await Program.start([BLUETOOTHD, "--nodetach", "--debug", *options], out / "bluetoothd.log")
        try:
            await self.until("bluetoothd on the bus", lambda: BLUEZ_ROOT in self.objects, START_SECONDS)
            yield program
            await program.stop(START_SECONDS)
            await self.until("bluetoothd to leave the bus", lambda: not self.objects)
        finally:
            program.kill()

    async def call(
        self, path: str, interface: str, member: str, signature: str = "", *body: Any, seconds: float = CALL_SECONDS
    ) -> list[Any]:
        """What a method returns. Raises Refused."""
        return (await self.call_for_message(path, interface, member, signature, *body, seconds=seconds))[0]

    async def call_for_message(
        self, path: str, interface: str, member: str, signature: str = "", *body: Any, seconds: float = CALL_SECONDS
    ) -> tuple[list[Any], list[int]]:
        """What a method returns, and the file descriptors that came with it."""
        destination = "org.freedesktop.DBus" if interface == "org.freedesktop.DBus" else BLUEZ
        message = Message(
            destination=destination, path=path, interface=interface, member=member, signature=signature, body=list(body)
        )
        reply = await within(seconds, f"{member} of {path} to return", self._bus.call(message))
        assert reply is not None
        if reply.message_type is MessageType.ERROR:
            raise Refused(reply.error_name or "", " ".join(str(each) for each in reply.body))
        return reply.body, reply.unix_fds

    async def set(self, path: str, interface: str, name: str, signature: str, value: Any) -> None:
        await self.call(path, PROPERTIES, "Set", "ssv", interface, name, Variant(signature, value))

    def get(self, path: str, interface: str, name: str) -> Any:
        """A property as last heard of, None if there is none."""
        return self.objects.get(path, {}).get(interface, {}).get(name)

    def having(self, interface: str, below: str = "/") -> list[str]:
        """The paths of the objects that have an interface."""
        return sorted(path for path, known in self.objects.items() if interface in known and path.startswith(below))

    async def until(self, what: str, accept: Callable[[], T | None], seconds: float = CALL_SECONDS) -> T:
        """What `accept` returns, once that is true; it is asked again whenever something has changed."""

        async def watch() -> T:
            while True:
                self._changed.clear()
                if result := accept():
                    return result
                await self._changed.wait()

        return await within(seconds, what, watch())

    @contextlib.contextmanager
    def following(self, path: str, interface: str, name: str, take: Callable[[Any], None]):
        """Until the end of the block, each new value of a property is given to `take`."""

        def watcher(changed: str, of: str, key: str, value: Any) -> None:
            if (changed, of, key) == (path, interface, name):
                take(value)

        self._watchers.append(watcher)
        try:
            yield
        finally:
            self._watchers.remove(watcher)

    def emit_value(self, path: str, value: bytes) -> None:
        """Tells bluetoothd that a characteristic of ours has a new value."""
        body = [CHARACTERISTIC, {"Value": Variant("ay", value)}, []]
        self._bus.send(Message.new_signal(path, PROPERTIES, "PropertiesChanged", "sa{sv}as", body))

    async def _follow(self) -> None:
        for rule in (f"type='signal',sender='{BLUEZ}'", "type='signal',member='NameOwnerChanged'"):
            await self.call("/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", "s", rule)

    def ask_for_objects(self) -> None:
        """The answer is taken in where signals are, so that it stays in its order among them."""
        self._asked = self._bus.next_serial()
        self._bus.send(
            Message(destination=BLUEZ, path="/", interface=OBJECTS, member="GetManagedObjects", serial=self._asked)
        )

    def _handle(self, message: Message) -> Message | bool | None:
        if message.message_type is MessageType.METHOD_CALL:
            host = self.hosts.get(message.path or "")
            return host(message) if host else None
        body = unpack_variants(message.body)
        if message.message_type is MessageType.METHOD_RETURN and message.reply_serial == self._asked:
            self.objects = body[0]
        elif message.message_type is not MessageType.SIGNAL:
            return None
        elif message.member == "NameOwnerChanged" and body[0] == BLUEZ:
            self.objects.clear()
            if body[2]:
                self.ask_for_objects()
        elif message.member == "InterfacesAdded":
            self.objects.setdefault(body[0], {}).update(body[1])
        elif message.member == "InterfacesRemoved":
            known = self.objects.get(body[0], {})
            for interface in body[1]:
                known.pop(interface, None)
            if not known:
                self.objects.pop(body[0], None)
        elif message.member == "PropertiesChanged":
            known = self.objects.setdefault(message.path or "", {}).setdefault(body[0], {})
            known.update(body[1])
            for name in body[2]:
                known.pop(name, None)
            for name, value in body[1].items():
                for watcher in list(self._watchers):
                    watcher(message.path or "", body[0], name, value)
        else:
            return None
        self._changed.set()
        return None


#: The object with which bluetoothd shows that it has all its interfaces.
BLUEZ_ROOT = "/org/bluez"


class Agent:
    """The person at the phone: says yes, and remembers what was asked."""

    PATH = "/cairn/agent"

    def __init__(self, bluez: BlueZ) -> None:
        #: What was asked, in order: the question, and the number that was shown with it.
        self.asked: list[tuple[str, int | None]] = []
        self._bluez = bluez
        bluez.hosts[self.PATH] = self._answer

    async def register(self, capability: str = "DisplayYesNo") -> None:
        await self._bluez.call(BLUEZ_ROOT, "org.bluez.AgentManager1", "RegisterAgent", "os", self.PATH, capability)
        await self._bluez.call(BLUEZ_ROOT, "org.bluez.AgentManager1", "RequestDefaultAgent", "o", self.PATH)

    def _answer(self, message: Message) -> Message:
        number = message.body[1] if len(message.body) > 1 and isinstance(message.body[1], int) else None
        if message.member not in ("Release", "Cancel"):
            self.asked.append((message.member or "", number))
        return Message.new_method_return(message)


class Phone:
    """A BlueZ phone on one adapter."""

    def __init__(self, bluez: BlueZ, adapter: str) -> None:
        self.bluez = bluez
        self.adapter = f"/org/bluez/{adapter}"

    async def power_on(self) -> None:
        await self.bluez.until(f"bluetoothd to have {self.adapter}", lambda: self.bluez.get(self.adapter, ADAPTER, "Address"))
        try:
            await self.bluez.set(self.adapter, ADAPTER, "Powered", "b", True)
        except Refused as error:
            # bluetoothd is switching it on already.
            if not error.name.endswith(".Busy"):
                raise
        await self.bluez.until("the phone's adapter to be on", lambda: self.bluez.get(self.adapter, ADAPTER, "Powered"))

    async def find(self, service: str, name: str, seconds: float = CALL_SECONDS) -> Device:
        """Scans, for a service alone as companion apps do, until a device has it and a name."""
        wanted = {"Transport": Variant("s", "le"), "DuplicateData": Variant("b", True)}
        # bluetoothd 5.87 crashes at the first device that has the service (bluez/bluez#2282); the next one does not.
        if version() != "5.87":
            wanted["UUIDs"] = Variant("as", [service])
        await self.bluez.call(self.adapter, ADAPTER, "SetDiscoveryFilter", "a{sv}", wanted)
        await self.bluez.call(self.adapter, ADAPTER, "StartDiscovery")
        try:
            path = await self.bluez.until(
                f"a device with service {service} and the name {name}", lambda: self._found(service, name), seconds
            )
        except GaveUp as error:
            seen = {path: self.bluez.objects[path][DEVICE] for path in self.bluez.having(DEVICE, self.adapter)}
            raise GaveUp(f"{error}; the phone sees {seen}") from None
        finally:
            await self.bluez.call(self.adapter, ADAPTER, "StopDiscovery")
        return Device(self.bluez, path)

    def _found(self, service: str, name: str) -> str | None:
        for path in self.bluez.having(DEVICE, self.adapter):
            device = self.bluez.objects[path][DEVICE]
            if service in device.get("UUIDs", []) and device.get("Name") == name:
                return path
        return None


class Device:
    """A watch as bluetoothd has it."""

    def __init__(self, bluez: BlueZ, path: str) -> None:
        self.bluez = bluez
        self.path = path

    def get(self, name: str) -> Any:
        return self.bluez.get(self.path, DEVICE, name)

    async def connect(self, seconds: float = CALL_SECONDS) -> None:
        """Connects, and returns when bluetoothd knows all services."""
        try:
            await self.bluez.call(self.path, DEVICE, "Connect", seconds=seconds)
        except Refused as error:
            # bluetoothd may be connecting already: it returns to bonded devices by itself.
            if "InProgress" not in error.name and "AlreadyConnected" not in error.name:
                raise
        # BlueZ 5.87 tells of no change if it had the link before its kernel told it of the connection.
        self.bluez.ask_for_objects()
        await self.until_connected()
        await self.until_resolved()

    async def disconnect(self) -> None:
        await self.bluez.call(self.path, DEVICE, "Disconnect")
        await self.until_disconnected()

    async def until_connected(self, seconds: float = CALL_SECONDS) -> None:
        await self.bluez.until("the phone to be connected", lambda: self.get("Connected"), seconds)

    async def until_disconnected(self, seconds: float = CALL_SECONDS) -> None:
        await self.bluez.until("the phone to be disconnected", lambda: not self.get("Connected"), seconds)

    async def until_resolved(self, seconds: float = CALL_SECONDS) -> None:
        await self.bluez.until("the watch's services", lambda: self.get("ServicesResolved"), seconds)

    async def pair(self) -> None:
        await self.bluez.call(self.path, DEVICE, "Pair")
        await self.bluez.until("the bond", lambda: self.get("Paired") and self.get("Bonded"))

    def services(self) -> dict[str, str]:
        """By UUID: the service's path."""
        return {self.bluez.get(each, SERVICE, "UUID"): each for each in self.bluez.having(SERVICE, self.path)}

    def find(self, service: str, uuid: str) -> Characteristic | None:
        """A characteristic that need not be there."""
        for path in self.bluez.having(CHARACTERISTIC, self.services().get(service, "/none/")):
            if self.bluez.get(path, CHARACTERISTIC, "UUID") == uuid:
                return Characteristic(self.bluez, path)
        return None

    def characteristic(self, service: str, uuid: str) -> Characteristic:
        found = self.find(service, uuid)
        assert found, f"no characteristic {uuid} in {service}, among the services {sorted(self.services())}"
        return found

    async def stored_keys(self) -> list[str]:
        """The long term keys that bluetoothd keeps on the disk, each a section of its file; it writes them when it has time."""
        adapter = self.bluez.get(self.get("Adapter"), ADAPTER, "Address")
        file = STORAGE / adapter / self.get("Address") / "info"

        async def look() -> list[str]:
            while True:
                sections = file.read_text(encoding="utf-8").strip().split("\n\n") if file.exists() else []
                if keys := [section for section in sections if "LongTermKey]" in section.partition("\n")[0]]:
                    return keys
                await asyncio.sleep(0.05)

        return await within(CALL_SECONDS, f"a long term key in {file}", look())


class Characteristic:
    def __init__(self, bluez: BlueZ, path: str) -> None:
        self.bluez = bluez
        self.path = path

    @property
    def flags(self) -> set[str]:
        return set(self.bluez.get(self.path, CHARACTERISTIC, "Flags"))

    async def read(self) -> bytes:
        (value,) = await self.bluez.call(self.path, CHARACTERISTIC, "ReadValue", "a{sv}", {})
        return bytes(value)

    async def write(self, value: bytes) -> None:
        await self.bluez.call(self.path, CHARACTERISTIC, "WriteValue", "aya{sv}", value, {})

    @contextlib.asynccontextmanager
    async def notifying(self) -> AsyncIterator[asyncio.Queue[bytes]]:
        """Subscribed until the end of the block: each value that the watch notifies."""
        values: asyncio.Queue[bytes] = asyncio.Queue()
        with self.bluez.following(self.path, CHARACTERISTIC, "Value", lambda value: values.put_nowait(bytes(value))):
            await self.bluez.call(self.path, CHARACTERISTIC, "StartNotify")
            yield values
            if self.path in self.bluez.objects:
                await self.bluez.call(self.path, CHARACTERISTIC, "StopNotify")

    async def acquire(self, method: str) -> tuple[int, int]:
        """A file descriptor for notifications (AcquireNotify) or for writing (AcquireWrite), and the MTU."""
        (index, mtu), descriptors = await self.bluez.call_for_message(self.path, CHARACTERISTIC, method, "a{sv}", {})
        return descriptors[index], mtu
