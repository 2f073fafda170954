"""May this address be asked? Only what the whole internet can reach, however it is written."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from recrawl import urls

_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
_COMPATIBLE = ip_network("::/96")


def is_public(address: str) -> bool:
    """Whether an address, v4 or v6, is neither private, local, reserved nor for many.

    >>> is_public("93.184.215.14"), is_public("::ffff:10.0.0.1")
    (True, False)
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    inner = _inner(found)
    return found.is_global and not _special(found) if inner is None else is_public(str(inner))


def literal(host: str) -> str | None:
    """The address that a canonical host is, without its port; None if it is a name."""
    bare = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    try:
        return str(ip_address(bare))
    except ValueError:
        return None


def is_private(url: str) -> bool:
    """Whether a canonical URL by itself leads to an address that is not public."""
    host = urls.host(url)
    address = literal(host)
    if address is None:
        return host.partition(":")[0].rpartition(".")[2] == "localhost"
    return not is_public(address)


def _special(found: IPv4Address | IPv6Address) -> bool:
    local = isinstance(found, IPv6Address) and found.is_site_local
    return found.is_multicast or found.is_reserved or local


def _inner(found: IPv4Address | IPv6Address) -> IPv4Address | None:
    """The v4 address that packets to a v6 address may end up at."""
    if isinstance(found, IPv4Address):
        return None
    if found.ipv4_mapped or found.sixtofour:
        return found.ipv4_mapped or found.sixtofour
    if any(found in network for network in _NAT64) or found in _COMPATIBLE:
        return IPv4Address(int(found) & 0xFFFFFFFF)
    return None
