"""A phone with a companion app, on the same virtual radio as a watch: a Bluetooth host in Python (extra `phone`, Bumble).

`Phone` is for programs without asyncio, `AsyncPhone` for those with it.
"""

from __future__ import annotations

try:
    import bumble as _bumble
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "cairn_watch.phone needs Bumble: install cairn-watch[phone]", name=error.name, path=error.path
    ) from None

from .asynchronous import AsyncPhone, Found, PhoneError
from .blocking import Phone

del _bumble

__all__ = ["AsyncPhone", "Found", "Phone", "PhoneError"]
