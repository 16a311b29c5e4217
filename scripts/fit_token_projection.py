"""Fit the projection of the default model's token vectors, from text that this repository holds.

python scripts/fit_token_projection.py -> src/hybridrag/models/e5_token_projection.npy

Run it when the default model changes. Indexes written with another projection keep their token vectors and do not use
them until `hybridrag reembed`.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import platformdirs

from hybridrag.language.detect import detect
from hybridrag.models.e5_embedder import E5Embedder
from hybridrag.models.token_vectors import DIMENSION, E5_PROJECTION_FILE
from hybridrag.models.unit_vectors import to_unit
from hybridrag.types.base import Float32Array

ROOT = Path(__file__).resolve().parent.parent
PROSE = ("README*.md", "ARCHITECTURE.md", "docs/**/*.md", "sample/**/*.md")
CODE = ("src/**/*.py", "tests/**/*.py", "benchmarks/**/*.py")
"""Docstrings, and the sentences that tests and benchmarks are made of."""

LEAST_CHARACTERS = 24
"""Shorter strings are names and keys."""

PASSAGE_CHARACTERS = {"en": 600, "ja": 240}
"""About 150 tokens, as chunks are."""

PASSAGES = 400
"""For each language; fewer where the repository holds fewer."""

FLATTEN = 0.25
"""Each direction is divided by its energy to this power: the first ones, which every token shares, would otherwise
drown those that tell tokens apart. 0 keeps cosines as they are, 0.5 makes all directions equal."""


def main() -> int:
    """Write the projection; say what it was made from."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=E5_PROJECTION_FILE)
    parser.add_argument("--cache-dir", type=Path, default=platformdirs.user_cache_path("hybridrag"))
    options = parser.parse_args()
    embedder = E5Embedder(options.cache_dir)
    energies = []
    samples = []
    for language, passages in gather(ROOT).items():
        tokens = embedder.embed_passages(passages, tokens=True).tokens
        vectors = np.concatenate(tokens or ())
        print(f"{language}: {len(passages)} passages, {len(vectors)} tokens")
        energies.append(vectors.T @ vectors / len(vectors))
        samples.append(vectors)
    matrix = fit(np.mean(energies, axis=0))
    # Every language counts the same, however much text of it there is.
    projected = [to_unit(vectors @ matrix) for vectors in samples]
    means = [part.mean(axis=0) for part in projected]
    squares = [(part**2).mean(axis=0) for part in projected]
    middle = np.mean(means, axis=0)
    deviation = np.sqrt(np.mean(squares, axis=0) - middle**2)
    np.save(options.out, np.concatenate([matrix, middle[None], deviation[None]]).astype("<f2"))
    print(f"-> {options.out}")
    return 0


def fit(energy: Float32Array) -> Float32Array:
    """The directions of most energy, not centred, flattened: (model dimension, DIMENSION)."""
    values, directions = np.linalg.eigh(energy)
    best = np.argsort(-values)[:DIMENSION]
    chosen = directions[:, best]
    # The sign of an eigenvector is arbitrary: the same text must give the same file.
    chosen = chosen * np.sign(chosen[np.abs(chosen).argmax(axis=0), np.arange(len(best))])
    return np.asarray(chosen * values[best] ** -FLATTEN, dtype=np.float32)


def gather(root: Path) -> dict[str, list[str]]:
    """Passages by language."""
    texts = [*_paragraphs(root), *_strings(root)]
    by_language: dict[str, list[str]] = {language: [] for language in PASSAGE_CHARACTERS}
    for text in dict.fromkeys(texts):
        language = detect(text)
        if language in by_language:
            by_language[language].append(text)
    return {
        language: list(_joined(found, PASSAGE_CHARACTERS[language]))[:PASSAGES]
        for language, found in by_language.items()
    }


def _paragraphs(root: Path) -> Iterator[str]:
    for path in _files(root, PROSE):
        for paragraph in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
            if len(paragraph) >= LEAST_CHARACTERS:
                yield " ".join(paragraph.split())


def _strings(root: Path) -> Iterator[str]:
    for path in _files(root, CODE):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = " ".join(node.value.split())
                if len(text) >= LEAST_CHARACTERS or (len(text) >= LEAST_CHARACTERS // 2 and not text.isascii()):
                    yield text


def _files(root: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in root.glob(pattern)})


def _joined(texts: Iterable[str], characters: int) -> Iterator[str]:
    """Texts one after the other, in passages of about that length."""
    waiting: list[str] = []
    for text in texts:
        waiting.append(text)
        if sum(map(len, waiting)) >= characters:
            yield " ".join(waiting)[: 2 * characters]
            waiting = []
    if waiting:
        yield " ".join(waiting)[: 2 * characters]


if __name__ == "__main__":
    sys.exit(main())
