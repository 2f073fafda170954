"""May this address be fetched? Only if it is public, in whichever notation it is written."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from recrawl import urls

_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
_COMPATIBLE = ip_network("::/96")


def is_public(address: str) -> bool:
    """Whether an IP address, v4 or v6, is neither private, local, reserved nor multicast.

    >>> is_public("93.184.215.14"), is_public("::ffff:10.0.0.1")
    (True, False)
    """
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    embedded = _embedded_v4(ip)
    if embedded is not None:
        return is_public(str(embedded))
    return ip.is_global and not _is_special(ip)


def literal(host: str) -> str | None:
    """The IP address of a canonical host, without its port; None if the host is a name."""
    bare = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    try:
        return str(ip_address(bare))
    except ValueError:
        return None


def is_private(url: str) -> bool:
    """Whether a canonical URL names localhost or an IP address that is not public."""
    host = urls.host(url)
    address = literal(host)
    if address is None:
        return host.partition(":")[0].rpartition(".")[2] == "localhost"
    return not is_public(address)


def _is_special(ip: IPv4Address | IPv6Address) -> bool:
    is_local = isinstance(ip, IPv6Address) and ip.is_site_local
    return ip.is_multicast or ip.is_reserved or is_local


def _embedded_v4(ip: IPv4Address | IPv6Address) -> IPv4Address | None:
    """The v4 address to which packets for a v6 address may be translated."""
    if isinstance(ip, IPv4Address):
        return None
    if ip.ipv4_mapped or ip.sixtofour:
        return ip.ipv4_mapped or ip.sixtofour
    if any(ip in network for network in _NAT64) or ip in _COMPATIBLE:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return None
