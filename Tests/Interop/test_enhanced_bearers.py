"""Enhanced ATT bearers of the watch, against Bumble's: its GATT client opens some, and its GATT server lets the watch open some."""

from __future__ import annotations

import asyncio
import contextlib
import random
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bumble import att, gatt_client, l2cap
from rig.controllers import controllers
from rig.phone import Phone, WatchLink
from rig.process import Program
from rig.waiting import within
from test_command_line import run
from test_timeline import drawn, tshark
from watches import ADDRESS, cairn_on

Result = l2cap.L2CAP_Credit_Based_Connection_Response.Result

SERVER_SUPPORTED_FEATURES = 0x2B3A
DEVICE_NAME = 0x2A00


class Setting:
    """A watch, and a phone that is connected to it."""

    def __init__(self, phone: Phone, watch: WatchLink, program: Program) -> None:
        self.phone = phone
        self.watch = watch
        self.program = program

    async def by_type(self, uuid: int, client: gatt_client.Client | None = None) -> tuple[int, bytes] | None:
        """The handle and the value of the only characteristic of a type; None if there is none."""
        request = att.ATT_Read_By_Type_Request(
            starting_handle=1, ending_handle=0xFFFF, attribute_type=gatt_client.UUID.from_16_bits(uuid)
        )
        response = await within(10, "a response", (client or self.watch.client).send_request(request))
        if isinstance(response, att.ATT_Error_Response):
            assert response.error_code == att.ATT_ATTRIBUTE_NOT_FOUND_ERROR
            return None
        assert isinstance(response, att.ATT_Read_By_Type_Response)
        ((handle, value),) = response.attributes
        return handle, value

    async def open(self, count: int, mtu: int = 185) -> list[gatt_client.Client]:
        spec = l2cap.LeCreditBasedChannelSpec(psm=att.EATT_PSM, mtu=mtu, mps=64)
        clients = await within(
            10, "enhanced bearers", gatt_client.Client.connect_eatt(self.watch.connection, spec, count)
        )
        return clients if isinstance(clients, list) else [clients]


@contextlib.asynccontextmanager
async def setting(
    folder: Path, *options: str, paired: bool = True, enhanced_bearers: bool = False
) -> AsyncIterator[Setting]:
    async with (
        controllers() as room,
        cairn_on(room.watch.address, folder, "--record-memory", "0", *options) as program,
        Phone.on(room.phone.port, enhanced_bearers=enhanced_bearers) as phone,
    ):
        phone.host_ppogatt()
        watch = await phone.connect(ADDRESS)
        if paired:
            await watch.pair()
        yield Setting(phone, watch, program)
        assert room.faults == []
        await watch.disconnect()


async def refusal(here: Setting) -> str:
    """The result with which the watch refuses a bearer."""
    with pytest.raises(Exception, match=r"(?i)refused|error") as raised:
        await here.open(1)
    return str(getattr(raised.value, "error_name", "")) or str(raised.value)


async def test_each_bearer_of_a_client_has_its_own_requests_and_mtu(tmp_path: Path) -> None:
    async with setting(tmp_path, "--enhanced-bearers", "3") as here:
        features = await here.by_type(SERVER_SUPPORTED_FEATURES)
        assert features is not None and features[1] == b"\x01"
        name = await here.by_type(DEVICE_NAME)
        assert name is not None
        clients = await here.open(3)
        seed = 21
        print(f"seed {seed}")
        order = random.Random(seed)
        everyone = [here.watch.client, *clients]
        wanted = [order.choice(everyone) for _ in range(200)]
        read = att.ATT_Read_Request(attribute_handle=name[0])
        responses = await within(60, "all responses", asyncio.gather(*(each.send_request(read) for each in wanted)))
        assert {bytes(response) for response in responses} == {b"\x0b" + name[1]}
        # The MTU is that of the channel: nothing is left to exchange, and long responses need not be 23 bytes.
        response = await clients[0].send_request(att.ATT_Exchange_MTU_Request(client_rx_mtu=100))
        assert isinstance(response, att.ATT_Error_Response)
        assert response.error_code == att.ATT_REQUEST_NOT_SUPPORTED_ERROR
        everything = att.ATT_Find_Information_Request(starting_handle=1, ending_handle=0xFFFF)
        longest = max([len(bytes(await each.send_request(everything))) for each in clients])
        assert 23 < longest <= 185, longest
        # There is no fourth. The others go on when one is closed, and then there is room again.
        assert "INSUFFICIENT_RESOURCES" in await refusal(here)
        await within(10, "a bearer to close", clients[1].bearer.disconnect())
        for client in (here.watch.client, clients[0], clients[2]):
            assert bytes(await client.send_request(read)) == b"\x0b" + name[1]
        (again,) = await here.open(1)
        assert bytes(await again.send_request(read)) == b"\x0b" + name[1]


