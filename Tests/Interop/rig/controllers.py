"""Bumble's virtual controllers, each on a TCP port that speaks H4, on one simulated link.

Whatever attaches to a port is a host: Cairn to one, a Bumble phone to the other. The controllers and the link are
Bumble's own (bumble.controller, bumble.link). What its model leaves out, and a host on a real controller relies on,
is added in the two subclasses below, each addition with its reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TypeVar

from bumble import hci, ll
from bumble.controller import Controller
from bumble.core import InvalidArgumentError, PhysicalTransport
from bumble.link import LocalLink
from bumble.transport.common import HCI_PACKET_INFO

log = logging.getLogger("rig.controllers")

#: What a dual-mode USB adapter offers: 251-byte packets, few of them. (Bumble's default is 64 packets of 27 bytes.)
ACL_PACKET_LENGTH = 251
ACL_PACKET_COUNT = 8

#: The commands of extended advertising, scanning and connecting: those that a Bluetooth 4.2 controller doesn't know.
EXTENDED_COMMANDS = frozenset(
    opcode
    for opcode, name in hci.HCI_Command.command_names.items()
    if name.startswith("HCI_LE_")
    and any(part in name for part in ("EXTENDED", "PERIODIC", "ADVERTISING_SET", "MAXIMUM_ADVERTISING_DATA_LENGTH"))
)

#: The commands that an LE-only controller has besides those whose names begin with LE.
COMMON_COMMANDS = frozenset(
    {
        *Controller.supported_commands,
        hci.HCI_READ_LOCAL_SUPPORTED_COMMANDS_COMMAND,
        hci.HCI_WRITE_LE_HOST_SUPPORT_COMMAND,
    }
)


Report = TypeVar(
    "Report",
    hci.HCI_LE_Advertising_Report_Event.Report,
    hci.HCI_LE_Extended_Advertising_Report_Event.Report,
)


class Link(LocalLink):
    """Bumble's link, with data routed by the addresses of the connection.

    Bumble takes the sender's present *random* address as the source, so that data from a public address, or sent
    after a change of the private address, is lost.
    """

    def send_acl_data(
        self,
        sender_controller: Controller,
        destination_address: hci.Address,
        transport: PhysicalTransport,
        data: bytes,
    ) -> None:
        connection = sender_controller.le_connections.get(destination_address)
        receiver = self.find_le_controller(destination_address)
        if connection is None or receiver is None:
            return
        asyncio.get_running_loop().call_soon(receiver.on_link_acl_data, connection.self_address, transport, data)

    def send_ll_control_pdu(
        self, sender_address: hci.Address, receiver_address: hci.Address, packet: ll.ControlPdu
    ) -> None:
        # A PDU for a peer that has just gone is lost, as on the air; in Bumble it is an exception.
        with contextlib.suppress(InvalidArgumentError):
            super().send_ll_control_pdu(sender_address, receiver_address, packet)


class VirtualController(Controller):
    """Bumble's controller, and what a host may expect of a controller besides.

    `refused` has the names of the commands that the host sent although the controller says it doesn't have them.
    """

    def __init__(self, name: str, link: Link, public_address: str, extended: bool) -> None:
        super().__init__(name, link=link, public_address=public_address)
        self.refused: list[str] = []
        self._connect_ind: ll.ConnectInd | None = None
        self.le_acl_data_packet_length = ACL_PACKET_LENGTH
        self.total_num_le_acl_data_packets = ACL_PACKET_COUNT
        self.supported_max_tx_octets = self.supported_max_rx_octets = 251
        # Bumble lists some commands that it cannot execute, and leaves out many that it can.
        self.supported_commands = {
            opcode
            for opcode, command_name in hci.HCI_Command.command_names.items()
            if hasattr(self, f"on_{command_name.lower()}")
            and (command_name.startswith("HCI_LE_") or opcode in COMMON_COMMANDS)
            and (extended or opcode not in EXTENDED_COMMANDS)
        }
        if not extended:
            self.le_features &= ~(hci.LeFeatureMask.LE_EXTENDED_ADVERTISING | hci.LeFeatureMask.LE_PERIODIC_ADVERTISING)

    def on_hci_command_packet(self, command: hci.HCI_Command) -> None:
        if command.op_code in self.supported_commands:
            super().on_hci_command_packet(command)
            return
        # Bumble answers an unknown asynchronous command with silence, and the host then waits for ever.
        self.refused.append(command.name)
        self.send_hci_packet(
            hci.HCI_Command_Status_Event(
                status=hci.HCI_ErrorCode.UNKNOWN_HCI_COMMAND_ERROR,
                num_hci_command_packets=1,
                command_opcode=command.op_code,
            )
        )

    def on_hci_reset_command(self, command: hci.HCI_Reset_Command) -> hci.HCI_StatusReturnParameters:
        # In Bumble, Reset resets nothing: the advertising of a host that has gone would go on under the next one.
        self.power_cycle()
        return super().on_hci_reset_command(command)

    def power_cycle(self) -> None:
        """Forgets everything that the host set. A peer notices as it would on the air: by supervision timeout."""
        self.le_legacy_advertiser.stop()
        self.le_legacy_advertiser.advertising_data = b""
        self.le_legacy_advertiser.scan_response_data = b""
        for advertising_set in self.advertising_sets.values():
            advertising_set.stop()
        self.advertising_sets.clear()
        self.le_scan_enable = False
        self.pending_le_connection = None
        for connection in list(self.le_connections.values()):
            connection.send_ll_control_pdu(ll.TerminateInd(hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR))
        self.le_connections.clear()
        self.random_address = hci.Address("00:00:00:00:00:00")

    def on_hci_le_create_connection_cancel_command(
        self, command: hci.HCI_LE_Create_Connection_Cancel_Command
    ) -> hci.HCI_StatusReturnParameters:
        # Bumble reports success, keeps the pending connection, and never sends the event that ends it.
        pending = self.pending_le_connection
        if pending is None:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)
        self.pending_le_connection = None
        self.send_hci_packet(
            hci.HCI_LE_Connection_Complete_Event(
                status=hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR,
                connection_handle=0,
                role=hci.Role.CENTRAL,
                peer_address_type=pending.peer_address.address_type,
                peer_address=pending.peer_address,
                connection_interval=0,
                peripheral_latency=0,
                supervision_timeout=0,
                central_clock_accuracy=0,
            )
        )
        return super().on_hci_le_create_connection_cancel_command(command)

    def on_le_connect_ind(self, packet: ll.ConnectInd) -> None:
        self._connect_ind = packet
        super().on_le_connect_ind(packet)
        self._connect_ind = None

    def send_hci_packet(self, packet: hci.HCI_Packet) -> None:
        if self._connect_ind and isinstance(packet, hci.HCI_LE_Connection_Complete_Event):
            # Bumble reports 12.5 ms and a supervision timeout of 100 ms, and not what the central chose.
            chosen = self._connect_ind
            packet = hci.HCI_LE_Connection_Complete_Event(
                status=packet.status,
                connection_handle=packet.connection_handle,
                role=packet.role,
                peer_address_type=packet.peer_address_type,
                peer_address=packet.peer_address,
                connection_interval=chosen.interval,
                peripheral_latency=chosen.latency,
                supervision_timeout=chosen.timeout,
                central_clock_accuracy=packet.central_clock_accuracy,
            )
        if isinstance(packet, hci.HCI_LE_Extended_Advertising_Report_Event):
            kind = hci.HCI_LE_Extended_Advertising_Report_Event.EventType.SCAN_RESPONSE
            packet = hci.HCI_LE_Extended_Advertising_Report_Event(
                [self._with_scan_response(each) if each.event_type & kind else each for each in packet.reports]
            )
        elif isinstance(packet, hci.HCI_LE_Advertising_Report_Event):
            legacy = hci.HCI_LE_Advertising_Report_Event.EventType.SCAN_RSP
            packet = hci.HCI_LE_Advertising_Report_Event(
                [self._with_scan_response(each) if each.event_type == legacy else each for each in packet.reports]
            )
        super().send_hci_packet(packet)

    def _with_scan_response(self, report: Report) -> Report:
        # In Bumble a scan response repeats the advertising data.
        for controller in self.link.controllers:
            if isinstance(controller, VirtualController):
                response = controller.scan_response_of(report.address)
                if response is not None:
                    return dataclasses.replace(report, data=response)
        return report

    def scan_response_of(self, advertiser: hci.Address) -> bytes | None:
        """What a scanner gets that asks one of this controller's advertisers; None if there is no such advertiser."""
        for each in (self.le_legacy_advertiser, *self.advertising_sets.values()):
            if each.enabled and each.address == advertiser:
                return bytes(each.scan_response_data)
        return None

    def on_link_acl_data(self, sender_address: hci.Address, transport: PhysicalTransport, data: bytes) -> None:
        # Bumble hands a whole L2CAP PDU to the host as one packet, larger than any buffer the controller has.
        connection = self.le_connections.get(sender_address)
        if connection is None:
            return
        for offset in range(0, len(data), self.le_acl_data_packet_length):
            fragment = data[offset : offset + self.le_acl_data_packet_length]
            first_or_continuing = 2 if offset == 0 else 1
            self.send_hci_packet(
                hci.HCI_AclDataPacket(connection.handle, first_or_continuing, 0, len(fragment), fragment)
            )


