"""Where a result stands in its document, in words."""

from __future__ import annotations

from hybridrag.types.results import SearchResultSources


def place_of(sources: SearchResultSources) -> str:
    """`page 3, Fees > Late payment`."""
    return ", ".join(filter(None, (sources.place, " > ".join(sources.headings))))
