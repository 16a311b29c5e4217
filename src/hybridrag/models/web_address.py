"""Which addresses are on the public web: nothing that a stranger's search result names may lead into this network.

An address is refused unless it is `http` or `https`, has a public name, and every address of that name is public. A
number in place of a name is refused in all its spellings: `127.0.0.1`, `2130706433`, `0x7f.1`, `0177.1`, `[::1]`.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from urllib.parse import urlsplit

Resolve = Callable[[str], Sequence[str]]
"""The addresses of a name; raises `OSError` where it has none."""

MAX_URL = 2048
"""Longer ones are made by trackers and attackers."""
PRIVATE_NAMES = (
    *("localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "lan", "home", "home.arpa"),
    *("test", "invalid", "example", "onion", "alt"),
)
"""Ends of names that lead to machines nearby, or that the public name system does not have (RFC 6761, 6762, 8375)."""

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
# A last label that begins with a digit makes the whole name a number: `0x7f.1`, `1.2.3.4`.
_NAME = re.compile(rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?", re.ASCII)
_NUMBER = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)", re.ASCII)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Set aside for protocols and for use within one network (IANA); older versions of Python call them global.
_SET_ASIDE = [
    ipaddress.ip_network(it)
    for it in ("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "100::/64", "2001:10::/28", "3fff::/20", "5f00::/16")
]


class Refusal(StrEnum):
    """Why a page is left out."""

    MALFORMED = "malformed"
    NOT_WEB = "not-web"
    CREDENTIALS = "credentials"
    NUMBER = "number"
    PRIVATE_NAME = "private-name"
    PRIVATE_ADDRESS = "private-address"
    UNKNOWN_NAME = "unknown-name"
    """It has no address, or none was found in time."""


def public_host(url: str) -> str | Refusal:
    """The host of an address by its name alone, in ASCII; or why it is refused.

    "https://例え.jp/a" -> "xn--r8jz45g.jp"; "http://0x7f.1/" -> Refusal.NUMBER
    """
    if not 0 < len(url) <= MAX_URL or any(_is_odd(character) for character in url):
        return Refusal.MALFORMED
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return Refusal.MALFORMED
    if parts.scheme.lower() not in {"http", "https"}:
        return Refusal.NOT_WEB
    if "@" in parts.netloc:
        return Refusal.CREDENTIALS
    return _checked_name(host, in_brackets="[" in parts.netloc)


def judge_addresses(addresses: Iterable[str]) -> Refusal | None:
    """Why what a name stands for is refused; None where all of it is public.

    ["93.184.216.34"] -> None; ["93.184.216.34", "10.0.0.1"] -> Refusal.PRIVATE_ADDRESS; [] -> Refusal.UNKNOWN_NAME
    """
    found = list(addresses)
    if not found:
        return Refusal.UNKNOWN_NAME
    return None if all(is_public(address) for address in found) else Refusal.PRIVATE_ADDRESS


def is_public(address: str) -> bool:
    """Whether a numeric address can be on the public internet, and nothing is hidden inside it.

    "93.184.216.34" -> True; "::ffff:10.0.0.1" -> False; "169.254.169.254" -> False
    """
    try:
        number = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(number, ipaddress.IPv4Address):
        return _is_global(number)
    inside = _inside(number)
    if inside:
        return all(_is_global(it) for it in inside)
    return _is_global(number) and not number.is_site_local


def system_addresses(host: str) -> Sequence[str]:
    """What this machine's name service says.

    Raises:
        OSError: there is no such name, or nobody to ask.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as cause:
        msg = f"{host!r} is no name"
        raise OSError(msg) from cause
    return sorted({str(address[0]) for *_, address in found})


def _checked_name(host: str, *, in_brackets: bool) -> str | Refusal:
    try:
        # Maps what browsers map: full-width letters and digits, other dots.
        name = host.encode("idna").decode("ascii").lower().removesuffix(".") if host else ""
    except UnicodeError:
        return Refusal.MALFORMED
    if in_brackets or _NUMBER.fullmatch(name):
        return Refusal.NUMBER
    if any(name == end or name.endswith(f".{end}") for end in PRIVATE_NAMES):
        return Refusal.PRIVATE_NAME
    if name and "." not in name:
        return Refusal.PRIVATE_NAME  # the machine `router`, in whatever network this is
    return name if len(name) <= 253 and _NAME.fullmatch(name) else Refusal.MALFORMED


def _is_odd(character: str) -> bool:
    """Blanks, controls, and what programs read differently: a backslash is a slash to browsers."""
    return character in '<>"\\`' or unicodedata.category(character)[0] in "CZ"


def _is_global(number: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    # Python calls groups and some reserved ranges global.
    odd = number.is_multicast or number.is_reserved or number.is_unspecified
    return number.is_global and not odd and not any(number in network for network in _SET_ASIDE)


def _inside(number: ipaddress.IPv6Address) -> list[ipaddress.IPv4Address]:
    """The IPv4 addresses that an IPv6 address leads to: mapped, 6to4, Teredo, NAT64."""
    if number in _NAT64:
        return [ipaddress.IPv4Address(int(number) & 0xFFFFFFFF)]
    return [it for it in (number.ipv4_mapped, number.sixtofour, *(number.teredo or ())) if it is not None]
