"""The link policy, as a phone and its operator see it: long packets, then the MTU, 2M, and parameters when due."""

from __future__ import annotations

import asyncio

import pytest
from bumble import hci
from conftest import Rig, on_rigs
from rig import capture
from rig.capture import LinkStep
from rig.phone import Phone
from rig.waiting import Mailbox

#: Interval (1.25 ms), latency and supervision timeout (10 ms) of the watch's two requests: fast and slow.
FAST = (12, 12, 0, 600)
SLOW = (24, 36, 3, 600)
#: How late a timer of the watch may be seen on a busy machine.
TOLERANCE = 0.5


def parameter_changes(phone: Phone) -> Mailbox[tuple[int, int, int]]:
    """The link's parameters each time that the phone's controller reports new ones."""
    changes: Mailbox[tuple[int, int, int]] = Mailbox("the parameters of the link")
    phone.device.host.on("connection_parameters_update", lambda _handle, *parameters: changes.put(parameters))
    return changes


def after_connecting(steps: list[LinkStep]) -> list[LinkStep]:
    """The steps of the only connection, with times that count from it."""
    (start,) = [index for index, step in enumerate(steps) if step.what == "connected"]
    zero = steps[start].seconds
    return [LinkStep(step.seconds - zero, step.what, step.parameters) for step in steps[start + 1 :]]


@on_rigs("cairn-air")
@pytest.mark.slow
async def test_order(rig: Rig) -> None:
    """Data length before MTU, 2M, 15 ms after a second while the watch looks around; slow again ten seconds later."""
    async with Phone.on(rig.phone_port) as phone:
        changes = parameter_changes(phone)
        lengths: Mailbox[tuple[int, ...]] = Mailbox("the data lengths")
        phone.device.host.on("connection_data_length_change", lambda _handle, *length: lengths.put(length))
        radios: Mailbox[tuple[int, int]] = Mailbox("the PHYs")
        phone.device.host.on("connection_phy_update", lambda _handle, phy: radios.put((phy.tx_phy, phy.rx_phy)))
        phone.host_ppogatt()
        watch = await phone.connect(rig.watch_address)
        octets, _, received, _ = await lengths.take(5, "long packets")
        assert (octets, received) == (251, 251)
        assert await radios.take(5, "2M") == (hci.HCI_LE_2M_PHY, hci.HCI_LE_2M_PHY)
        assert await changes.take(5, "the fast parameters") == (12, 0, 600)
        interval, latency, timeout = await changes.take(20, "the slow parameters")
        assert 24 <= interval <= 36 and (latency, timeout) == (3, 600)
        assert watch.connection.att_mtu == 517
        await watch.disconnect()
    await rig.stop_watch()

    steps = after_connecting(capture.link_steps(rig.capture))
    order = [step.what for step in steps]
    assert order.index("data length") < order.index("MTU request")
    assert order.count("MTU request") == 1
    wanted = [step for step in steps if step.what == "parameters wanted"]
    assert [step.parameters for step in wanted] == [FAST, SLOW]
    assert 1 <= wanted[0].seconds < 1 + TOLERANCE
    assert wanted[1].seconds > 10


@on_rigs("cairn", "cairn-legacy")
async def test_signaling(rig: Rig) -> None:
    """A phone whose link layer takes no requests for parameters is asked by signaling, after a second, in one frame."""
    async with Phone.on(rig.phone_port) as phone:
        changes = parameter_changes(phone)
        phone.host_ppogatt()
        watch = await phone.connect(rig.watch_address)
        assert await changes.take(5, "the fast parameters") == (12, 0, 600)
        await watch.disconnect()
    await rig.stop_watch()
    steps = after_connecting(capture.link_steps(rig.capture))
    (wanted,) = [step for step in steps if step.what == "parameters wanted"]
    assert wanted.parameters == FAST
    assert 1 <= wanted.seconds < 1 + TOLERANCE


@on_rigs("cairn-air")
@pytest.mark.slow
async def test_refusal(rig: Rig) -> None:
    """A phone that refuses is asked three times, five seconds apart, and then not asked again."""
    async with Phone.on(rig.phone_port) as phone:
        asked: Mailbox[tuple[float, int, int]] = Mailbox("the watch's requests")

        def refuse(event: hci.HCI_LE_Remote_Connection_Parameter_Request_Event) -> None:
            now = asyncio.get_running_loop().time()
            asked.put((now, event.interval_min, event.interval_max))
            reply = hci.HCI_LE_Remote_Connection_Parameter_Request_Negative_Reply_Command(
                connection_handle=event.connection_handle,
                reason=hci.HCI_ErrorCode.UNACCEPTABLE_CONNECTION_PARAMETERS_ERROR,
            )
            refusals.append(asyncio.ensure_future(phone.device.host.send_sync_command(reply)))

        refusals: list[asyncio.Future[object]] = []
        phone.device.host.on_hci_le_remote_connection_parameter_request_event = refuse
        phone.host_ppogatt()
        watch = await phone.connect(rig.watch_address)
        times = [(await asked.take(8, f"request {number}"))[0] for number in (1, 2, 3)]
        assert [round(later - earlier) for earlier, later in zip(times, times[1:], strict=False)] == [5, 5]
        await watch.round_trip()
        assert asked.waiting == []
        await watch.disconnect()
    await rig.stop_watch()
    log = rig.capture.with_name("cairn.log").read_text(encoding="utf-8")
    assert log.count("parameters not granted: the peer rejected them") == 3, log
