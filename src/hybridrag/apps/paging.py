"""Where a list goes on, as opaque text."""

from __future__ import annotations

import base64
import binascii
import json

from hybridrag import InvalidInput


def pack_cursor(place: tuple[str, str] | None) -> str | None:
    """A place in a list as opaque text."""
    return None if place is None else base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def unpack_cursor(cursor: str | None) -> tuple[str, str] | None:
    """The place that `pack_cursor` packed.

    Raises:
        InvalidInput: it is none.
    """
    if cursor is None:
        return None
    try:
        first, second = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
    except (ValueError, TypeError, binascii.Error):
        raise InvalidInput("The cursor is none that was given.", hint="Begin without one.") from None
    if not isinstance(first, str) or not isinstance(second, str):
        raise InvalidInput("The cursor is none that was given.", hint="Begin without one.")
    return first, second
