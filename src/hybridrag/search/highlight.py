"""Cut a readable fragment around the matches."""

from __future__ import annotations

from collections.abc import Sequence

from hybridrag.language.graphemes import snap_to_grapheme
from hybridrag.types.results import Highlight, HighlightOffset

CONTEXT_CHARACTERS = 50
MAX_FRAGMENT_CHARACTERS = 200
ELLIPSIS = "..."


def highlight_fragment(
    text: str,
    matches: Sequence[tuple[int, int]],
    *,
    around: tuple[int, int] | None = None,
    field: str = "text",
    context: int = CONTEXT_CHARACTERS,
    max_length: int = MAX_FRAGMENT_CHARACTERS,
) -> Highlight:
    """A fragment of `text` around the first match, or around the stretch `around`, with the offsets of all within it.

    ("The limit is 5.", [(4, 9)], context=4) -> "The limit is ...", offsets [(4, 9)]

    It is cut only between characters that a reader sees, always contains that match or stretch whole, and is no longer
    than `max_length` with its ellipses unless the match itself is. Without either it is the start of the text. Empty
    matches, and what of a match lies outside the text, count for nothing.
    """
    clipped = sorted((max(0, start), min(len(text), end)) for start, end in matches)
    spans = [(start, end) for start, end in clipped if start < end]
    if not spans and around is None:
        end = snap_to_grapheme(text, min(len(text), max(0, max_length)), -1)
        return Highlight(field=field, fragment=text[:end])
    first, last = _window(text, around or spans[0], context=max(0, context), max_length=max_length)
    before, after = _ellipses(text, first, last, max_length=max_length)
    shift = len(before) - first
    inside = _merged([(start, end) for start, end in spans if first <= start and end <= last])
    offsets = tuple(HighlightOffset(start=start + shift, end=end + shift) for start, end in inside)
    return Highlight(field=field, fragment=f"{before}{text[first:last]}{after}", offsets=offsets)


def best_stretch(text: str, matches: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Where most different words are matched within one fragment; of equal places the first. None without matches.

    ("a limit ... the rate limit is 5", matches of rate and limit) -> "rate limit"
    """
    spans = sorted(span for span in matches if span[0] < span[1])
    room = MAX_FRAGMENT_CHARACTERS - 2 * CONTEXT_CHARACTERS
    best: tuple[int, int] | None = None
    most = 0
    for at, (start, end) in enumerate(spans):
        near = [(start, end), *(span for span in spans[at + 1 :] if span[1] <= start + room)]
        words = {text[first:last].casefold() for first, last in near}
        if len(words) > most:
            best, most = (start, max(last for _, last in near)), len(words)
    return best


def _window(text: str, match: tuple[int, int], *, context: int, max_length: int) -> tuple[int, int]:
    """The stretch to show: the match grown to whole characters, then as much context as fits."""
    start = snap_to_grapheme(text, match[0], -1)
    end = snap_to_grapheme(text, match[1], 1)
    room = max(0, max_length - (end - start) - 2 * len(ELLIPSIS))
    left = min(context, start, room // 2)
    right = min(context, len(text) - end, room - left)
    left = min(context, start, room - right)
    # Inwards, so that snapping never makes it longer than was asked for.
    return min(start, snap_to_grapheme(text, start - left, 1)), max(end, snap_to_grapheme(text, end + right, -1))


def _ellipses(text: str, first: int, last: int, *, max_length: int) -> tuple[str, str]:
    """What stands before and after the stretch: nothing where a long match leaves no room for it."""
    before = ELLIPSIS if first > 0 else ""
    after = ELLIPSIS if last < len(text) else ""
    fits = len(before) + (last - first) + len(after) <= max_length
    return (before, after) if fits else ("", "")


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Overlapping or touching matches as one, so that marks never nest."""
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
