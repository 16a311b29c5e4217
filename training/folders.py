"""Ask the written folders their questions, as the engine would, and keep what it finds as lessons.

    python -m training.folders SETS OUT

`folders.jsonl.xz` holds small invented folders of ordinary documents, each with questions that its documents answer and
questions that look alike and are answered nowhere in it. SETS gets them in the layout of `benchmarks.everyday`; OUT, a
file of one JSON a line for each folder, every question with the passages that the default search finds, the one that
answers first; what is there already is not asked again. One folder in five is held out, to measure and to calibrate.
"""

# ruff: noqa: T201 (a step says what it did)

from __future__ import annotations

import json
import lzma
import sys
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from hybridrag import Engine, SearchResultItem, SearchResultType, load_settings

WRITTEN = Path(__file__).with_name("folders.jsonl.xz")
HELD_SHARE = 5
"""One folder in so many is not taught."""
FOUND = 10
PLAIN = {".md", ".txt", ".csv", ".log", ".yaml", ".yml", ".ini", ".toml", ".json"}
"""Formats whose files hold their text as it is; anything else is written as plain text."""


@dataclass(frozen=True, slots=True)
class Passage:
    """What the reader would see of a chunk."""

    text: str
    file: str
    score: float


@dataclass(frozen=True, slots=True)
class Case:
    """A question and what was found for it."""

    folder: str
    id: str
    question: str
    kind: str
    answer: str | None
    passages: list[Passage]
    """The one that answers first, if there is one."""
    rank: int
    """Of that one in the search; -1 where it was not found, or there is none."""
    start: int = -1
    """Of the answer in the first passage."""
    steps: int = 1
    """Passages at the beginning that the answer rests on: several for a question over several documents."""


def read_folders() -> dict[str, list[dict[str, Any]]]:
    """The documents of each folder, and its questions over several of them in a last row."""
    found: dict[str, list[dict[str, Any]]] = {}
    with lzma.open(WRITTEN, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            found.setdefault(row["world"], []).append(row)
    return found


def is_held_out(folder: str) -> bool:
    """Whether nothing is taught from it."""
    return zlib.crc32(folder.encode("utf-8")) % HELD_SHARE == 0


def file_name(name: str) -> str:
    """Under which a document is written."""
    return name if PurePosixPath(name).suffix in PLAIN else f"{name}.txt"


def write_set(rows: list[dict[str, Any]], folder: Path) -> None:
    """One folder in the layout of `benchmarks.everyday`."""
    queries: list[dict[str, Any]] = []
    relevant: list[str] = []
    for row in rows:
        if "file" in row:
            path = folder / "corpus" / file_name(row["file"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(row["text"], encoding="utf-8")
        asked = [(one, [(row["file"], one["a"])] if one["a"] else []) for one in row.get("qs", ())]
        asked += [(one, [(s["file"], s["a"]) for s in one["steps"]]) for one in row.get("relations", ())]
        for one, steps in asked:
            name = f"q{len(queries):03}"
            kind = one.get("kind", "relation") if steps else "unanswerable"
            answer = [steps[-1][1]] if steps else []
            queries.append(
                {"_id": name, "text": one["q"], "type": kind, "answerable": bool(steps), "answer": answer}
                | {"language": one["ql"]}
            )
            relevant += [f"{name}\t{file_name(file)}\t2" for file, _ in dict.fromkeys(steps)]
    lines = (json.dumps(query, ensure_ascii=False) for query in queries)
    (folder / "queries.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "qrels.tsv").write_text("\n".join(relevant) + "\n", encoding="utf-8")


def ask_all(name: str, rows: list[dict[str, Any]], folder: Path) -> Iterator[Case]:
    """Every question of a folder with what the default search finds."""
    corpus = folder / "corpus"
    with Engine.open(folder / "index", settings=load_settings(env={}).settings) as engine:
        engine.sync(corpus)
        root = str(corpus.absolute())
        number = 0
        for row in rows:
            asked = [(one, [(row["file"], one["a"])] if one["a"] else []) for one in row.get("qs", ())]
            asked += [(one, [(s["file"], s["a"]) for s in one["steps"]]) for one in row.get("relations", ())]
            for one, steps in asked:
                result = engine.search(one["q"], limit=FOUND)
                items = [item for item in result.results if item.type is SearchResultType.CHUNK]
                found = [_passage(item, root) for item in items]
                kind = one.get("kind", "relation") if steps else "unanswerable"
                yield _case(name, f"q{number:03}", one["q"], kind, steps, found)
                number += 1


def _passage(item: SearchResultItem, root: str) -> Passage:
    title = str((item.metadata or {}).get("title") or "")
    opening = item.content.text.lstrip("# ")
    path = [part for part in (title, *item.sources.headings) if part and not opening.startswith(part)]
    text = "\n".join([*dict.fromkeys(path), item.content.text])
    return Passage(text, str(item.sources.file_name or "").removeprefix(root).lstrip("/"), round(item.score, 4))


def _case(
    folder: str, number: str, question: str, kind: str, steps: list[tuple[str, str]], found: list[Passage]
) -> Case:
    if not steps:
        return Case(folder, number, question, kind, None, found, -1)
    first: list[int] = []
    for file, answer in steps:
        holding = [at for at, one in enumerate(found) if one.file == file_name(file) and answer in one.text]
        first += holding[:1]
    answer = steps[-1][1]
    # What holds the same words elsewhere may answer too: it is no example of a passage that does not.
    others = [one for at, one in enumerate(found) if at not in first and answer not in one.text]
    if len(first) < len(steps):
        return Case(folder, number, question, kind, answer, others, -1, steps=0)
    order = [first[-1], *first[:-1]]
    passages = [found[at] for at in dict.fromkeys(order)] + others
    start = _occurrence(question, passages[0].text, answer)
    return Case(folder, number, question, kind, answer, passages, first[-1], start, len(dict.fromkeys(order)))


def _occurrence(question: str, text: str, answer: str) -> int:
    """Where the answer stands: of several places the one whose line shares most letters in a row with the question."""
    pairs = {question[at : at + 2].casefold() for at in range(len(question) - 1)}
    best, found, at = -1, -1, text.find(answer)
    while at >= 0:
        line = text[text.rfind("\n", 0, at) + 1 : (text + "\n").find("\n", at)].casefold()
        shared = sum(line[place : place + 2] in pairs for place in range(len(line) - 1))
        if shared > best:
            best, found = shared, at
        at = text.find(answer, at + 1)
    return found


def main(sets: Path, out: Path) -> None:
    """Write the sets and ask them."""
    out.mkdir(parents=True, exist_ok=True)
    for name, rows in sorted(read_folders().items()):
        if (out / f"{name}.jsonl").exists():
            continue
        folder = sets / name
        folder.mkdir(parents=True, exist_ok=True)
        write_set(rows, folder)
        cases = [json.dumps(asdict(case), ensure_ascii=False) for case in ask_all(name, rows, folder)]
        (out / f"{name}.jsonl").write_text("\n".join(cases) + "\n", encoding="utf-8")
        print(name, len(cases), "held out" if is_held_out(name) else "", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
