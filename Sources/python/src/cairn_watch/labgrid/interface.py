"""What this package uses of labgrid, with types: labgrid has none of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:
    import logging

    import attr

    class ExecutionError(Exception):
        """A command of labgrid's has failed."""

    class StrategyError(Exception):
        """A strategy cannot do what it is asked."""

        def __init__(self, msg: str) -> None: ...

    class Target:
        """What resources and drivers are bound to."""

        name: str

        def activate(self, client: object) -> None: ...

        def deactivate(self, client: object) -> list[object]: ...

    class Step:
        """What a step reports."""

        def skip(self, reason: str) -> None: ...

    @attr.s(eq=False)
    class Resource:
        """What a driver works with."""

        target: Target | None = attr.ib()
        name: str | None = attr.ib()
        state: object = attr.ib(init=False)
        avail: bool = attr.ib(default=True, init=False)
        logger: logging.Logger = attr.ib(init=False)

        def __attrs_post_init__(self) -> None: ...

        def poll(self) -> None: ...

    @attr.s(eq=False)
    class NetworkResource(Resource):
        """A resource on another host."""

        host: str = attr.ib()

    @attr.s(eq=False)
    class Driver:
        """What does something with resources."""

        target: Target = attr.ib()
        name: str | None = attr.ib()
        state: object = attr.ib(init=False)
        logger: logging.Logger = attr.ib(init=False)

        def __attrs_post_init__(self) -> None: ...

        def on_activate(self) -> None: ...

        def on_deactivate(self) -> None: ...

        @classmethod
        def check_active(cls, func: F) -> F: ...

    @attr.s(eq=False)
    class Strategy(Driver):
        """What leads a target from state to state."""

    class PowerProtocol:
        """What can be switched on and off."""

    class ResetProtocol:
        """What can be reset."""

    class SSHConnection:
        """A connection to a host."""

        def get_prefix(self) -> list[str]: ...

    class SSHManager:
        """The connections to hosts."""

        def get(self, host: str) -> SSHConnection: ...

        def request_forward(self, host: str, dest: str, port: int) -> int: ...

    sshmanager: SSHManager
    T = TypeVar("T")

    def resource(cls: type[T]) -> type[T]:
        """Makes a class of resources known by its name."""

    def driver(cls: type[T]) -> type[T]:
        """Makes a class of drivers known by its name."""

    def step(*, args: list[str] = ..., result: bool = ...) -> Callable[[F], F]:
        """What a report has as a step."""

else:
    from labgrid.driver import Driver, ExecutionError
    from labgrid.factory import target_factory
    from labgrid.protocol import PowerProtocol, ResetProtocol
    from labgrid.resource import Resource
    from labgrid.resource.common import NetworkResource
    from labgrid.step import Step, step
    from labgrid.strategy import Strategy
    from labgrid.strategy.common import StrategyError
    from labgrid.util.ssh import sshmanager

    resource = target_factory.reg_resource
    driver = target_factory.reg_driver

__all__ = [
    "Driver",
    "ExecutionError",
    "NetworkResource",
    "PowerProtocol",
    "ResetProtocol",
    "Resource",
    "Step",
    "Strategy",
    "StrategyError",
    "driver",
    "resource",
    "sshmanager",
    "step",
]
