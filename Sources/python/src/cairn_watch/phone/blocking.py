"""A phone for programs without asyncio: made by `generate` of asynchronous.py."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Literal

from ..appmessage import Dictionary, Message, Value
from ..background import run
from .asynchronous import STEP_SECONDS, AsyncPhone, Found, HasAddress, HasAir


class Phone:
    """A phone with a companion app. Its operations of GATT go one at a time, as on Android.

    Everything that waits raises TimedOut when its time is over, and PhoneError as soon as the link or the radio is gone.
    """

    def __init__(
        self,
        air: str | int | HasAir,
        *,
        name: str='Phone',
        address: str | None=None,
        timeout: float=STEP_SECONDS,
    ) -> None:
        """Switches a phone on.

        `air`: a watch or a radio, or where that has its controllers: a port of 127.0.0.1, `tcp:HOST:PORT` or `unix:PATH`.
        `address`: its static random address, such as `C1:00:00:00:00:01`; else another each time. `timeout`: in seconds.
        Raises PhoneError (`no-air`) if no controller answers there.
        """
        #: The same with asyncio, on the loop that runs in the background.
        self.asynchronous = run(AsyncPhone.start(air, name=name, address=address, timeout=timeout))

    @property
    def address(self) -> str:
        """Its address."""
        return self.asynchronous.address

    @property
    def is_connected(self) -> bool:
        """Whether it has a link to a watch."""
        return self.asynchronous.is_connected

    @property
    def has_session(self) -> bool:
        """Whether a session is open."""
        return self.asynchronous.has_session

    @property
    def number(self) -> int | None:
        """The number of six digits that it showed at the last pairing, to be compared with the watch's."""
        return self.asynchronous.number

    def scan(self, seconds: float=3) -> list[Found]:
        """Everything that advertises, the latest of each address."""
        return run(self.asynchronous.scan(seconds))

    def find(self, name: str | None=None, address: str | None=None, timeout: float=30) -> Found:
        """The first watch that is heard with both its advertisement and its scan response. Raises TimedOut.

        `name`, `address`: what it must have; else what Pebbles have, the service 0xFED9, is enough.
        """
        return run(self.asynchronous.find(name, address, timeout))

    def connect(self, watch: str | HasAddress, timeout: float=STEP_SECONDS) -> None:
        """Connects, and encrypts the link if the watch is bonded.

        `watch`: its address, or what has one. Raises TimedOut if it does not answer, PhoneError (`not-encrypted`) if it has
        lost the key.
        """
        run(self.asynchronous.connect(watch, timeout))

    def pair(self, timeout: float=30, wait: bool=True) -> None:
        """Pairs with the watch. The phone's side agrees; with `--pairing button` a person at the watch has to.

        `wait`: else it returns at once, and `paired` waits. Raises PhoneError (`pairing-failed`) with the reason.
        """
        run(self.asynchronous.pair(timeout, wait))

    def paired(self, timeout: float=30) -> None:
        """Returns when the pairing that `pair` began has ended well. Raises PhoneError (`pairing-failed`)."""
        run(self.asynchronous.paired(timeout))

    def disconnect(self, timeout: float=STEP_SECONDS) -> None:
        """Ends the link as an app does that lets go of it. There need not be one."""
        run(self.asynchronous.disconnect(timeout))

    def drop(self, timeout: float=STEP_SECONDS) -> None:
        """Loses the link without a packet, as when it goes out of range, and is back on the radio at once.

        The watch notices after its supervision timeout. Bonds stay. Sessions and the phone's own services are gone.
        """
        run(self.asynchronous.drop(timeout))

    def forget(self) -> None:
        """Forgets every watch that it has paired with; the watches do not know."""
        run(self.asynchronous.forget())

    def open_session(self, service: Literal['any', 'watch', 'phone']='any', timeout: float=STEP_SECONDS) -> None:
        """Opens the Pebble Protocol over PPoGATT, and answers what the watch asks every phone.

        `service`: whose PPoGATT service carries it: the watch's, where the phone is the client; the phone's, where it is the
        server; or the watch's if it has one. Raises PhoneError: `no-service`, or `not-encrypted` if the watch wants that.
        """
        run(self.asynchronous.open_session(service, timeout))

    def launch(self, app: str, timeout: float=STEP_SECONDS) -> None:
        """Has the watch run an app. `app`: its UUID. Raises TimedOut if it does not, such as one that is not installed."""
        run(self.asynchronous.launch(app, timeout))

    def running_app(self, timeout: float=STEP_SECONDS) -> str:
        """The UUID of the app that the watch runs."""
        return run(self.asynchronous.running_app(timeout))

    def push(self, entries: Dictionary, app: str | None=None, timeout: float=STEP_SECONDS) -> None:
        """Sends an AppMessage, and returns when the watch has taken it.

        `entries`: keys and values, as `cairn_watch.Watch.send` has them. `app`: the UUID of the app that it is for; else the
        one that runs. Raises PhoneError (`refused`) if the watch or the app does not take it.
        """
        run(self.asynchronous.push(entries, app, timeout))

    def expect(self, entries: Mapping[int, Value | None], app: str | None=None, timeout: float=10) -> Message:
        """The first AppMessage from the watch that no earlier call has returned. The phone acknowledges each as it comes.

        `entries`: keys that it must have, with these values, or with any for None; it may have others. `app`: the UUID of the
        app that it is from. At most 256 wait; the oldest goes first. Raises TimedOut, which says what came instead.
        """
        return run(self.asynchronous.expect(entries, app, timeout))

    def ping(self, timeout: float=STEP_SECONDS) -> None:
        """Has the watch answer over the session: everything that it sent before has arrived then."""
        run(self.asynchronous.ping(timeout))

    def close(self) -> None:
        """Switches the phone off, without a packet. It may be off already."""
        run(self.asynchronous.close())

    def __enter__(self) -> Phone:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
