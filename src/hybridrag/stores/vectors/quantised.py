"""The quantised index: one bit per number finds candidates, the float16 rows decide among them.

RaBitQ codes (Gao & Long, SIGMOD 2024) as faiss's fast scan reads them, 64 bytes a vector of 384 numbers. Codes are
taken of the difference to a centroid: text embeddings share a common direction, and without that step one bit per
number tells mostly about it (recall@10 of 500 candidates from e5 vectors: 0.84 without, 1.00 with).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridrag.errors import StoreCorrupt
from hybridrag.stores.vectors.files import Part, map_part, part_name, write_part
from hybridrag.stores.vectors.index import MatrixIndex
from hybridrag.stores.vectors.matrix import TIE_MARGIN, WRITE_BLOCK, Main, Rows, kth_best, widen
from hybridrag.types.base import Float32Array

CODES = "codes"
CODES_FROM = 4096
"""Smallest main that gets codes: below it an exact scan takes less than a millisecond."""
LISTS = 64
"""Centroids. Recall@10 of 500 candidates among 300,000: .990 with one, 1.00 with 64; 256 take four times the build."""
TRAINING_ROWS = LISTS * 256
"""What k-means uses of the rows at most; more does not move the centroids."""
PROBE_ALL_UP_TO = 200_000
"""Rows up to which every list is scanned (4 ms). Beyond, half of the lists halve the time for .003 of recall."""
MIN_CANDIDATES = 500
"""Rows compared exactly for a small k: recall@10 .998 or better up to 300,000 rows, for 0.3 ms."""
CANDIDATES_PER_RESULT = 20
"""The same for a large k."""
SURE_ERRORS = 2.0
"""How many times the codes' error (measured on the candidates) must lie between the k-th best and the lowest candidate
before nothing else is looked at. With 2, the searches that stop at once have recall@10 .998 or better, with a random
filter or none; one that leaves only far vectors never stops at once."""
MORE_CANDIDATES = 4
"""Otherwise this many times as many are looked at. One search in ten does so among 100,000 vectors."""
SCAN_SHARE = 16
"""Once one row in this many would be a candidate, all are compared: a filter that leaves only far vectors does that."""
GATHER_UP_TO = 4096
"""Allowed rows up to which all are compared exactly: as fast as a scan of the codes, and exact."""
QUERY_BITS = 8
"""Precision of the query against the codes; 4 bits cost recall and gain no time."""
SEARCH_THREADS = 1
"""A query of some milliseconds is not worth waking threads that the other searches are using."""


class QuantisedIndex(MatrixIndex):
    """Nearly every answer is the true one (recall@10 >= .98), at a fraction of an exact scan's time and memory.

    The codes are in memory, the rows stay on disk, mapped. What was added since the last `save` is compared exactly.
    """

    kind: ClassVar[str] = "quantised"

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self._content: NDArray[np.uint8] | None = None
        self._folder = Path()
        self._codes: Any = None
        self._opening = threading.Lock()

    def close(self) -> None:
        """Release files and codes; the index is not used afterwards."""
        super().close()
        self._content = self._codes = None

    def _candidates(self, query: Float32Array, k: int, rows: Rows | None) -> Rows | None:
        matrix = self._matrix
        border = len(matrix.main.keys)
        live = border - matrix.dead_count if rows is None else int(np.searchsorted(rows, border))
        wanted = max(MIN_CANDIDATES, CANDIDATES_PER_RESULT * k)
        if self._content is None or live <= max(GATHER_UP_TO, wanted):
            return None
        visible = ~matrix.dead if matrix.dead_count else None
        tail = matrix.tail_row_numbers()
        if rows is not None:
            visible = np.zeros(border, dtype=np.bool_)
            visible[rows[:live]] = True
            tail = rows[live:]
        best = self._best_of_main(query, k, visible, wanted=wanted, live=live)
        return None if best is None else np.concatenate([best, tail])

    def _best_of_main(
        self, query: Float32Array, k: int, visible: NDArray[np.bool_] | None, *, wanted: int, live: int
    ) -> Rows | None:
        """The k best rows of main and what ties with them; None when only an exact scan can tell."""
        every_list = visible is not None or live <= PROBE_ALL_UP_TO
        while True:
            found, estimates = self._scan_codes(query, wanted, visible, every_list=every_list)
            if len(found) < wanted:
                return None
            scores = self._matrix.scores(query, found)
            last = kth_best(scores, k)
            error = float(np.sqrt(np.mean((scores - estimates) ** 2)))
            # A row that was left out was estimated below the lowest candidate; to belong to the k best it would
            # have to be underestimated by this much.
            if last - float(estimates.min()) >= SURE_ERRORS * error:
                return found[scores >= last - TIE_MARGIN]
            wanted *= MORE_CANDIDATES
            every_list = True
            if wanted * SCAN_SHARE > live:
                return None

    def _scan_codes(
        self, query: Float32Array, wanted: int, visible: NDArray[np.bool_] | None, *, every_list: bool
    ) -> tuple[Rows, Float32Array]:
        """The `wanted` rows of main whose codes are nearest, and their cosines as the codes estimate them."""
        faiss = _faiss()
        parameters = faiss.IVFRaBitQSearchParameters()
        parameters.qb = QUERY_BITS
        parameters.nprobe = LISTS if every_list else LISTS // 2
        # faiss keeps bare pointers: both names must live until the search is over.
        bits = None if visible is None else np.packbits(visible, bitorder="little")
        selector = None if bits is None else faiss.IDSelectorBitmap(bits)
        if selector is not None:
            parameters.sel = selector
        codes = self._opened_codes()
        with _faiss_threads(SEARCH_THREADS):
            distances, found = codes.search(query[np.newaxis], wanted, params=parameters)
        there = found[0] >= 0
        # For unit vectors |x - q|^2 = 1 + |q|^2 - 2 x.q
        estimates = (1 + query @ query - distances[0][there]) / 2
        order = np.argsort(found[0][there])
        return found[0][there][order], estimates[order]

    def _extra_parts(self, folder: Path, token: str, main: Main) -> dict[str, Part]:
        if len(main.keys) < CODES_FROM:
            return {}
        content = _encoded(main).data
        return {CODES: write_part(folder, part_name(token, CODES), [content])}

    def _adopt_main(self, folder: Path, parts: dict[str, Part]) -> None:
        self._codes = None
        self._content = map_part(folder, parts[CODES], verify=True) if CODES in parts else None
        self._folder = folder

    def _opened_codes(self) -> Any:
        """The codes, read into memory by the first search that needs them.

        Raises:
            StoreCorrupt: this version of faiss cannot read them.
        """
        faiss = _faiss()
        with self._opening:
            if self._codes is None and self._content is not None:
                try:
                    self._codes = faiss.deserialize_index(np.array(self._content))
                except RuntimeError as cause:
                    raise StoreCorrupt(self._folder, "its codes were written by another version of faiss") from cause
            return self._codes


def _encoded(main: Main) -> NDArray[np.uint8]:
    """RaBitQ codes of every row, as the bytes of a faiss index."""
    faiss = _faiss()
    dimension = main.rows.shape[1]
    centroids = faiss.IndexFlatL2(dimension)
    index = faiss.IndexIVFRaBitQFastScan(centroids, dimension, LISTS, faiss.METRIC_L2)
    step = max(1, len(main.keys) // TRAINING_ROWS)
    with _faiss_threads(SEARCH_THREADS):
        index.train(widen(np.ascontiguousarray(main.rows[::step])))
        for start in range(0, len(main.keys), WRITE_BLOCK):
            index.add(widen(main.rows[start : start + WRITE_BLOCK]))
    content: NDArray[np.uint8] = faiss.serialize_index(index)
    return content


@contextlib.contextmanager
def _faiss_threads(count: int) -> Iterator[None]:
    """Let faiss use `count` threads in here; OpenMP keeps the number per calling thread, and it is put back."""
    faiss = _faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _faiss() -> Any:
    """The package, imported when first needed: it takes a tenth of a second, and a small index does without."""
    import faiss  # noqa: PLC0415 (see above)

    return faiss
