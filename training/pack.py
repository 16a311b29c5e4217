"""Turn the training texts into ids once, so that a machine that teaches needs torch and numpy alone.

    python -m training.pack DATA CASES FOLDER OUT

CASES is what `training.folders` wrote, FOLDER has the vocabulary (src/hybridrag/models/data/reranker). Every question
of DATA is given the passages that plain BM25 over its pieces finds and that do not hold the answer: what a search would
bring beside the right one. OUT gets lessons.npz, folders.npz, and start.npz with the layers of multilingual-e5-small.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridrag.models.align_text import normalise
from hybridrag.models.own_reranker import QUESTION_TOKENS, UNKNOWN_ID
from hybridrag.models.token_vectors import E5_PROJECTION_FILE
from hybridrag.models.unigram import WORD_START
from training.folders import is_held_out
from training.ragged import Ragged, save
from training.read_back import base_names
from training.texts import JUDGE, PAIRS, PARALLEL, SEED, QuickTokenizer, read_passages, read_rows, read_written, squash
from training.vocabulary import base_weights

PAIRS_KEPT, JUDGED_KEPT = 40_000, 12_000
"""Rows that are packed, drawn once: more than a short training reads would only make the files larger."""
MINED = 5
"""Passages that are found for a question, at most."""
LONGEST_ANSWER = 60
"""Tokens: a longer one is a whole passage, and says nothing of where."""
K1, B = 0.9, 0.4
COMMON = 0.05
"""A piece in more of the passages than this share is not looked for."""
NOWHERE = -1


class Search:
    """BM25 over pieces."""

    def __init__(self, texts: Ragged) -> None:
        owner = np.repeat(np.arange(len(texts)), texts.lengths)
        keys, counts = np.unique(texts.values.astype(np.int64) * len(texts) + owner, return_counts=True)
        terms, self._docs = keys // len(texts), keys % len(texts)
        self._starts = np.searchsorted(terms, np.arange(terms.max() + 2))
        frequency = np.diff(self._starts)
        self._idf = np.log1p((len(texts) - frequency + 0.5) / (frequency + 0.5))
        self._idf[frequency > COMMON * len(texts)] = 0
        length = texts.lengths / texts.lengths.mean()
        self._gain = counts * (K1 + 1) / (counts + K1 * (1 - B + B * length[self._docs]))
        self._size = len(texts)

    def best(self, question: Sequence[int], count: int) -> list[int]:
        """The passages with the highest scores, best first."""
        total = np.zeros(self._size, dtype=np.float32)
        for piece in set(question):
            if piece < len(self._idf) and self._idf[piece] > 0:
                part = slice(self._starts[piece], self._starts[piece + 1])
                total[self._docs[part]] += self._idf[piece] * self._gain[part]
        near = np.argpartition(-total, count)[:count]
        return [int(n) for n in near[np.argsort(-total[near])] if total[n] > 0]


def _letters(text: str) -> tuple[str, list[int], str]:
    """A text as it is cut into pieces, where its letters stand in that, and the letters alone."""
    marked = " ".join(WORD_START + word for word in normalise(text).split())
    letters = [at for at, letter in enumerate(marked) if letter not in (WORD_START, " ")]
    return marked, letters, "".join(marked[at] for at in letters)


class Packer:
    """Questions and passages as ids, answers as places in them."""

    def __init__(self, data: Path, folder: Path) -> None:
        pieces = (folder / "pieces.txt").read_bytes().decode("utf-8").split("\n")
        scores = np.load(folder / "scores.npy", allow_pickle=False).tolist()
        self.quick = QuickTokenizer(pieces[: len(scores)], scores, unknown_id=UNKNOWN_ID)
        self.texts = read_passages(data)

    def mine(self) -> None:
        """Make the passages ready to be searched."""
        self.squashed = [squash(text) for text in self.texts]
        self.passages = Ragged.join(self.quick.many(self.texts))
        self.search = Search(self.passages)
        print(len(self.passages.values), "tokens", flush=True)

    def questions(self, texts: Iterable[str]) -> Ragged:
        """The ids of questions."""
        return Ragged.join(self.quick.many(texts, limit=QUESTION_TOKENS))

    def spans(self, asked: Sequence[tuple[int, str]]) -> NDArray[np.int16]:
        """For (passage, answer) the first and last token, or -1 and -1."""
        found = np.full((len(asked), 2), NOWHERE, dtype=np.int16)
        by_passage: dict[int, list[int]] = defaultdict(list)
        for at, (passage, answer) in enumerate(asked):
            if answer:
                by_passage[passage].append(at)
        for passage, places in by_passage.items():
            marked, letters, bare = _letters(self.texts[passage])
            offsets = self.quick.offsets(marked)
            starts, ends = (np.array(side) for side in zip(*offsets, strict=True)) if offsets else ((), ())
            for at in places:
                wanted = "".join(normalise(asked[at][1]).split())
                place = bare.find(wanted)
                if place < 0 or not wanted:
                    continue
                inside = np.flatnonzero((starts <= letters[place + len(wanted) - 1]) & (ends > letters[place]))
                if len(inside) and inside[-1] - inside[0] < LONGEST_ANSWER:
                    found[at] = inside[0], inside[-1]
        return found

    def span_at(self, text: str, answer: str | None, start: int) -> tuple[int, int]:
        """The first and last token of an answer that stands at a known place, or -1 and -1."""
        if answer is None or start < 0:
            return NOWHERE, NOWHERE
        marked, letters, bare = _letters(text)
        wanted = "".join(normalise(answer).split())
        near = len("".join(normalise(text[:start]).split()))
        place = bare.find(wanted, max(0, near - 2))
        if place < 0 or not wanted:
            return NOWHERE, NOWHERE
        first, last = letters[place], letters[place + len(wanted) - 1]
        inside = [n for n, (at, end) in enumerate(self.quick.offsets(marked)) if at <= last and end > first]
        return (inside[0], inside[-1]) if inside else (NOWHERE, NOWHERE)

    def mined(self, questions: Ragged, rows: Sequence[tuple[int, str]], given: Sequence[Sequence[int]]) -> Ragged:
        """Passages that go with a question and do not answer it: those that are given, then those that are found."""
        found = []
        for at, (passage, answer) in enumerate(rows):
            wanted = squash(answer)
            others = [*given[at], *self.search.best(questions[at].tolist(), MINED + 2)]
            kept = [n for n in dict.fromkeys(others) if n != passage and self.texts[n]]
            found.append([n for n in kept if not wanted or wanted not in self.squashed[n]][:MINED])
        return Ragged.join(found, np.uint32)


QUERY, PASSAGE = "query: ", "passage: "
"""What the embedder is given before a text."""
UNANSWERED, ANSWERED, SEVERAL = 0, 1, 2
"""Kinds of questions to folders: the last rests on several passages, none of which answers by itself."""


def pack_folders(cases: Path, packer: Packer) -> dict[str, Any]:
    """The questions to folders, each with its passages in order, the one that answers first."""
    rows = [json.loads(line) for file in sorted(cases.glob("*.jsonl")) for line in file.open(encoding="utf-8")]
    rows = [row for row in rows if row["passages"] and (row["answer"] is None or row["rank"] >= 0)]
    texts = list(dict.fromkeys(one["text"] for row in rows for one in row["passages"]))
    places = {text: at for at, text in enumerate(texts)}
    kinds = [
        UNANSWERED if row["answer"] is None else SEVERAL if row["steps"] > 1 or row["kind"] == "relation" else ANSWERED
        for row in rows
    ]
    asked = [
        (row["passages"][0]["text"], row["answer"] if kind == ANSWERED else None, row["start"])
        for row, kind in zip(rows, kinds, strict=True)
    ]
    return {
        "passages": Ragged.join(packer.quick.many(texts)),
        "question": packer.questions(row["question"] for row in rows),
        "list": Ragged.join([[places[one["text"]] for one in row["passages"]] for row in rows]),
        "score": Ragged.join([[one["score"] for one in row["passages"]] for row in rows], np.float32),
        "rank": np.array([row["rank"] for row in rows], dtype=np.int16),
        "steps": np.array([row["steps"] for row in rows], dtype=np.int16),
        "span": np.array([packer.span_at(*one) for one in asked], dtype=np.int16),
        "kind": np.array(kinds, dtype=np.uint8),
        "type": np.array([row["kind"] for row in rows]),
        "held": np.array([is_held_out(row["folder"]) for row in rows]),
        "prefix.query": np.array(next(iter(packer.quick.many([QUERY])))),
        "prefix.passage": np.array(next(iter(packer.quick.many([PASSAGE])))),
    }


def pack_start() -> dict[str, Any]:
    """The untaught layers, matrices in 8 bits with a scale for each row, and the projection of token vectors."""
    weights = base_weights()
    shape = weights.shape
    found: dict[str, Any] = {"shape": np.array([shape.layers, shape.hidden, shape.heads, shape.feed_forward])}
    found["projection"] = np.load(E5_PROJECTION_FILE)[: shape.hidden].astype(np.float16)
    for name, key in base_names(shape.layers):
        if weights.tensors[key].kind == 0:
            found[name] = weights.vector(key)
            continue
        width = shape.feed_forward if name.endswith("fo.weight") else shape.hidden
        rows = weights.matrix(key, width)
        scale = np.abs(rows).max(axis=1, keepdims=True) / 127
        found[name], found[f"{name}/scale"] = np.rint(rows / scale).astype(np.int8), scale.astype(np.float32)
    return found


def only_used(arrays: dict[str, Any]) -> dict[str, Any]:
    """The same with no passage that nothing refers to, the others numbered anew."""
    singles = [name for name in arrays if name.endswith(".passage")]
    lists = [name for name in arrays if name.endswith(".near")]
    every = [arrays[name] for name in singles] + [arrays[name].values for name in lists]
    used, places = np.unique(np.concatenate(every), return_inverse=True)
    passages: Ragged = arrays["passages"]
    found = arrays | {"passages": Ragged.join([passages[int(at)] for at in used])}
    numbers = np.split(places.astype(np.uint32), np.cumsum([len(part) for part in every])[:-1])
    for name, part in zip([*singles, *lists], numbers, strict=True):
        found[name] = part if name in singles else Ragged(part, arrays[name].starts)
    return found


def main(data: Path, cases: Path, folder: Path, out: Path) -> None:
    """Write everything that a step is drawn from."""
    out.mkdir(parents=True, exist_ok=True)
    packer = Packer(data, folder)
    folders = pack_folders(cases, packer)
    save(out / "folders.npz", folders)
    np.savez_compressed(out / "start.npz", **pack_start())
    print(len(folders["kind"]), "questions to folders,", int(folders["held"].sum()), "held out", flush=True)
    if (out / "lessons.npz").exists():
        return  # made before; it does not depend on the folders
    packer.mine()
    written, held = read_written(data)
    hidden = {row["p"] for row in held}
    arrays: dict[str, Any] = {"passages": packer.passages}
    for name, rows in (("written", written), ("held", held)):
        asked = [(row["p"], row["a"]) for row in rows]
        yes = packer.questions(row["yes"] for row in rows)
        arrays |= {f"{name}.yes": yes, f"{name}.no": packer.questions(row["no"] for row in rows)}
        arrays |= {f"{name}.passage": np.array([row["p"] for row in rows], dtype=np.uint32)}
        arrays |= {f"{name}.span": packer.spans(asked)}
        arrays |= {f"{name}.kind": np.array([f"{row['ql']} on {row['pl']}" for row in rows])}
        arrays |= {f"{name}.near": packer.mined(yes, asked, [[] for _ in rows])}
    print(len(written), "written,", len(held), "held out", flush=True)
    rng = random.Random(SEED)
    pairs = [row for row in read_rows(data, PAIRS) if row["pos"] not in hidden]
    pairs = rng.sample(pairs, min(PAIRS_KEPT, len(pairs)))
    asked = [(row["pos"], row["a"] or "") for row in pairs]
    questions = packer.questions(row["q"] for row in pairs)
    arrays |= {"pairs.question": questions, "pairs.span": packer.spans(asked)}
    arrays |= {"pairs.passage": np.array([row["pos"] for row in pairs], dtype=np.uint32)}
    arrays |= {"pairs.near": packer.mined(questions, asked, [row["neg"][:MINED] for row in pairs])}
    print(len(pairs), "pairs", flush=True)
    judged = [row for row in read_rows(data, JUDGE) if row["p"] not in hidden]
    judged = rng.sample(judged, min(JUDGED_KEPT, len(judged)))
    arrays |= {"judged.question": packer.questions(row["q"] for row in judged)}
    arrays |= {"judged.passage": np.array([row["p"] for row in judged], dtype=np.uint32)}
    arrays |= {"judged.label": np.array([row["y"] for row in judged], dtype=np.uint8)}
    arrays |= {f"parallel.{side}": packer.questions(row[side] for row in read_rows(data, PARALLEL)) for side in "ab"}
    save(out / "lessons.npz", only_used(arrays))
    print(f"{(out / 'lessons.npz').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:5]))
