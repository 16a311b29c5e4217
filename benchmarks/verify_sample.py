"""The repository's own labelled questions as cases for the judge: `sample/eval` over the documents of `sample`.

What the engine hands to its judge is recorded, so a case is exactly what a user's question becomes.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.verify_cases import Case
from hybridrag import Engine, SearchOptions, SearchQuery
from hybridrag.config import load_settings
from hybridrag.language.normalise import normalise
from hybridrag.protocols import Candidate, Embedder, Judgement, Question
from hybridrag.result import Result
from hybridrag.types.results import SearchResult
from hybridrag.verify.judge import LocalJudge

LANGUAGES = ("en", "ja")

SHOWN = 10
"""Results of a search; as many are judged."""

EVIDENCE = 2
"""The grade of a document that an answer needs; 1 says it too."""


class _Recorder(LocalJudge):
    """Keeps what it is asked."""

    question = Question("")
    candidates: Sequence[Candidate] = ()

    def judge(
        self, question: Question, candidates: Sequence[Candidate], *, timeout: float | None = None
    ) -> Result[Judgement]:
        """As its parent."""
        self.question, self.candidates = question, candidates
        return super().judge(question, candidates, timeout=timeout)


def sample_cases(folder: Path, *, embedder: Embedder | None = None) -> list[Case]:
    """Every question of FOLDER/eval with what the engine finds in FOLDER/en and FOLDER/ja.

    A local or relationship question has its answer where every document of grade 2 is among the candidates and one of
    them says the answer word for word; a theme question where half of its themes are.
    """
    settings = load_settings(env={}, overrides={"graph.extractor": "light", "search.cache_size": 0}).settings
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "eval" / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        grades[query][document] = int(grade)
    lines = (folder / "eval" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    judge = _Recorder()
    with (
        tempfile.TemporaryDirectory() as index,
        Engine.open(Path(index) / "sample", settings=settings, embedder=embedder, judge=judge) as engine,
    ):
        for language in LANGUAGES:
            engine.add(folder / language)
        cases = []
        for row in map(json.loads, lines):
            options = SearchOptions(limit=SHOWN, crag_enabled=False)
            result = engine.search(SearchQuery(text=row["text"], options=options))
            documents = _documents(result, folder)
            cases.append(_case(row, judge, documents, grades[row["_id"]]))
    return cases


def _documents(result: SearchResult, folder: Path) -> dict[str, str]:
    """The id of each result -> its document's path below the folder."""
    root = folder.resolve()
    return {
        str(item.id): Path(item.sources.file_name).resolve().relative_to(root).as_posix()
        for item in result.results
        if item.sources.file_name
    }


def _case(row: Mapping[str, Any], judge: _Recorder, documents: Mapping[str, str], grades: Mapping[str, int]) -> Case:
    candidates = list(judge.candidates)
    relevant = [int(_bears(row, candidate, grades.get(documents.get(candidate.id, ""), 0))) for candidate in candidates]
    found = {documents[candidate.id] for candidate in candidates if candidate.id in documents}
    return Case(
        source="sample",
        language=row["language"],
        question=judge.question,
        candidates=candidates,
        sufficient=int(_suffices(row, candidates, found, grades)),
        relevant=None if row["type"] == "global" else relevant,
        expected=row["type"],
        group=row["_id"],
    )


def _bears(row: Mapping[str, Any], candidate: Candidate, grade: int) -> bool:
    """One fact stands in one passage; the other links of a chain are taken to be all of their documents."""
    return grade > 0 and _says(row, candidate) if row["type"] == "local" else grade >= EVIDENCE


def _says(row: Mapping[str, Any], candidate: Candidate) -> bool:
    return _letters(row["answer"]) in _letters(candidate.text)


def _letters(text: str) -> str:
    """Without what breaks lines."""
    return "".join(normalise(text).casefold().split())


def _suffices(
    row: Mapping[str, Any], candidates: Sequence[Candidate], found: set[str], grades: Mapping[str, int]
) -> bool:
    if row["type"] == "unanswerable":
        return False
    if row["type"] == "global":
        return sum(bool(found & set(theme)) for theme in row["themes"]) * 2 >= len(row["themes"])
    needed = {document for document, grade in grades.items() if grade >= EVIDENCE}
    said = any(_says(row, candidate) for candidate in candidates)
    return said and (row["type"] == "local" or needed <= found)
