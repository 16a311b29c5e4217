"""Many lists of different lengths in one array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Ragged:
    """Many lists in one array; list i is `values[starts[i]:starts[i + 1]]`."""

    values: NDArray[Any]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: int) -> NDArray[Any]:
        return self.values[self.starts[index] : self.starts[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How long each list is."""
        return np.diff(self.starts)

    @classmethod
    def join(cls, lists: Iterable[Sequence[int]], kind: type[np.generic] = np.uint16) -> Ragged:
        """[[5, 6], [7]] -> values 5 6 7, starts 0 2 3."""
        parts = [np.asarray(part, dtype=kind) for part in lists]
        lengths = np.fromiter((len(part) for part in parts), dtype=np.int64, count=len(parts))
        values = np.concatenate(parts) if parts else np.zeros(0, dtype=kind)
        return cls(values, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> Ragged:
        """Texts as UTF-8 bytes."""
        return cls.join([list(text.encode("utf-8")) for text in texts], np.uint8)

    def text(self, index: int) -> str:
        """The text that `of_texts` put there."""
        return bytes(self[index]).decode("utf-8")


def save(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays and ragged arrays into one compressed file."""
    flat: dict[str, Any] = {}
    for name, value in arrays.items():
        if isinstance(value, Ragged):
            flat[f"{name}.values"], flat[f"{name}.starts"] = value.values, value.starts
        else:
            flat[name] = value
    np.savez_compressed(path, **flat)


def load(path: Path) -> dict[str, Any]:
    """Read what `save` wrote."""
    with np.load(path, allow_pickle=False) as file:
        flat = {name: file[name] for name in file.files}
    names = [name.removesuffix(".starts") for name in flat if name.endswith(".starts")]
    joined = {name: Ragged(flat.pop(f"{name}.values"), flat.pop(f"{name}.starts")) for name in names}
    return {**flat, **joined}
