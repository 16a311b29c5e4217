"""Which addresses are on the public web: nothing that a stranger's search result names may lead into this network.

An address is refused unless it is `http` or `https` and has a public name. A number in place of a name is refused in
all its spellings: `127.0.0.1`, `2130706433`, `0x7f.1`, `0177.1`, `[::1]`.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from urllib.parse import urlsplit

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


class Refusal(StrEnum):
    """Why a page is left out."""

    MALFORMED = "malformed"
    NOT_WEB = "not-web"
    CREDENTIALS = "credentials"
    NUMBER = "number"
    PRIVATE_NAME = "private-name"


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
