"""`make demo`: index the sample documents and ask them questions in both languages."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from hybridrag import Engine, SearchResult, load_settings

SAMPLE = Path(__file__).parent.parent / "sample"
QUESTIONS = {
    "a fact": ("How many visitors may climb the lighthouse at a time?", "灯台まつりの参加費はいくらですか"),
    "a relation": (
        "Where did the designer of the Marten Lighthouse grow up?",
        "汐見崎灯台の設計者はどこで生まれましたか",
    ),
    "an exact word": ('"second arch"', "防波堤"),
}
SHOWN = 2


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(env={}).settings
        with Engine.open(Path(folder) / "index", settings=settings) as engine:
            print("Preparing the model, if this is the first time, and taking in the sample documents ...")
            began = time.perf_counter()
            report = engine.add(SAMPLE)
            print(f"{len(report.outcomes)} documents, {report.chunks} chunks in {time.perf_counter() - began:.1f} s")
            counts = engine.graph.statistics()
            print(f"The graph holds {counts['entities']} entities, {counts['facts']} facts, {counts['links']} links.")
            for kind, questions in QUESTIONS.items():
                for question in questions:
                    show(kind, question, engine.search(question, limit=SHOWN))
    print("\nYour own documents: .venv/bin/hybridrag add FOLDER, then .venv/bin/hybridrag search QUESTION")


def show(kind: str, question: str, result: SearchResult) -> None:
    print(f"\n{kind}: {question}")
    for item in result.results:
        name = Path(item.sources.file_name or "").name
        found = ", ".join(
            f"{by.strategy} rank {by.rank}" + (f" by way of {by.path[0]}" if by.path else "") for by in item.found_by
        )
        print(f"  {item.score:.2f} {name}, line {item.sources.line_start} ({found})")
        body = " ".join(item.content.text.split())
        print(f"       {body[:110]}{'...' if len(body) > 110 else ''}")


if __name__ == "__main__":
    main()
