"""Which names are one thing for a caller who sees part of the index: as far as visible chunks say so."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from hybridrag.stores.embedded.filters import CompiledFilter

_JOINED = "n.entity_key IN (SELECT entity_key FROM names GROUP BY entity_key HAVING count(*) > 1)"


def regrouped(connection: apsw.Connection, compiled: CompiledFilter) -> dict[int, int]:
    """The names that belong to another entity under the filter than they do to one who sees everything.

    "Olof Brandt, also known as Anders Falk" stands in a hidden file -> each name is an entity of its own.
    """
    mention, values = compiled.condition("m.chunk_key")
    alias, alias_values = compiled.condition("x.chunk_key")
    norms: dict[int, str] = {}
    entities: dict[int, int] = {}
    for key, norm, entity in connection.execute(
        f"SELECT n.key, n.norm, n.entity_key FROM names n WHERE {_JOINED} AND ("  # noqa: S608 (constants)
        f"EXISTS (SELECT 1 FROM mentions m WHERE m.name_key = n.key{mention}) "
        f"OR EXISTS (SELECT 1 FROM aliases x WHERE x.name_key = n.key{alias}) "
        f"OR EXISTS (SELECT 1 FROM aliases x WHERE x.alias_key = n.key{alias}))",
        (*values, *alias_values, *alias_values),
    ):
        norms[key], entities[key] = norm, entity
    groups = {key: {key} for key in norms}
    for one, other in _equal(connection, compiled):
        if one in groups and other in groups and entities[one] == entities[other] and groups[one] is not groups[other]:
            groups[one] |= groups[other]
            groups.update(dict.fromkeys(groups[other], groups[one]))
    first = {key: min(group, key=norms.__getitem__) for key, group in groups.items()}
    return {key: entity for key, entity in first.items() if entity != entities[key]}


def _equal(connection: apsw.Connection, compiled: CompiledFilter) -> Iterator[tuple[int, int]]:
    """Pairs of names that are one by what is visible; what joins two visible names by their spelling always is."""
    visible, values = compiled.condition("x.chunk_key")
    said = f"SELECT x.name_key, x.alias_key FROM aliases x WHERE 1{visible}"  # noqa: S608 (constants)
    rest = (
        "SELECT name_key, other_key FROM alike UNION ALL SELECT name_key, whole_key FROM short_forms UNION ALL "
        "SELECT a.key, b.key FROM decisions d JOIN names a ON a.norm = d.norm JOIN names b ON b.norm = d.other "
        "WHERE d.kind = 'merge'"
    )
    yield from ((int(one), int(other)) for one, other in connection.execute(said, values))
    yield from ((int(one), int(other)) for one, other in connection.execute(rest))
