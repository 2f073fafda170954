"""Which addresses does a name have? Reports only those that may be fetched.

The connection is made to the addresses that were checked, so a name that changes between check and
connection gains nothing.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import IHostnameResolver, IHostResolution
from zope.interface import implementer

from recrawl.fetch.addresses import is_public

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twisted.internet.interfaces import IAddress

_CACHE_SECONDS = 300.0
_MAX_CACHED_NAMES = 10_000
_THREADS = 16  # lookups at a time

Addresses = list[tuple[bool, str]]  #: whether it is v6, and the address


@implementer(IHostResolution)
class _Resolution:
    def __init__(self, name: str) -> None:
        self.name = name

    def cancel(self) -> None:
        """Does nothing: the result is ignored then."""


@implementer(IHostnameResolver)
class Resolver:
    """Resolves names, with a cache; gives private addresses only for `trusted` hosts."""

    def __init__(self, *, allow_private: bool, trusted: frozenset[str]) -> None:
        self._allow_private = allow_private
        self._trusted = trusted
        self._loop = asyncio.get_running_loop()
        self._known: dict[str, tuple[float, Addresses]] = {}
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="recrawl-dns")
        self._tasks: set[asyncio.Task[None]] = set()
        self.refused: set[str] = set()  #: names all of whose addresses are private

    def resolveHostName(  # noqa: N802 - Twisted's names, also of the arguments
        self,
        resolutionReceiver: Any,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: N803
        addressTypes: Sequence[type[IAddress]] | None = None,  # noqa: N803
        transportSemantics: str = "TCP",  # noqa: ARG002, N803
    ) -> Any:
        resolution = _Resolution(hostName)
        resolutionReceiver.resolutionBegan(resolution)
        until, addresses = self._known.get(hostName, (0.0, []))
        if self._loop.time() < until:
            _report(resolutionReceiver, addresses, portNumber, addressTypes)
        else:
            lookup = self._resolve(resolutionReceiver, hostName, portNumber, addressTypes)
            task = self._loop.create_task(lookup)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return resolution

    async def _resolve(
        self,
        receiver: Any,
        name: str,
        port: int,
        kinds: Sequence[type[IAddress]] | None,
    ) -> None:
        _report(receiver, await self.addresses(name), port, kinds)

    async def addresses(self, name: str) -> Addresses:
        """The addresses of a name that may be fetched; the first is tried first."""
        until, known = self._known.get(name, (0.0, []))
        if self._loop.time() < until:
            return known
        addresses = await self._loop.run_in_executor(self._threads, _look_up, name)
        private_too = self._allow_private or name in self._trusted
        allowed = [(is_v6, ip) for is_v6, ip in addresses if private_too or is_public(ip)]
        self.refused.discard(name)
        if addresses and not allowed:
            if len(self.refused) >= _MAX_CACHED_NAMES:
                self.refused.clear()
            self.refused.add(name)
        if allowed:
            while len(self._known) >= _MAX_CACHED_NAMES:
                del self._known[next(iter(self._known))]
            self._known[name] = (self._loop.time() + _CACHE_SECONDS, allowed)
        return allowed

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(name: str) -> Addresses:
    try:
        answers = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    kinds = (socket.AF_INET, socket.AF_INET6)
    return [(kind == socket.AF_INET6, str(to[0])) for kind, _, _, _, to in answers if kind in kinds]


def _report(
    receiver: Any,
    addresses: Addresses,
    port: int,
    kinds: Sequence[type[IAddress]] | None,
) -> None:
    for is_v6, address in addresses:
        kind = IPv6Address if is_v6 else IPv4Address
        if kinds is None or kind in kinds:
            receiver.addressResolved(kind("TCP", address, port))
    receiver.resolutionComplete()
