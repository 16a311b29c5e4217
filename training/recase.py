"""Give texts that were stored in lower case and cut into words their usual look again.

    python -m training.recase WORK

One source came as "who was the mayor of -lrb- old -rrb- orin ?", others ask in lower case. A model that reads them so
learns that "orin" is no name. Words get the case that they mostly have inside the sentences of the other encyclopaedic
passages; longer words that none of those has are taken for names. Writes data.npz anew; a second time changes nothing
that matters.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from training.pack import PASSAGE_TOKENS, QUESTION_TOKENS
from training.ragged import Ragged, load, save
from training.texts import QuickTokenizer

SEED = 3
LOWERED = ("squad1.1",)
"""Sources whose passages and questions are in lower case throughout."""
ASKED_LOWER = ("boolq", "enwiki-lead")
"""Sources whose questions alone are."""
MODELS = ("boolq", "adversarialqa", "hybridqa", "enwiki-lead")
"""Sources whose passages show how words are written."""
SHARE = 0.6
"""Of the questions in lower case so many are changed: people ask so too."""
NAME_LETTERS = 4
"""A word of so many letters that no other passage has is likely a name."""
EDGES = ".,;:()[]\"'“”!?"
_BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}


class Recaser:
    """Words and how they are written inside sentences."""

    def __init__(self, passages: Iterable[str]) -> None:
        seen: dict[str, Counter[str]] = defaultdict(Counter)
        for passage in passages:
            words = passage.split()
            for before, word in itertools.pairwise(words):
                core = word.strip(EDGES)
                if core and before[-1] not in '.!?:;"':
                    seen[core.lower()][core] += 1
        self._written = {word: forms.most_common(1)[0][0] for word, forms in seen.items()}

    def recase(self, text: str) -> str:
        """The text as it is usually written: "when was orin built ?" -> "When was Orin built?"."""
        out, first = [], True
        for word in joined(text).split():
            core = word.strip(EDGES)
            form = self._written.get(core.lower())
            if form is None and len(core) >= NAME_LETTERS and core.isalpha():
                form = core.capitalize()
            new = word.replace(core, form, 1) if core and form else word
            out.append(new[:1].upper() + new[1:] if first else new)
            first = new[-1] in ".!?"
        return " ".join(out)


def joined(text: str) -> str:
    """Brackets, quotation marks and what stands at a word without a space: "-lrb- a , b -rrb-" -> "(a, b)"."""
    for mark, bracket in _BRACKETS.items():
        text = text.replace(mark, bracket)
    text = re.sub(r"(?<!\S)(``|'')(?!\S)", '"', text)
    text = re.sub(r"\s+([.,;:!?%)\]])", r"\1", text)
    text = re.sub(r"([(\[$£])\s+", r"\1", text)
    text = re.sub(r"\s+('s|'re|'ve|'ll|'d|'m|n't|')(?=\s|$|[.,])", r"\1", text)
    return re.sub(r'" ([^"]*?) "', r'"\1"', text)


def recase_data(data: dict[str, Any], pieces: list[str], tokenizer: QuickTokenizer) -> dict[str, int]:
    """Change passages and questions in `data` itself; how many of each."""
    names = [str(name) for name in data["source_names"]]

    def of(*parts: str) -> Any:
        return np.array([any(part in name for part in parts) for name in names])[data["source"]]

    def text(ids: Any) -> str:
        return "".join(pieces[piece] for piece in ids).replace("▁", " ").strip()

    lowered, models = of(*LOWERED), of(*MODELS)
    passages, questions, judged = (list(data[name]) for name in ("passages", "questions", "judged_questions"))
    recaser = Recaser(text(passages[row]) for row in np.unique(data["positive"][models]))
    changed = np.unique(data["positive"][lowered]).tolist()
    chosen = np.random.default_rng(SEED).random(len(lowered)) < SHARE
    asked = np.flatnonzero(lowered | (of(*ASKED_LOWER) & chosen)).tolist()
    of_changed = set(changed)
    told = [row for row, passage in enumerate(data["judged_passage"].tolist()) if passage in of_changed]
    for rows, texts, limit in (
        (changed, passages, PASSAGE_TOKENS), (asked, questions, QUESTION_TOKENS), (told, judged, QUESTION_TOKENS)
    ):  # fmt: skip
        new = tokenizer.many((recaser.recase(text(texts[row])) for row in rows), limit=limit)
        for row, ids in zip(rows, new, strict=True):
            texts[row] = np.array(ids)
    data["passages"], data["questions"] = Ragged.join(passages), Ragged.join(questions)
    data["judged_questions"] = Ragged.join(judged)
    return {"passages": len(changed), "questions": len(asked), "judged questions": len(told)}


def main(work: Path) -> None:
    """Write data.npz anew."""
    data = load(work / "data.npz")
    pieces = (work / "pieces.txt").read_bytes().decode("utf-8").split("\n")
    tokenizer = QuickTokenizer(pieces, np.load(work / "scores.npy").tolist(), unknown_id=3)
    print(recase_data(data, pieces, tokenizer))
    save(work / "data.npz", data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
