"""See that every side of a comparison is represented in the first results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from hybridrag.search.named import Named
from hybridrag.search.state import SearchState
from hybridrag.types.queries import RelationHint
from hybridrag.types.results import Hit

FIRST_RESULTS = 5
"""A reader compares what stands on one screen."""

FEWEST_SIDES = 2
"""One name alone is not compared with anything."""

MOST_SIDES = 4
"""More would leave no room among the first results for what the question asks of them."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """That a chunk was moved up to represent a side."""

    key: int
    side: str
    from_rank: int | None
    """1-based; None for a chunk that no search had found."""
    to_rank: int


@dataclass(frozen=True, slots=True)
class Represented:
    """A ranking in which the sides are represented, and what was done for it."""

    keys: tuple[int, ...]
    promotions: tuple[Promotion, ...] = ()
    missing: tuple[str, ...] = ()
    """Sides that no visible chunk is about."""


def represent_sides(ranked: Sequence[int], sides: Sequence[Named], *, first: int = FIRST_RESULTS) -> Represented:
    """The ranking with a chunk about each side among its first results.

    [a1, a2, a3, b1], sides A and B, first=2 -> [a1, b1, a2, a3]

    A side that has none there gets its best ranked one or, where no search found any, the one that is most about it.
    It takes the last of the first places, and the last result there that is no side's only one makes room; all
    others keep their order. Fewer than two sides change nothing. A name without a document of its own counts as a side
    only while fewer than two others are represented: in "A (Film) or B", Film is a name and no side.
    """
    missing = tuple(side.name for side in sides if not side.about)
    # Those with a title first: a name that is only mentioned must not take their place.
    known = sorted((side for side in sides if side.about), key=lambda side: not side.titled)[:MOST_SIDES]
    order = list(ranked)
    ranks = {key: rank for rank, key in enumerate(ranked, start=1)}
    promoted: list[tuple[int, str]] = []
    for side in known if len(sides) >= FEWEST_SIDES else ():
        present = sum(not set(order[:first]).isdisjoint(other.about) for other in known)
        served = present >= FEWEST_SIDES and not side.titled
        if served or not set(order[:first]).isdisjoint(side.about):
            continue
        key = min(side.about, key=lambda it: ranks.get(it, len(ranks) + 1))
        if _move_up(order, key, needed=_needed(order[:first], known), first=first):
            promoted.append((key, side.name))
    promotions = tuple(Promotion(key, name, ranks.get(key), order.index(key) + 1) for key, name in promoted)
    return Represented(tuple(order), promotions, missing)


def _needed(head: Sequence[int], sides: Sequence[Named]) -> set[int]:
    """The chunks of the first results without which a side would have none there."""
    present = [[key for key in head if key in side.about] for side in sides]
    return {keys[0] for keys in present if len(keys) == 1}


def _move_up(order: list[int], key: int, *, needed: set[int], first: int) -> bool:
    """Put a key into the last of the first places; False where every result there is needed."""
    spare = [other for other in order[:first] if other not in needed]
    if len(order) < first:
        order.append(key)
        return True
    if not spare:
        return False
    gives_way = spare[-1]
    order[:] = [other for other in order if other not in (gives_way, key)]
    order[first - 1 : first - 1] = [key, gives_way]
    return True


# The step


def show_both_sides(state: SearchState) -> list[JsonValue]:
    """Move a chunk about each side that lacks one among the first results; what was moved, for the trace.

    Only for a comparison, and only where the graph was searched: it knows what is about a side.
    """
    if state.question.hint is not RelationHint.COMPARISON:
        return []
    chunks = {hit.key: hit for hit in state.hits if hit.key}
    represented = represent_sides(list(chunks), state.sides)
    if not represented.promotions:
        return []
    nodes = [hit for hit in state.hits if not hit.key]
    sides = {move.key: move.side for move in represented.promotions}
    least = min((hit.combined for hit in state.hits[:FIRST_RESULTS]), default=0.0)
    for key, side in sides.items():
        hit = chunks.get(key) or Hit(str(key), key=key, path=(side,))
        # It stands here for its side, so it counts as much as what it stands beside.
        chunks[key] = replace(hit, combined=max(hit.combined, least), score=max(hit.score, least))
    state.hits = nodes + [chunks[key] for key in represented.keys]
    return [{"side": move.side, "from": move.from_rank, "to": move.to_rank} for move in represented.promotions]
