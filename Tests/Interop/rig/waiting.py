"""Waiting with a limit. No test sleeps: what is awaited either happens or fails with a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class GaveUp(AssertionError):
    """An awaited event did not happen in time."""


async def within(seconds: float, what: str, awaitable: Awaitable[T]) -> T:
    """Awaits `awaitable` for at most `seconds`; `what` completes the sentence "waited 5 s for ..."."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await awaitable
    except TimeoutError:
        if not limit.expired():
            raise
        raise GaveUp(f"waited {seconds:g} s for {what}") from None
    except asyncio.CancelledError:
        # Bumble cancels what waits for a connection that ends; other code that cancels this task means it.
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        raise GaveUp(f"the connection ended while it was waited for {what}") from None


class Mailbox(Generic[T]):
    """Items that arrived, in order, and a way to wait for one of them. An item stays until it is taken."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._items: list[T] = []
        self._arrived = asyncio.Event()
        self._failure: BaseException | None = None

    def put(self, item: T) -> None:
        self._items.append(item)
        self._arrived.set()

    def fail(self, failure: BaseException) -> None:
        """From now on no item can arrive: a wait ends with the reason."""
        self._failure = self._failure or failure
        self._arrived.set()

    @property
    def waiting(self) -> list[T]:
        """What has arrived and was not taken."""
        return list(self._items)

    async def take(self, seconds: float, what: str, accept: Callable[[T], bool] = lambda _: True) -> T:
        """Takes the first item that `accept` accepts, waiting for it if need be. Items before it stay."""

        async def search() -> T:
            while True:
                for index, item in enumerate(self._items):
                    if accept(item):
                        return self._items.pop(index)
                if self._failure is not None:
                    raise self._failure
                self._arrived.clear()
                await self._arrived.wait()

        try:
            return await within(seconds, what, search())
        except GaveUp as error:
            raise GaveUp(f"{error}; in {self.name}: {self._items or 'nothing'}") from None
