"""Haystack: the in-memory store with its BM25 and its embedding retriever, joined by reciprocal rank fusion."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from benchmarks.peers.runners.common import Job, Search, main

# By name, because it is installed where this runs and not where it is checked.
haystack: Any = importlib.import_module("haystack")
stores: Any = importlib.import_module("haystack.document_stores.in_memory")
retrievers: Any = importlib.import_module("haystack.components.retrievers.in_memory")
joiners: Any = importlib.import_module("haystack.components.joiners")


def build(job: Job, index: Path) -> None:
    store = stores.InMemoryDocumentStore()
    store.write_documents(
        [
            haystack.Document(id=str(number), content=text, embedding=vector.tolist())
            for number, (text, vector) in enumerate(zip(job.texts(), job.vectors(), strict=True))
        ]
    )
    index.mkdir(parents=True)
    store.save_to_disk(str(index / "store.json"))


def open_index(job: Job, index: Path) -> Search:
    store = stores.InMemoryDocumentStore.load_from_disk(str(index / "store.json"))
    vectors = job.query_vectors()
    pipeline = haystack.Pipeline()
    pipeline.add_component("words", retrievers.InMemoryBM25Retriever(store))
    pipeline.add_component("meaning", retrievers.InMemoryEmbeddingRetriever(store))
    pipeline.add_component("join", joiners.DocumentJoiner(join_mode="reciprocal_rank_fusion"))
    pipeline.connect("words", "join")
    pipeline.connect("meaning", "join")

    def search(number: int, limit: int) -> list[str]:
        asked = {
            "words": {"query": job.question(number), "top_k": limit},
            "meaning": {"query_embedding": vectors[number].tolist(), "top_k": limit},
            "join": {"top_k": limit},
        }
        return job.documents(int(document.id) for document in pipeline.run(asked)["join"]["documents"])

    return search


if __name__ == "__main__":
    main("haystack-ai", build, open_index)
