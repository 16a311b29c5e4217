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
