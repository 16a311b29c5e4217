"""Turn texts and base weights into two small files that travel to the machine that trains.

python -m training.pack DATA WORK

data.npz      questions, passages and labels as ids
weights.npz   the base weights with the cut vocabulary, 4 bits a weight as they came
pieces.txt    the cut vocabulary
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hybridrag.models.e5_weights import BLOCK_BYTES, FLOAT32, MODEL, NIBBLE_ZERO, E5Weights
from hybridrag.models.prefixes import prefixes_of
from hybridrag.models.unigram import save_vocabulary
from training.ragged import Ragged, save
from training.swap import swap
from training.texts import JUDGE, PAIRS, PASSAGES, QuickTokenizer, read_rows, squash
from training.vocabulary import KEPT_FILE, base_weights

SEED = 7
PASSAGE_TOKENS = 256
"""The engine's chunks have up to 200 and a title."""
QUESTION_TOKENS = 64
LANGUAGES = ("en", "ja")
HELD_OUT = 50
"""One passage in so many, with its questions, is kept out of training for calibration."""
SWAPPED_SOURCES = ("squad1.1", "jsquad", "jaquad", "fairytaleqa", "en_adversarialqa", "en_iirc", "boolq", "covid-qa")
MAX_SWAPS = 70_000
LONG_ANSWER = 60
"""An answer of more characters is a sentence, which no other passage repeats word for word."""


@dataclass(slots=True)
class Judged:
    """Questions with one passage each, and whether it answers them."""

    questions: list[str] = field(default_factory=list)
    passages: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)

    def add(self, question: str, passage: int, label: int, *, swapped: bool) -> None:
        """One more."""
        self.questions.append(question)
        self.passages.append(passage)
        self.labels.append(label)
        self.kinds.append(int(swapped))


def pack_weights(weights: E5Weights, kept: Any) -> dict[str, Any]:
    """Every tensor, those of 4 bits as whole numbers with a scale per block; word vectors of the pieces that stay."""
    packed: dict[str, Any] = {}
    for name, tensor in weights.tensors.items():
        if tensor.kind == FLOAT32:
            packed[name] = weights.vector(name)
            continue
        blocks = weights.blocks(name)
        if name == "emb.word":
            blocks = blocks.reshape(weights.shape.vocabulary, -1, BLOCK_BYTES)[kept].reshape(-1, BLOCK_BYTES)
        packed[f"{name}.scale"] = np.ascontiguousarray(blocks[:, :2]).view("<f2").reshape(-1)
        nibbles = blocks[:, 2:]
        packed[name] = np.concatenate([nibbles & 0x0F, nibbles >> 4], axis=1).astype(np.int8) - NIBBLE_ZERO
    return packed


def swaps(questions: list[tuple[str, int, str, str]], texts: list[str]) -> Iterator[tuple[str, int]]:
    """Questions about something else than their passage: (question, passage)."""
    rng = random.Random(SEED)  # noqa: S311 (a fixed sample is wanted)
    rng.shuffle(questions)
    made = 0
    for question, passage, lang, source in questions:
        if not source.startswith(SWAPPED_SOURCES):
            continue
        changed = swap(question, texts[passage], lang=lang, rng=rng)
        if changed is not None:
            made += 1
            yield changed, passage
        if made == MAX_SWAPS:
            return


def pack_data(data: Path, tokenizer: QuickTokenizer) -> dict[str, Any]:
    """The training rows as arrays."""
    passages = list(read_rows(data, PASSAGES))
    pairs = list(read_rows(data, PAIRS))
    texts = [row["t"] for row in passages]
    judged = Judged()
    askable = [(row["q"], row["pos"], row["lang"], row["src"]) for row in pairs]
    for row in read_rows(data, JUDGE):
        judged.add(row["q"], row["p"], row["y"], swapped=False)
        if row["y"]:
            askable.append((row["q"], row["p"], row["lang"], row["src"]))
    for question, passage in swaps(askable, texts):
        judged.add(question, passage, 0, swapped=True)
    answers = [row["a"] or "" for row in pairs]
    sources = sorted({row["src"] for row in pairs})
    prefixes = prefixes_of(MODEL)
    before_query, before_passage = tokenizer.many([prefixes.query, prefixes.passage])
    return {
        "query_prefix": np.array(before_query, dtype=np.int64),
        "passage_prefix": np.array(before_passage, dtype=np.int64),
        "passages": Ragged.join(tokenizer.many(texts, limit=PASSAGE_TOKENS)),
        "passage_lang": np.array([LANGUAGES.index(row["l"]) for row in passages], dtype=np.uint8),
        "questions": Ragged.join(tokenizer.many((row["q"] for row in pairs), limit=QUESTION_TOKENS)),
        "positive": np.array([row["pos"] for row in pairs], dtype=np.int32),
        "negatives": Ragged.join((row["neg"] for row in pairs), np.int32),
        "lang": np.array([LANGUAGES.index(row["lang"]) for row in pairs], dtype=np.uint8),
        "source_names": np.array(sources),
        "source": np.array([sources.index(row["src"]) for row in pairs], dtype=np.uint8),
        "answers": Ragged.of_texts(squash(a) if len(a) <= LONG_ANSWER else "" for a in answers),
        "judged_questions": Ragged.join(tokenizer.many(judged.questions, limit=QUESTION_TOKENS)),
        "judged_passage": np.array(judged.passages, dtype=np.int32),
        "judged_label": np.array(judged.labels, dtype=np.uint8),
        "judged_swapped": np.array(judged.kinds, dtype=np.uint8),
    }


def main(data: Path, work: Path) -> None:
    """Write the three files."""
    weights = base_weights()
    kept = np.load(work / KEPT_FILE)
    pieces, scores = [weights.pieces[old] for old in kept], weights.scores[kept]
    save_vocabulary(work, pieces, scores)
    save(work / "weights.npz", pack_weights(weights, kept))
    tokenizer = QuickTokenizer(pieces, scores.tolist(), unknown_id=weights.shape.unknown_id)
    arrays = pack_data(data, tokenizer)
    save(work / "data.npz", arrays)
    print({name: len(value) for name, value in arrays.items()})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
