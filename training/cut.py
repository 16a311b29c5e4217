"""Take sentences out of passages, so that more is learnt from the same texts.

    python -m training.cut WORK

- A passage without the sentence that answers is about the same thing and does not answer; without another sentence it
  still does. A judge that tells these two apart reads, and does not only recognise the topic.
- A sentence of a paper or of a manual is a claim, and the rest of its passage is what bears on it.

Written as ranges of tokens (cuts.npz): cut k is passage `passage[k]` less its tokens from `start[k]` to `end[k]`. Also
says where in its passage the answer of a pair stands.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import math
import random
import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from training.ragged import Ragged, load, save

SEED = 7
NONE = -1
SHORTEST_SENTENCE = 6
"""Tokens; what is shorter belongs to the sentence before it."""
TITLE_TOKENS = 14
"""A title before the text ends with a colon within so many; it is never cut."""
CLAIM_TOKENS = (7, 48)
STATED = 0.15
"""Share of claims that stay in their passage word for word."""
CLEAR = 1.3
"""The sentence that shares most with the question must lead by so much to be taken for the one that answers."""
LEAST_SHARED = 0.3
"""And share at least this part of the question's rare words."""
BY_WORDS = (
    "adversarialqa",
    "fairytaleqa",
    "covid-qa",
    "boolq",
    "hybridqa",
    "policyqa",
    "pubmedqa",
    "mocha",
    "squad1.1",
)
"""Sources without answer strings whose questions repeat words of the sentence that answers."""
CLAIMS = {
    "pubmedqa": 4, "covid-qa": 3, "qasper": 2, "medquad": 1, "expertqa": 1, "covid-faq": 1, "ms365": 2, "winserver": 2,
    "powerbi": 2, "dynamics": 2, "memdocs": 2, "mdn": 2, "k8s": 2, "sql-docs": 1, "github-docs": 1, "cloudflare": 1,
    "docker": 1, "win-itpro": 1, "powershell": 1, "dolly-ja": 1, "aio": 1, "boolq": 1,
}  # fmt: skip
"""Sources whose sentences become claims, and how many of a passage."""
_CONCLUDES = re.compile(
    r"conclu|suggest|show|demonstrat|associat|increas|decreas|reduc|significan|found|effect|risk|induc|inhibit|requir"
)


@dataclass(slots=True)
class Cuts:
    """Ranges of tokens that are taken out of passages."""

    passage: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)

    def add(self, passage: int, span: tuple[int, int]) -> int:
        """The number of a new one."""
        self.passage.append(passage)
        self.start.append(span[0])
        self.end.append(span[1])
        return len(self.passage) - 1


class Reader:
    """Passages of ids as sentences and as plain text."""

    def __init__(self, passages: Ragged, pieces: Sequence[str]) -> None:
        self._passages = passages
        self.plain = [piece.replace("▁", "").casefold() for piece in pieces]
        self._opens = np.array([piece.startswith("▁") for piece in pieces])
        self._ends = np.array([piece.endswith(("。", "！", "？", "．")) for piece in pieces])
        self._may_end = np.array([piece.endswith((".", "!", "?")) for piece in pieces])
        self._colon = np.array([piece in {":", "：", "▁:"} for piece in pieces])
        names = {text: place for place, text in enumerate(dict.fromkeys(self.plain))}
        self.folded = np.array([names[text] for text in self.plain])
        """Pieces that differ in case or in being at the start of a word only are one."""
        self.rarity = self._rarity(len(names))

    def _rarity(self, size: int) -> Any:
        held = np.zeros(size, dtype=np.int64)
        for row in range(len(self._passages)):
            held[np.unique(self.folded[self._passages[row]])] += 1
        return np.log((1 + len(self._passages)) / (1 + held))

    def sentences(self, row: int) -> list[tuple[int, int]]:
        """Ranges of tokens, the title left out.

        "Vue: A. B." -> "A." and "B."
        """
        ids = self._passages[row]
        colon = np.flatnonzero(self._colon[ids[:TITLE_TOKENS]])
        first = int(colon[0]) + 1 if len(colon) else 0
        follows = np.append(self._opens[ids[1:]], True) if len(ids) else np.zeros(0, dtype=bool)
        ends = np.flatnonzero(self._ends[ids] | (self._may_end[ids] & follows)) + 1
        found: list[tuple[int, int]] = []
        for end in [*ends.tolist(), len(ids)]:
            start = found[-1][1] if found else first
            if end - start >= SHORTEST_SENTENCE:
                found.append((start, end))
            elif found and end > start:
                found[-1] = (found[-1][0], end)
        return found

    def find(self, row: int, answer: str) -> list[tuple[int, int]]:
        """Where an answer stands, as ranges of tokens."""
        texts = [self.plain[piece] for piece in self._passages[row].tolist()]
        whole, offsets = "".join(texts), [0, *accumulate(map(len, texts))]
        places = [match.start() for match in re.finditer(re.escape(answer), whole)]
        return [(bisect_right(offsets, place) - 1, bisect_right(offsets, place + len(answer) - 1)) for place in places]

    def shared(self, question: Any, row: int, spans: Sequence[tuple[int, int]]) -> list[float]:
        """What part of a question's rare words each sentence has."""
        asked = np.unique(self.folded[question])
        total = float(self.rarity[asked].sum()) or math.inf
        told = self.folded[self._passages[row]]
        return [float(self.rarity[np.intersect1d(asked, told[start:end])].sum()) / total for start, end in spans]


