"""From a data set to a job: the same chunks, the same vectors and one graph for every library of a comparison."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.keep import DrawnEmbedder, KeptEmbedder
from benchmarks.search import MadeUpPassages
from hybridrag.config import Settings, load_settings
from hybridrag.documents.chunk import passage_text
from hybridrag.engine import Engine
from hybridrag.evaluate.datasets import Dataset
from hybridrag.language.morphemes import morphemes
from hybridrag.parts import make_embedder
from hybridrag.queries.classify import classify

VECTORS = "vectors.db"
PREPARED = "prepared"
EVERYTHING = 10_000_000
"""Entities of an export: all."""
TIMED_QUERIES = 50


def settings_of(extractor: str = "light") -> Settings:
    """The defaults, without what would be measured instead of a search: kept answers, a process for hostile files."""
    overrides = {"documents.isolate": False, "graph.extractor": extractor, "search.cache_size": 0}
    return load_settings(env={}, overrides=overrides).settings


def open_embedder(job: Path, settings: Settings, *, made_up: bool = False) -> KeptEmbedder:
    """The model of the settings; what it once made for this job comes from a file.

    With `made_up`, passages get vectors that mean nothing and are drawn rather than kept.
    """
    if made_up:
        return DrawnEmbedder(job / VECTORS, lambda: MadeUpPassages(make_embedder(settings)))
    return KeptEmbedder(job / VECTORS, lambda: make_embedder(settings))


def take_in(engine: Engine, dataset: Dataset) -> None:
    """The documents of the data set into an index."""
    if dataset.documents:
        engine.add_documents(dataset.documents)
    else:
        engine.add(list(dataset.files))


def prepare(dataset: Dataset, job: Path, settings: Settings, *, made_up: bool = False) -> dict[str, object]:
    """Write the job of a data set into a folder; says how long embedding it took.

    An index is built on the way, for its chunks and its graph, and because whatever text it has embedded is then
    known: building it again, timed, asks the model for nothing.
    """
    job.mkdir(parents=True, exist_ok=True)
    embedder = open_embedder(job, settings, made_up=made_up)
    began = time.perf_counter()
    with Engine.open(job / PREPARED, settings=settings, embedder=embedder) as engine:
        take_in(engine, dataset)
        seconds = time.perf_counter() - began
        chunks, numbers = _chunks(engine, dataset)
        graph = _graph(engine, numbers)
    queries = [_query(query.id, query.text) for query in dataset.queries]
    if any(_unspaced(query.language) for query in dataset.queries):
        for item in (*chunks, *queries):
            item["words"] = " ".join(word.surface for word in morphemes(str(item["text"])))
    _write(job / "job.json", {"chunks": chunks, "queries": queries})
    _write(job / "graph.json", graph)
    np.save(job / "chunks.npy", embedder.embed_passages([str(chunk["text"]) for chunk in chunks]).pooled)
    np.save(job / "queries.npy", np.concatenate([embedder.embed_query(it.text).pooled for it in dataset.queries]))
    embedder.close()
    return {
        "chunks": len(chunks),
        "entities": len(graph["entities"]),
        "relations": len(graph["relations"]),
        "embedded": embedder.computed,
        "seconds": round(seconds, 1),
        "query_ms": _query_ms([query.text for query in dataset.queries[:TIMED_QUERIES]], settings),
    }


def embed_wanted(job: Path, wanted: Sequence[str], file: Path, settings: Settings, *, made_up: bool = False) -> None:
    """Embed "document TEXT" and "query TEXT" for a runner that makes texts of its own, besides those it has already.

    Vectors go into `file`, the texts beside it as JSON.
    """
    texts = file.with_suffix(".json")
    known = json.loads(texts.read_text(encoding="utf-8")) if texts.exists() else []
    known = list(dict.fromkeys([*known, *wanted]))
    embedder = open_embedder(job, settings, made_up=made_up)
    # Texts of like length together: a batch takes as long as its longest.
    passages = sorted((key.removeprefix("document ") for key in known if key.startswith("document ")), key=len)
    made = dict(zip(passages, embedder.embed_passages(passages).pooled, strict=True))
    vectors = []
    for key in known:
        kind, _, text = key.partition(" ")
        vectors.append(made[text] if kind == "document" else embedder.embed_query(text).pooled[0])
    embedder.close()
    np.save(file, np.stack(vectors))
    _write(texts, known)


def _chunks(engine: Engine, dataset: Dataset) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Every chunk as it was embedded, and its number by its id."""
    chunks: list[dict[str, Any]] = []
    numbers: dict[str, int] = {}
    for file in engine.files():
        document = dataset.document_id(file.name)
        for chunk in engine._store.chunks_of(file.id):  # noqa: SLF001 (the public view has no way to list them)
            numbers[chunk.id] = len(chunks)
            chunks.append({"document": document, "text": passage_text(chunk, file.title)})
    return chunks, numbers


def _graph(engine: Engine, numbers: Mapping[str, int]) -> dict[str, list[dict[str, Any]]]:
    """Entities and relations, each with the chunks that speak of it."""
    data = json.loads(engine.graph.export("json", limit=EVERYTHING))
    mentioned: dict[str, list[int]] = defaultdict(list)
    for edge in data["structure"]:
        if edge["predicate"] == "mentions":
            mentioned[edge["targetId"]].append(numbers[edge["sourceId"]])
    names = {entity["id"]: entity["name"] for entity in data["entities"]}
    relations = [
        {
            "source": names[relation["sourceId"]],
            "target": names[relation["targetId"]],
            "predicate": relation["predicate"],
            "weight": max(1.0, float(relation["weight"])),
            "description": " ".join(dict.fromkeys(it["sentence"] for it in relation["evidence"])),
            "chunks": sorted({numbers[it["chunkId"]] for it in relation["evidence"]}),
        }
        for relation in data["relations"]
        if relation["evidence"]
    ]
    entities = [
        {
            "name": entity["name"],
            "type": entity["type"],
            "description": ", ".join([entity["name"], *entity["aliases"]]),
            "chunks": sorted(mentioned[entity["id"]]),
        }
        for entity in data["entities"]
        if mentioned[entity["id"]]
    ]
    return {"entities": entities, "relations": relations}


def _query(identity: str, text: str) -> dict[str, Any]:
    understood = classify(text)
    return {
        "id": identity,
        "text": text,
        "names": list(understood.extracted_entities),
        "keywords": list(understood.keywords),
    }


def _unspaced(language: str) -> bool:
    return language == "ja"


def _query_ms(texts: Sequence[str], settings: Settings) -> float:
    """What embedding a question takes, at the median: everyone who searches by meaning pays it on top."""
    embedder = make_embedder(settings)
    embedder.embed_query(texts[0])
    times = []
    for text in texts:
        began = time.perf_counter()
        embedder.embed_query(text)
        times.append((time.perf_counter() - began) * 1000)
    return round(float(np.median(times)), 1)


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
