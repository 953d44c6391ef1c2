"""The watch itself, and the phone, on a virtual radio: where there is a program `cairn`."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable

import pytest
from conftest import Lateness

pytest.importorskip("bumble")

from cairn_watch import Air, NoWatch, Refused, TimedOut, Watch, WatchHangs, uint8
from cairn_watch.phone import Phone, PhoneError

pytestmark = pytest.mark.skipif(
    not (os.environ.get("CAIRN_BINARY") or shutil.which("cairn")), reason="there is no cairn, by CAIRN_BINARY or on the PATH"
)

ECHO = "2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0"
SPORTS = "4dab81a6-d2fc-458a-992c-7a1f3b96a970"
Start = Callable[..., Watch]


def meet(watch: Watch, phone: Phone, service: str = "any") -> None:
    """From nothing to a session."""
    phone.connect(phone.find(watch.name))
    phone.pair()
    phone.open_session(service)  # type: ignore[arg-type]


def echo(phone: Phone, count: int = 20) -> None:
    """Messages there and back, each as it was."""
    phone.launch(ECHO)
    for number in range(count):
        message = {0: uint8(number), 1: "Grüße" * (number % 5), 2: bytes(number)}
        phone.push(message)
        assert phone.expect({0: number}, app=ECHO).entries == message


def test_commands(start_watch: Start) -> None:
    watch = start_watch()
    watch.battery(4, charging=True)
    assert watch.status()["battery"] == {"percent": 4, "isCharging": True}
    watch.launch(SPORTS)
    assert watch.wait_for("app-launched", app=SPORTS)["name"] == "Sports"
    with pytest.raises(Refused, match="no companion") as refused:
        watch.send({4: uint8(1)})
    assert refused.value.code == "not-sent"
    with pytest.raises(Refused) as refused:
        watch.launch("00000000-0000-0000-0000-000000000001")
    assert refused.value.code == "unknown-app"
    watch.restart()
    assert watch.wait_for("ready", timeout=0)["app"]["name"] == "Clock"
    with pytest.raises(TimedOut):
        watch.wait_for("session", timeout=0.2)


@pytest.mark.parametrize("personality", ["universal", "core", "silk", "snowy"])
@pytest.mark.parametrize("service", ["any", "phone"])
def test_every_model(start_watch: Start, phone: Phone, cairn_air: Air, personality: str, service: str) -> None:
    meet(start_watch(personality=personality), phone, service)
    echo(phone)


@pytest.mark.cairn(air={"loss": 5, "seed": 17})
def test_a_radio_that_loses_packets(start_watch: Start, phone: Phone, cairn_air: Air) -> None:
    meet(start_watch(), phone)
    echo(phone)


def test_what_the_watch_sends(start_watch: Start, phone: Phone, cairn_air: Air) -> None:
    watch = start_watch()
    meet(watch, phone)
    phone.launch(SPORTS)
    assert phone.running_app() == SPORTS
    watch.press("select")
    assert phone.expect({4: 1}).app == SPORTS
    watch.wait_for("app-message-sent")
    assert watch.send({4: uint8(2)})["delivery"] == "sent"
    assert phone.expect({4: 2})
    with pytest.raises(TimedOut, match=r"the phone waited 0\.2 s for a message with \{4: 9\}; what came was nothing"):
        phone.expect({4: 9}, timeout=0.2)
    with pytest.raises(PhoneError, match=r"the watch refused \(NACK\)") as refused:
        phone.push({0: "1:23"}, app=ECHO)
    assert refused.value.code == "refused"


def test_a_pairing_that_a_person_compares(start_watch: Start, phone: Phone, cairn_air: Air) -> None:
    watch = start_watch(pairing="button")
    phone.connect(watch)
    phone.pair(wait=False)
    waiting = watch.wait_for("pairing-waits")
    watch.confirm()
    phone.paired()
    assert int(waiting["number"]) == phone.number
    assert watch.wait_for("paired", timeout=5)["phones"][0]["isStored"]


def test_a_pairing_that_is_refused(start_watch: Start, phone: Phone, cairn_air: Air) -> None:
    watch = start_watch(pairing="button")
    phone.connect(watch)
    with pytest.raises(PhoneError, match="no pairing was begun"):
        phone.paired()
    phone.pair(wait=False)
    watch.wait_for("pairing-waits")
    watch.refuse()
    with pytest.raises(PhoneError, match="the pairing has failed") as error:
        phone.paired()
    assert error.value.code == "pairing-failed"


def test_a_stranger_gets_no_session(start_watch: Start, phone: Phone, cairn_air: Air) -> None:
    phone.connect(start_watch())
    with pytest.raises(PhoneError, match=r"INSUFFICIENT_AUTHENTICATION\): pair\(\) first") as error:
        phone.open_session("watch")
    assert error.value.code == "not-encrypted" and not phone.has_session


def test_a_link_that_is_lost_and_comes_back(start_watch: Start, phone: Phone, cairn_air: Air) -> None:
    watch = start_watch()
    meet(watch, phone)
    phone.drop()
    assert not phone.is_connected and not phone.has_session
    assert "Connection Timeout" in watch.wait_for("link-ended")["reason"]
    phone.connect(watch)
    phone.open_session()
    echo(phone, 3)
    watch.disconnect()
    with pytest.raises(PhoneError, match="the link (has )?ended.*: REMOTE_USER_TERMINATED") as error:
        phone.ping()
    assert error.value.code == "link-lost"


def test_a_watch_that_has_forgotten(start_watch: Start, phone: Phone, cairn_air: Air) -> None:
    watch = start_watch()
    meet(watch, phone)
    watch.forget_all()
    watch.wait_for("disconnected")
    with pytest.raises(PhoneError, match=r"does not encrypt with the key that the phone has: .*forget\(\) and pair again"):
        phone.connect(watch)
    phone.disconnect()
    phone.forget()
    watch.pairing(60)
    meet(watch, phone)


def test_a_radio_that_ends(start_watch: Start, phone: Phone, cairn_air: Air, lateness: Lateness) -> None:
    meet(start_watch(controller_lost="retry"), phone)
    ended: list[float] = []

    def end() -> None:
        ended.append(time.monotonic())
        cairn_air.close()

    threading.Timer(0.3, end).start()
    with pytest.raises(PhoneError) as error:
        phone.expect({1: 1}, timeout=20)
    assert error.value.code == "no-air" and time.monotonic() - ended[0] < 1 + lateness.seconds


def test_a_watch_that_hangs(start_watch: Start, phone: Phone, cairn_air: Air) -> None:
    watch = start_watch()
    meet(watch, phone)
    os.kill(watch.pid, signal.SIGSTOP)
    # Before that, it may still answer.
    os.waitid(os.P_PID, watch.pid, os.WSTOPPED)
    with pytest.raises(TimedOut):
        phone.ping(timeout=0.5)
    with pytest.raises(WatchHangs):
        watch.status()
    os.kill(watch.pid, signal.SIGCONT)
    phone.ping()


def test_what_a_phone_hears(start_watch: Start, phone: Phone, cairn_air: Air) -> None:
    names = {start_watch(name=name).name for name in ("Bench 1", "Bench 2")}
    assert names <= {each.name for each in phone.scan(1)}
    assert phone.find().name in names
    with pytest.raises(TimedOut, match="a watch “Bench 3”; what it heard was .*“Bench"):
        phone.find("Bench 3", timeout=1)


@pytest.mark.parametrize("air", ["tcp:127.0.0.1:9", "unix:/nowhere", "carrier:pigeon", "tcp:"])
def test_no_radio(air: str) -> None:
    with pytest.raises(PhoneError) as error:
        Phone(air)
    assert error.value.code == "no-air"


def test_what_a_phone_cannot_do_yet(phone: Phone) -> None:
    for attempt, code in (
        (phone.pair, "not-connected"),
        (phone.open_session, "not-connected"),
        (phone.ping, "not-connected"),
        (lambda: phone.push({1: 1}), "not-connected"),
    ):
        with pytest.raises(PhoneError) as error:
            attempt()
        assert error.value.code == code
    phone.close()
    with pytest.raises(PhoneError, match="switched off"):
        phone.scan(0.1)


def test_two_watches_do_not_share_a_state(start_watch: Start) -> None:
    first = start_watch()
    with pytest.raises(NoWatch):
        start_watch(state=first.control.parent)
    assert first.status()["isReady"]