@dataclass
class HostPort:
    """A controller's H4 port. One host at a time, as on a wire; when it goes, the controller is power-cycled, or not."""

    controller: VirtualController
    port: int = 0
    #: Whether the controller goes on when its host has gone, as one does that has its own power.
    outlives_host: bool = False
    #: What the host sent that is no HCI packet, or that Bumble does not accept.
    faults: list[str] = field(default_factory=list)
    _server: asyncio.Server | None = None
    _host: asyncio.StreamWriter | None = None
    _detached: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def address(self) -> str:
        """Where a host attaches, as hosts are told."""
        return f"tcp:127.0.0.1:{self.port}"

    async def open(self) -> None:
        self._detached.set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.controller.host = self

    async def close(self) -> None:
        if self._server:
            self._server.close()
        if self._host:
            self._host.close()
        await self._detached.wait()

    def hang_up(self) -> None:
        """Closes the connection to the host, as a controller does that is unplugged. Another host may attach."""
        if self._host is not None:
            self._host.close()

    async def detached(self) -> None:
        """Returns when no host is attached."""
        await self._detached.wait()

    def on_packet(self, packet: bytes) -> None:
        """A packet from the controller for the host."""
        if self._host is not None:
            self._host.write(packet)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._host is not None:
            self.faults.append("a second host attached while the first was there")
            writer.close()
            return
        self._host = writer
        self._detached.clear()
        # H4 is small packets that wait for one another: the worst case for Nagle's algorithm.
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while packet := await self._next_packet(reader):
                try:
                    self.controller.on_packet(packet)
                except Exception as error:  # any exception of Bumble's about what the host sent
                    log.exception("%s", packet.hex())
                    self.faults.append(f"{error!r} over {packet.hex()}")
        except ConnectionError as error:
            log.info("%s: host gone: %s", self.controller.name, error)
        finally:
            self._host = None
            if not self.outlives_host:
                self.controller.power_cycle()
            writer.close()
            self._detached.set()

    async def _next_packet(self, reader: asyncio.StreamReader) -> bytes | None:
        """The next whole packet; None when the host has gone or sent what is no packet."""
        try:
            kind = await reader.readexactly(1)
        except asyncio.IncompleteReadError:
            return None
        if kind[0] not in HCI_PACKET_INFO:
            self.faults.append(f"0x{kind.hex()} is no H4 packet type")
            return None
        length_size, length_offset, _ = HCI_PACKET_INFO[kind[0]]
        try:
            header = await reader.readexactly(length_offset + length_size)
            length = int.from_bytes(header[length_offset:], "little")
            return kind + header + await reader.readexactly(length)
        except asyncio.IncompleteReadError as error:
            self.faults.append(f"the host went in the middle of {(kind + error.partial).hex()}")
            return None


