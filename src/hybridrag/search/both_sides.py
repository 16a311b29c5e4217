"""See that a comparison shows both of its sides."""

from __future__ import annotations

from dataclasses import replace

from pydantic import JsonValue

from hybridrag.search.blend import LOWEST_SHOWN
from hybridrag.search.retrieve import Found, Ranked
from hybridrag.search.sides import represent_sides
from hybridrag.types.queries import RelationHint


def show_both_sides(found: Found) -> list[JsonValue]:
    """Move a chunk about each side that lacks one among the first results; what was moved, for the trace.

    Only for a comparison, and only where the graph was searched: it knows what is about a side.
    """
    if found.ask.understood.classification.relation_hint is not RelationHint.COMPARISON:
        return []
    chunks = {item.key: item for item in found.ranked if item.key}
    represented = represent_sides(list(chunks), found.start.named)
    if not represented.promotions:
        return []
    nodes = [item for item in found.ranked if not item.key]
    sides = {move.key: move.side for move in represented.promotions}
    ordered: list[Ranked] = []
    ceiling = 1.0
    for key in represented.keys:
        item = chunks.get(key) or Ranked(key, 0.0, LOWEST_SHOWN, path=(sides[key],))
        if key in sides:
            # It stands here for its side, so it counts as much as what it stands beside.
            item = replace(item, combined=max(item.combined, LOWEST_SHOWN), shown=ceiling)
        ceiling = min(ceiling, item.final)
        ordered.append(replace(item, shown=ceiling))
    found.ranked = nodes + ordered
    return [{"side": move.side, "from": move.from_rank, "to": move.to_rank} for move in represented.promotions]
