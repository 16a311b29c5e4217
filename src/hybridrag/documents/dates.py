"""Dates as documents write them, always with a time zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_DIGITS = re.compile(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})")


def aware(value: datetime | None) -> datetime | None:
    """The same moment with a time zone; one without is taken for UTC.

    datetime(2024, 1, 2) -> datetime(2024, 1, 2, tzinfo=UTC)
    """
    if value is None or value.tzinfo is not None:
        return value
    return value.replace(tzinfo=UTC)


def moment(seconds: float) -> datetime | None:
    """The moment that a file system names; None for one that no calendar has, such as the year 10000.

    0 -> 1970-01-01T00:00Z; 1e12 -> None
    """
    try:
        return datetime.fromtimestamp(seconds, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None


def parse_date(text: str | None) -> datetime | None:
    """The date in ISO, mail or Japanese writing, or None if it is none.

    "2024-05-01" -> 2024-05-01T00:00Z; "2024年5月1日" -> the same; "soon" -> None
    """
    if not text:
        return None
    text = text.strip()
    for parse in (datetime.fromisoformat, parsedate_to_datetime, _by_digits):
        try:
            return aware(parse(text))
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None


def _by_digits(text: str) -> datetime:
    match = _DIGITS.match(text)
    if match is None:
        raise ValueError(text)
    return datetime(*map(int, match.groups()), tzinfo=UTC)  # type: ignore[arg-type,misc]  # three numbers
