"""The contract of every replaceable part, written once: what each promises and what empty means.

`hybridrag.testing` ships the suites that check an implementation against these promises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hybridrag.types.base import Float32Array

Keys = NDArray[np.int64]
"""Integer row keys of chunks inside one store; ascending keys were added later."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Which model made a vector. Two infos are equal exactly when their vectors may be compared."""

    name: str
    """What the user sets, for example `multilingual-e5-small`."""
    fingerprint: str
    """Changes whenever the same text would get another vector: weights, prefix, pooling, quantisation."""
    dimension: int
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Passages:
    """Embedded passages: one pooled vector each and, where the model gives them, one per token."""

    pooled: Float32Array
    """(n, dimension), L2-normalised."""
    tokens: tuple[Float32Array, ...] | None = None
    """Per passage (its tokens, dimension), L2-normalised, special tokens and prefix left out."""


@runtime_checkable
class Embedder(Protocol):
    """Turns text into vectors whose dot product is their cosine.

    Calls are thread-safe. The same text gives the same vector, whatever else is in the batch (to 1e-3).
    An empty list of texts gives a (0, dimension) array. Text past `max_tokens` is cut, never an error.

    Raises:
        ModelUnavailable: weights cannot be loaded.
        ProviderError: a remote provider failed after its retries.
    """

    @property
    def info(self) -> ModelInfo:
        """Which model this is."""
        ...

    def embed_passages(self, texts: Sequence[str], *, tokens: bool = False) -> Passages:
        """Embed texts to be found; `tokens=True` asks for token vectors too (None where there are none)."""
        ...

    def embed_query(self, text: str, *, tokens: bool = False) -> Passages:
        """Embed one question: `pooled` has one row."""
        ...

    def token_spans(self, text: str) -> NDArray[np.int32]:
        """(n, 2) character offsets of the model's tokens in `text`, ascending; what chunk sizes are counted in."""
        ...


class VectorIndex(Protocol):
    """Nearest neighbours by cosine over L2-normalised float32 vectors, each under an int64 key.

    A derived structure: everything in it can be rebuilt from the store, so damage is answered by `StoreCorrupt`
    and a rebuild. Reads are thread-safe with one another; a caller serialises writes against reads.
    """

    kind: ClassVar[str]
    """`exact`, `quantised` or `diskann`: what settings and status call it."""

    def __len__(self) -> int:
        """How many live keys."""
        ...

    def keys(self) -> Keys:
        """Every live key, ascending."""
        ...

    def add(self, keys: Keys, vectors: Float32Array) -> None:
        """Add or replace."""
        ...

    def remove(self, keys: Keys) -> None:
        """Forget; unknown keys are ignored."""
        ...

    def search(self, query: Float32Array, k: int, *, allowed: Keys | None = None) -> list[tuple[int, float]]:
        """The k best `(key, cosine)`, best first, ties by key.

        With `allowed` (ascending keys) only those count, and the result is the true top k among them, however
        few they are; an empty `allowed` gives an empty list.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write into `folder` (made if missing) so that a crash leaves the old or the new index, never a mix."""
        ...

    @classmethod
    def load(cls, folder: Path, *, dimension: int) -> Self:
        """Open what `save` wrote, without reading the whole of it where the kind allows.

        Raises:
            StoreCorrupt: missing, damaged, or of another dimension.
        """
        ...

    def close(self) -> None:
        """Release files; the index is not used afterwards."""
        ...