@dataclass
class Controllers:
    """Two controllers in one room: one for the watch, one for the phone."""

    watch: HostPort
    phone: HostPort

    def out_of_range(self) -> None:
        """The two are too far from each other for a moment: both lose the link by supervision timeout."""
        for controller in (self.watch.controller, self.phone.controller):
            for connection in list(controller.le_connections.values()):
                controller.on_le_disconnected(connection, hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR)

    @property
    def faults(self) -> list[str]:
        return [f"watch: {fault}" for fault in self.watch.faults] + [f"phone: {fault}" for fault in self.phone.faults]


@contextlib.asynccontextmanager
async def controllers(extended: bool = True, buffers: int = ACL_PACKET_COUNT) -> AsyncIterator[Controllers]:
    """Two controllers on one link, each on a loopback port of its own.

    `extended`: with advertising extensions. `buffers`: how many ACL packets the watch's controller takes before it has sent one.
    """
    link = Link()
    watch = HostPort(VirtualController("watch", link, "C0:DE:00:00:00:01", extended))
    phone = HostPort(VirtualController("phone", link, "C0:DE:00:00:00:02", extended))
    watch.controller.total_num_le_acl_data_packets = buffers
    await watch.open()
    await phone.open()
    try:
        yield Controllers(watch, phone)
    finally:
        await watch.close()
        await phone.close()
