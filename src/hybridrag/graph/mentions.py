"""What extraction finds in one chunk: mentions of named things, and the names that the text itself equates."""

from __future__ import annotations

from dataclasses import dataclass

from hybridrag.types.extraction import AliasKind, AliasRecord, Mention, Source

__all__ = ["AliasKind", "AliasRecord", "Context", "Extraction", "Mention", "Source", "without_overlaps"]


@dataclass(frozen=True, slots=True)
class Extraction:
    """Mentions in reading order that do not overlap, and aliases in reading order."""

    mentions: tuple[Mention, ...] = ()
    aliases: tuple[AliasRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What is known of the document around a chunk."""

    title: str | None = None
    headings: tuple[str, ...] = ()


def without_overlaps(mentions: list[Mention]) -> list[Mention]:
    """The surest of those that overlap (of equals the longest), in reading order.

    "Bank of Japan" (0.9) and, inside it, "Japan" (0.8) -> "Bank of Japan"
    """
    kept: list[Mention] = []
    taken: set[int] = set()
    for mention in sorted(mentions, key=lambda it: (-it.confidence, it.start - it.end, it.start)):
        span = range(mention.start, mention.end)
        if taken.isdisjoint(span):
            kept.append(mention)
            taken.update(span)
    return sorted(kept, key=lambda it: it.start)
