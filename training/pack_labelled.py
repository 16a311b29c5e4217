"""Turn sets of passages that people judged into ids, and deal them into folds.

    python -m training.pack_labelled CASES WORK

CASES is the file that `benchmarks.verify --cases` keeps. WORK gets labelled.npz, without any text; folds are those of
`benchmarks.verify`, so that it can judge with what was learnt without a fold.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from benchmarks.verify_cases import FOUND, Case
from benchmarks.verify_fit import FOLDS, Told, dealt, group_of, rows_of, told_apart
from benchmarks.verify_model import TAUGHT, digest_of, key_of, read_kept_cases
from benchmarks.verify_own import OWN

from hybridrag.models.clean_text import replace_halves
from hybridrag.models.own_reranker import FOLDER, PASSAGE_TOKENS, QUESTION_TOKENS, passage_text
from training.ragged import Ragged, save
from training.texts import QuickTokenizer

READ = (*OWN, "split_jsquad_valid")
"""What is read: all that a fit to a set's own questions is measured on, and one more to look at."""
JAPANESE = frozenset(("nomiracl_ja", "split_niilc_dev", "split_jsquad_valid"))
DEALS = 6


def main(file: Path, work: Path) -> None:
    """Write labelled.npz."""
    cases = read_kept_cases(file)
    told = told_apart(rows_of(cases))
    read = {key_of(one.row.case) for one in told}
    chosen = [case for case in cases if case.source in TAUGHT or (case.source in READ and key_of(case) in read)]
    tokenizer = QuickTokenizer(
        (FOLDER / "pieces.txt").read_bytes().decode("utf-8").split("\n"),
        np.load(FOLDER / "scores.npy").tolist(),
        unknown_id=3,
    )
    texts = [[replace_halves(passage_text(found)) for found in case.candidates[:FOUND]] for case in chosen]
    places = {text: place for place, text in enumerate(dict.fromkeys(text for some in texts for text in some))}
    asked = [replace_halves(case.question.text) for case in chosen]
    sources = sorted({case.source for case in chosen})
    arrays = {
        "keys": np.array([digest_of(case) for case in chosen]),
        "questions": Ragged.join(tokenizer.many(asked, limit=QUESTION_TOKENS)),
        "passages": Ragged.join(tokenizer.many(list(places), limit=PASSAGE_TOKENS)),
        "sets": Ragged.join([[places[text] for text in some] for some in texts], np.int32),
        "label": np.array([bool(case.sufficient) for case in chosen], dtype=np.uint8),
        "source": np.array([sources.index(case.source) for case in chosen], dtype=np.uint8),
        "source_names": np.array(sources),
        "taught": np.array([case.source in TAUGHT for case in chosen], dtype=np.uint8),
        "japanese": np.array([case.source in JAPANESE for case in chosen], dtype=np.uint8),
        "folds": np.array([_folds(chosen, told, seed) for seed in range(DEALS)], dtype=np.uint8),
    }
    save(work / "labelled.npz", arrays)
    print(Counter(case.source for case in chosen), f"{len(places)} passages")


def _folds(cases: Sequence[Case], told: Sequence[Told], seed: int) -> list[int]:
    """As `dealt` deals them; those that it does not know go with their document, or anywhere."""
    rng = np.random.default_rng(seed)
    folds = {group_of(one.row.case): one.row.fold for one in dealt(told, seed)}
    return [folds.setdefault(group_of(case), int(rng.integers(FOLDS))) for case in cases]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
