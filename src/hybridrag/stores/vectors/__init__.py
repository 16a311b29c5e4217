"""Vector indexes behind one contract: exact, quantised, DiskANN."""

from hybridrag.stores.vectors.choose import build_index, choose_kind, load_index

__all__ = ["build_index", "choose_kind", "load_index"]
