"""A filter compiled once into the rows that pass it, for every index to honour."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import apsw
import numpy as np

from hybridrag.protocols import EntityRow, Keys
from hybridrag.types.queries import SearchFilters


@dataclass(frozen=True, slots=True)
class CompiledFilter:
    """The files that pass and, where the filter names entity types, the chunks; None means all of them."""

    file_keys: Keys | None
    chunk_keys: Keys | None = None
    """Chunks that mention an entity of a wanted type, in whatever file."""
    entities: dict[int, EntityRow | None] = field(default_factory=dict, compare=False, repr=False)
    """What was read so far of entities under this filter, in the state that it was compiled for."""

    regrouped: Mapping[int, int] = field(default_factory=dict, compare=False, repr=False)
    """Names that belong to another entity than they do without the filter, because what joins them is hidden."""

    @property
    def names(self) -> str:
        """The table of names as the filter leaves it, to be read from in a statement."""
        if not self.regrouped:
            return "names"
        rows = ", ".join(f"({name}, {entity})" for name, entity in self.regrouped.items())
        moved = ", ".join(map(str, self.regrouped))
        return (
            f"(SELECT key, norm, id, entity_key FROM names WHERE key NOT IN ({moved}) UNION ALL "  # noqa: S608 (keys)
            f"SELECT key, norm, id, column2 FROM (VALUES {rows}) JOIN names ON key = column1)"
        )

    @property
    def excludes_all(self) -> bool:
        """Whether nothing can pass."""
        return any(keys is not None and len(keys) == 0 for keys in (self.file_keys, self.chunk_keys))

    def passes(self, file_key: int, chunk_key: int) -> bool:
        """Whether that chunk of that file passes."""
        return _holds(self.file_keys, file_key) and _holds(self.chunk_keys, chunk_key)

    def condition(self, chunk: str) -> tuple[str, list[Any]]:
        """The filter as an SQL condition on a column that holds chunk keys, with its values; begins with AND.

        "m.chunk_key" -> " AND m.chunk_key IN (...)", or nothing when everything passes
        """
        if self.excludes_all:
            return " AND 0", []  # carray takes no empty array
        sql = ""
        values: list[Any] = []
        if self.file_keys is not None:
            # EXISTS, so that the rows at hand are looked up one by one and the files are not walked through.
            sql += (
                f" AND EXISTS (SELECT 1 FROM chunks visible WHERE visible.key = {chunk} "  # noqa: S608 (a column name)
                "AND visible.file_key IN carray(?))"
            )
            values.append(apsw.carray(self.file_keys))
        if self.chunk_keys is not None:
            sql += f" AND {chunk} IN carray(?)"
            values.append(apsw.carray(self.chunk_keys))
        return sql, values


EVERYTHING = CompiledFilter(file_keys=None)


def _holds(keys: Keys | None, key: int) -> bool:
    if keys is None:
        return True
    place = int(np.searchsorted(keys, key))
    return place < len(keys) and int(keys[place]) == key


def compile_filter(connection: apsw.Connection, filters: SearchFilters | None) -> CompiledFilter:
    """The files that satisfy every field of the filter, in the state that the connection sees."""
    if filters is None or filters.selects_all:
        return CompiledFilter(file_keys=None)
    where, values = file_conditions(filters)
    file_keys = chunk_keys = None
    if where:
        sql = f"SELECT key FROM files WHERE {where} ORDER BY key"  # noqa: S608 (conditions hold no user text)
        file_keys = _keys(connection.execute(sql, values))
    if filters.entity_types:
        sql = "SELECT DISTINCT chunk_key FROM mentions WHERE type IN (SELECT atom FROM json_each(?)) ORDER BY chunk_key"
        chunk_keys = _keys(connection.execute(sql, (_listed(kind.lower() for kind in filters.entity_types),)))
    return CompiledFilter(file_keys=file_keys, chunk_keys=chunk_keys)


def _keys(found: Iterable[tuple[object, ...]]) -> Keys:
    return np.array([key for (key,) in found], dtype=np.int64)


def file_conditions(filters: SearchFilters) -> tuple[str, list[str | float]]:
    """The filter as an SQL condition over `files` with its values; an empty condition means no restriction."""
    conditions: list[str] = []
    values: list[str | float] = []
    for column, wanted in (("id", filters.file_ids), ("workspace", filters.workspace_ids)):
        if wanted:
            conditions.append(f"{column} IN (SELECT atom FROM json_each(?))")  # noqa: S608 (a column name)
            values.append(_listed(str(value) for value in wanted))
    if filters.file_types:
        conditions.append("EXISTS (SELECT 1 FROM json_each(?) WHERE mime_type GLOB atom)")
        values.append(_listed(_glob(pattern) for pattern in filters.file_types))
    if filters.date_range:
        if filters.date_range.start:
            conditions.append("dated >= ?")
            values.append(filters.date_range.start.timestamp())
        if filters.date_range.end:
            conditions.append("dated <= ?")
            values.append(filters.date_range.end.timestamp())
    return " AND ".join(conditions), values


def _listed(values: Iterable[str]) -> str:
    """Values as one parameter: SQLite limits their number and takes no lone surrogates."""
    return json.dumps([value.encode("utf-8", "replace").decode() for value in values])


def _glob(pattern: str) -> str:
    """`text/*` takes a family; every other character stands for itself."""
    escaped = "".join(f"[{character}]" if character in "*?[" else character for character in pattern.lower())
    return escaped[: -len("[*]")] + "*" if pattern.endswith("/*") else escaped
