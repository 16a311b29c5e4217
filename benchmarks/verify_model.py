"""What the package's own model says of the cases that the judge is fitted to and measured on."""

from __future__ import annotations

import json
import pickle
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.verify_cases import FOUND, Case, kept_cases
from benchmarks.verify_sample import sample_cases
from hybridrag.models.own_reranker import OwnReranker, passage_text

READ = {
    "nomiracl_en": 200,
    "nomiracl_ja": 200,
    "squad2_1000": 400,
    "split_jsquad_valid": 250,
    "split_2wikimultihopqa": 298,
    "split_jemhopqa_train": 300,
    "split_musique_train200": 200,
    "split_hotpotqa_train100": 100,
    "corrected_jemhopqa_train": 200,
    "corrected_musique_train200": 200,
    "corrected_hotpotqa_train100": 100,
    "split_squad2_dev": 100,
    "split_niilc_dev": 100,
    "sample": 128,
}
"""Cases of each set that the model reads: all would take an hour on two cores."""

TAUGHT = ("nomiracl_en", "nomiracl_ja", "squad2_1000", "split_niilc_dev")
"""What `base` was taught (`training.labelled`): of these only what models say counts that did not see the fold."""

KEPT = ".model.pkl"
"""How the file ends that also has the sample and what the model reads."""
KEPT_BASE = ".base.pkl"
"""How the file ends that has what the larger size reads."""

TAUGHT_READS = Path(__file__).with_name("taught_reads.npz")
"""What models say of what `base` was taught, each without the folds in question: of the `base` that ships."""

Key = tuple[str, str, int]
Reads = list[tuple[float, float]]
"""`fit` and `holds` of each candidate."""


def kept_model_cases(file: Path | None, data: Path, train: Path | None, sample: Path) -> list[Case]:
    """The cases of the sets and of the sample, some read by the model; kept beside `file`, where it is given."""
    # Either file may be named: read as the other, the one with the sample would get the sample twice.
    file = None if file is None else file.with_name(file.name.removesuffix(KEPT).removesuffix(".pkl") + ".pkl")
    kept = None if file is None else file.with_suffix(KEPT)
    if kept is not None and kept.is_file():
        return read_kept_cases(kept)
    cases = [*kept_cases(file, data, train), *sample_cases(sample)]
    model = OwnReranker()
    for case in chosen(cases):
        read_with(model, case)
    if kept is not None:
        kept.write_bytes(pickle.dumps(cases))
    return cases


def read_kept_cases(file: Path) -> list[Case]:
    """What `kept_model_cases` wrote."""
    return list(pickle.loads(file.read_bytes()))  # noqa: S301 (written on this machine)


def kept_base_reads(file: Path | None, cases: Sequence[Case]) -> dict[Key, Reads]:
    """What the larger size of the model says of the cases that it was not taught; kept beside `file`, where given."""
    stem = None if file is None else file.name.removesuffix(KEPT).removesuffix(".pkl")
    kept = None if file is None else file.with_name(f"{stem}{KEPT_BASE}")
    if kept is not None and kept.is_file():
        return dict(pickle.loads(kept.read_bytes()))  # noqa: S301 (written below, on this machine)
    model = OwnReranker(size="base")
    read = {
        key_of(case): model.logits(case.question.text, [passage_text(candidate) for candidate in case.candidates])
        for case in chosen(cases)
        if case.source not in TAUGHT
    }
    if kept is not None:
        kept.write_bytes(pickle.dumps(read))
    return read


def read_taught(file: Path, cases: Iterable[Case]) -> list[list[dict[Key, Reads]]]:
    """What `training.labelled` wrote of the cases that were taught: by deal, by the fold that is held back."""
    with np.load(file, allow_pickle=False) as kept:
        reads, starts, digests = kept["reads"].astype(np.float64), kept["starts"].tolist(), kept["keys"].tolist()
    parts = {digest: slice(start, end) for digest, (start, end) in zip(digests, pairwise(starts), strict=True)}
    taught = {key_of(case): parts.get(digest_of(case)) for case in cases if case.source in TAUGHT}
    return [
        [{key: [(a, b) for a, b in said[part].tolist()] for key, part in taught.items() if part} for said in deal]
        for deal in reads
    ]


def digest_of(case: Case) -> str:
    """Tells a case without any of its text: what models said of it can lie in the repository, the case cannot."""
    texts = [passage_text(candidate) for candidate in case.candidates[:FOUND]]
    return blake2b(json.dumps([case.source, case.question.text, texts]).encode(), digest_size=8).hexdigest()


def key_of(case: Case) -> Key:
    """What tells a case from all others."""
    return case.source, case.question.text, len(case.candidates)


def chosen(cases: Sequence[Case]) -> Iterator[Case]:
    """Those that the model reads; the same each time."""
    by_source: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_source[case.source].append(case)
    for source, count in READ.items():
        here = by_source[source]
        yield from random.Random(11).sample(here, min(count, len(here)))


def read_with(model: OwnReranker, case: Case) -> None:
    """Put the model's two answers into the scores of the candidates, as the pipeline does."""
    case.candidates = case.candidates[:FOUND]
    answers = model.logits(case.question.text, [passage_text(candidate) for candidate in case.candidates])
    case.candidates = [
        replace(candidate, scores={**candidate.scores, "fit": fit, "holds": holds})
        for candidate, (fit, holds) in zip(case.candidates, answers, strict=True)
    ]
