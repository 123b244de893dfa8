"""Addresses of clients: the origin of a connection, and which clients are heard."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from ggp.errors import ConfigError

Network = IPv4Network | IPv6Network


def parse_network(text: str) -> Network:
    """The addresses denoted by an IP address or a network in CIDR notation.

    Raises:
        ConfigError: it is neither.
    """
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        raise ConfigError(
            f"{text!r} is no IP address and no network; expected one like 192.168.1.7, "
            "192.168.1.0/24 or 2001:db8::/32"
        ) from None


def is_heard(address: str, allowed: Iterable[Network]) -> bool:
    """Whether a client may send messages: one of these networks contains its address."""
    try:
        found = ip_address(address.partition("%")[0])  # without the interface
    except ValueError:
        return False
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return any(found in network for network in allowed)