async def test_a_link_that_is_not_encrypted_gets_none(tmp_path: Path) -> None:
    async with setting(tmp_path, "--enhanced-bearers", "3", paired=False) as here:
        assert "INSUFFICIENT_AUTHENTICATION" in await refusal(here)


@pytest.mark.parametrize("options", [(), ("--personality", "snowy", "--enhanced-bearers", "5")])
async def test_without_the_setting_and_on_old_models_there_are_none(tmp_path: Path, options: tuple[str, ...]) -> None:
    async with setting(tmp_path, *options) as here:
        features = await here.by_type(SERVER_SUPPORTED_FEATURES)
        assert features is None or features[1] == b"\x00"
        assert "SPSM_NOT_SUPPORTED" in await refusal(here)


async def test_the_watch_opens_bearers_with_a_phone_that_has_the_feature(tmp_path: Path) -> None:
    async with setting(tmp_path, "--enhanced-bearers", "2", enhanced_bearers=True) as here:
        server = here.phone.device.gatt_server
        opcodes: list[int] = []
        receive = server.on_gatt_pdu

        def on_pdu(bearer: att.Bearer, pdu: att.ATT_PDU) -> None:
            if att.is_enhanced_bearer(bearer):
                opcodes.append(pdu.op_code)
            receive(bearer, pdu)

        server.on_gatt_pdu = on_pdu  # type: ignore[method-assign]
        await here.program.wait_for_line("enhanced bearer 2, with an MTU of", 20)
        channels = here.phone.device.l2cap_channel_manager.le_coc_channels[here.watch.connection.handle]
        bearers = [each for each in channels.values() if each.psm == att.EATT_PSM]
        assert len(bearers) == 2
        await here.program.wait_for_line("the phone.s services are remembered", 30)
        # The phone closes both; the watch goes on over the fixed channel.
        for bearer in bearers:
            await within(10, "a bearer to close", bearer.disconnect())
        await here.program.wait_for_line("an enhanced bearer is closed: closed by the peer; it has 0", 10)
        assert await here.by_type(DEVICE_NAME) is not None
        print(f"requests on enhanced bearers: {opcodes}")


async def test_a_phone_whose_server_takes_none_is_not_asked(tmp_path: Path) -> None:
    async with setting(tmp_path, "--enhanced-bearers", "2") as here:
        await here.program.wait_for_line("the phone.s services are remembered", 30)
        assert not here.phone.device.l2cap_channel_manager.le_coc_channels.get(here.watch.connection.handle)


def test_a_capture_shows_each_pdu_of_each_bearer(tmp_path: Path) -> None:
    """`cairn timeline` has the ATT PDUs that tshark's frames have on the fixed channel, and on those that Bumble says are bearers.

    tshark 4.0 does not know the request for such channels: the SDUs on them are put together here.
    """
    capture = tmp_path / "watch.btsnoop"
    ends = asyncio.run(read_on_three_bearers(tmp_path, capture))
    wanted = tshark(capture, "btatt.opcode")
    fields = ("frame.number", "frame.time_relative", "hci_h4.direction", "btl2cap.cid", "btl2cap.payload")
    command = ["tshark", "-r", str(capture), "-Y", "btl2cap.payload", "-T", "fields", "-E", "separator=|"]
    for field in fields:
        command += ["-e", field]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    sdus: dict[tuple[bool, int], bytes] = {}
    pieces = 0
    for line in output.splitlines():
        number, time, direction, channel, payload = line.split("|")
        end = (int(direction, 16) == 1, int(channel, 16))
        if end not in ends:
            continue
        sdus[end] = sdus.get(end, b"") + bytes.fromhex(payload)
        if len(sdus[end]) - 2 == int.from_bytes(sdus[end][:2], "little"):
            wanted[int(number), round(float(time) * 1_000_000)] += 1
            del sdus[end]
        else:
            pieces += 1
    result = run("timeline", str(capture))
    assert result.returncode == 0, result.stderr
    assert drawn(result.stdout)["att"] == wanted
    assert sdus == {} and pieces > 10, (sdus, pieces)
    for bearer in (1, 2, 3):
        assert f"on enhanced bearer {bearer}" in result.stdout


async def read_on_three_bearers(folder: Path, capture: Path) -> set[tuple[bool, int]]:
    """Has a phone read on three bearers. Returns the channels: whether it is the watch that receives on it, and its identifier."""
    async with setting(folder, "--enhanced-bearers", "3", "--capture", str(capture)) as here:
        clients = await here.open(3)
        everything = att.ATT_Find_Information_Request(starting_handle=1, ending_handle=0xFFFF)
        for client in clients * 4:
            await within(10, "a response", client.send_request(everything))
        return {
            end
            for client in clients
            for end in ((True, client.bearer.destination_cid), (False, client.bearer.source_cid))
        }