def answering(
    reader: Reader, question: Any, row: int, spans: Sequence[tuple[int, int]], found: Sequence[tuple[int, int]]
) -> tuple[list[int], list[float]]:
    """Which sentences answer (none where that is not clear), and what each shares with the question."""
    shares = reader.shared(question, row, spans)
    if found:
        within = {place for place, (start, end) in enumerate(spans) for a, b in found if a < end and b > start}
        return sorted(within), shares
    order = sorted(range(len(spans)), key=lambda place: -shares[place])
    clear = shares[order[0]] >= LEAST_SHARED and shares[order[0]] >= CLEAR * shares[order[1]]
    return (order[:1] if clear else []), shares


def cut_pairs(data: dict[str, Any], reader: Reader, sources: Sequence[str], cuts: Cuts) -> dict[str, Any]:
    """For every pair: its passage without the answer, without something else, and where the answer stands."""
    rng = random.Random(SEED)  # noqa: S311 (a fixed sample is wanted)
    count = len(data["positive"])
    found = {name: np.full(count, NONE, dtype=np.int32) for name in ("gutted", "trimmed", "span_start", "span_end")}
    for pair in range(count):
        row, answer = int(data["positive"][pair]), data["answers"].text(pair)
        places = reader.find(row, answer) if len(answer) > 1 or answer.isdigit() else []
        if places:
            found["span_start"][pair], found["span_end"][pair] = places[0][0], places[0][1] - 1
        spans = reader.sentences(row)
        if len(spans) < 3 or not (places or sources[data["source"][pair]].startswith(BY_WORDS)):
            continue
        right, shares = answering(reader, data["questions"][pair], row, spans, places)
        if len(right) != 1:
            continue
        found["gutted"][pair] = cuts.add(row, spans[right[0]])
        others = sorted((place for place in range(len(spans)) if place != right[0]), key=lambda place: shares[place])
        found["trimmed"][pair] = cuts.add(row, spans[rng.choice(others[: max(1, len(others) * 2 // 3)])])
    return found


def cut_claims(data: dict[str, Any], reader: Reader, sources: Sequence[str], cuts: Cuts) -> dict[str, Any]:
    """Sentences as questions, with what is left of their passages."""
    rng = random.Random(SEED)  # noqa: S311 (a fixed sample is wanted)
    wanted: dict[int, int] = {}
    for pair in range(len(data["positive"])):
        name = sources[data["source"][pair]]
        most = next((number for start, number in CLAIMS.items() if name.startswith(start)), 0)
        row = int(data["positive"][pair])
        wanted[row] = max(wanted.get(row, 0), most)
    rows: list[tuple[int, int, int, int]] = []
    for row, most in wanted.items():
        spans = reader.sentences(row) if most else []
        fit = [span for span in spans if CLAIM_TOKENS[0] <= span[1] - span[0] <= CLAIM_TOKENS[1]]
        if len(spans) < 2:
            continue
        for span in sorted(fit, key=lambda span: -_claim_worth(reader, data["passages"][row], span, rng))[:most]:
            kept = rng.random() < STATED
            rows.append((row, *span, NONE if kept else cuts.add(row, span)))
    table = np.array(rows, dtype=np.int32).reshape(-1, 4)
    return {f"claim_{name}": table[:, place] for place, name in enumerate(("passage", "start", "end", "cut"))}


def _claim_worth(reader: Reader, passage: Any, span: tuple[int, int], rng: random.Random) -> float:
    """Sentences that conclude first; the opening one, which says what it is about, is a little likelier too."""
    text = " ".join(reader.plain[piece] for piece in passage[span[0] : span[1]].tolist())
    return len(_CONCLUDES.findall(text.replace(" ", ""))) + (0.5 if span[0] == 0 else 0.0) + rng.random()


def main(work: Path) -> None:
    """Write cuts.npz."""
    data = load(work / "data.npz")
    pieces = (work / "pieces.txt").read_bytes().decode("utf-8").split("\n")
    sources = data["source_names"].tolist()
    reader, cuts = Reader(data["passages"], pieces), Cuts()
    arrays = {**cut_pairs(data, reader, sources, cuts), **cut_claims(data, reader, sources, cuts)}
    ranges = {"passage": np.int32, "start": np.uint16, "end": np.uint16}
    arrays |= {name: np.array(getattr(cuts, name), dtype=kind) for name, kind in ranges.items()}
    save(work / "cuts.npz", arrays)
    known = {name: int((arrays[name] >= 0).sum()) for name in ("gutted", "trimmed", "span_start")}
    print({**known, "claims": len(arrays["claim_cut"])})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
