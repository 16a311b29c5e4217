"""A filter compiled once into the rows that pass it, for every index to honour."""

from __future__ import annotations

from dataclasses import dataclass

import apsw
import numpy as np

from hybridrag.protocols import Keys
from hybridrag.types.queries import SearchFilters


@dataclass(frozen=True, slots=True)
class CompiledFilter:
    """The files that pass; None means all of them."""

    file_keys: Keys | None

    @property
    def excludes_all(self) -> bool:
        """Whether nothing can pass."""
        return self.file_keys is not None and len(self.file_keys) == 0

    def passes(self, file_key: int) -> bool:
        """Whether that file passes."""
        if self.file_keys is None:
            return True
        place = int(np.searchsorted(self.file_keys, file_key))
        return place < len(self.file_keys) and int(self.file_keys[place]) == file_key


EVERYTHING = CompiledFilter(file_keys=None)


def compile_filter(connection: apsw.Connection, filters: SearchFilters | None) -> CompiledFilter:
    """The files that satisfy every field of the filter, in the state that the connection sees."""
    if filters is None or filters.selects_all:
        return EVERYTHING
    where, values = file_conditions(filters)
    if not where:
        return EVERYTHING
    sql = f"SELECT key FROM files WHERE {where} ORDER BY key"  # noqa: S608 (conditions hold no user text)
    keys = [key for (key,) in connection.execute(sql, values)]
    return CompiledFilter(file_keys=np.array(keys, dtype=np.int64))


def file_conditions(filters: SearchFilters) -> tuple[str, list[str | float]]:
    """The filter as an SQL condition over `files` with its values; an empty condition means no restriction."""
    conditions: list[str] = []
    values: list[str | float] = []
    for column, wanted in (("id", filters.file_ids), ("workspace", filters.workspace_ids)):
        if wanted:
            conditions.append(f"{column} IN ({', '.join('?' * len(wanted))})")
            values.extend(str(value) for value in wanted)
    if filters.file_types:
        conditions.append("(" + " OR ".join(["mime_type GLOB ?"] * len(filters.file_types)) + ")")
        values.extend(_glob(pattern) for pattern in filters.file_types)
    if filters.date_range:
        if filters.date_range.start:
            conditions.append("dated >= ?")
            values.append(filters.date_range.start.timestamp())
        if filters.date_range.end:
            conditions.append("dated <= ?")
            values.append(filters.date_range.end.timestamp())
    return " AND ".join(conditions), values


def _glob(pattern: str) -> str:
    """`text/*` takes a family; every other character stands for itself."""
    escaped = "".join(f"[{character}]" if character in "*?[" else character for character in pattern.lower())
    return escaped[: -len("[*]")] + "*" if pattern.endswith("/*") else escaped
