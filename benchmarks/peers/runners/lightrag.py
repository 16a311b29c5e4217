"""LightRAG with hybridrag's entities and relations as its custom graph, asked for its chunks and not for an answer.

No LLM takes part: the keywords that one would take from a question are the names and words that hybridrag finds in it.
The variant is LightRAG's mode: naive (vectors alone), local, mix. `insert_custom_kg` takes one source for an entity or
relation; all of them are written to the graph afterwards, as LightRAG's own extraction would have it.

It embeds texts of its own making (names with descriptions, keywords). Those that the job has no vector for are written
to `lightrag-wanted.json`; `benchmarks.peers` has them embedded and runs this again.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.runners.common import Job, Search, main

# By name, because it is installed where this runs and not where it is checked.
lightrag: Any = importlib.import_module("lightrag")
utils: Any = importlib.import_module("lightrag.utils")
constants: Any = importlib.import_module("lightrag.constants")

WANTED, TEXTS, VECTORS = "lightrag-wanted.json", "lightrag-own.json", "lightrag-own.npy"
CHARACTERS_PER_TOKEN = 4
EVERYTHING = 1_000_000
"""Tokens: no chunk is left out because an LLM could not read it."""


class Given:
    """Texts to the vectors that the job brings for them; what it lacks is noted, and gets one that means nothing."""

    def __init__(self, job: Job) -> None:
        self._file = job.folder / WANTED
        self._rows: dict[str, NDArray[np.float32]] = {}
        self._wanted: dict[str, None] = {}
        texts = [f"document {chunk['text']}" for chunk in job.chunks]
        self._rows.update(zip(texts, job.vectors(), strict=True))
        asked = [f"query {query['text']}" for query in job.queries]
        self._rows.update(zip(asked, job.query_vectors(), strict=True))
        if (job.folder / VECTORS).exists():
            own = json.loads((job.folder / TEXTS).read_text(encoding="utf-8"))
            self._rows.update(zip(own, np.load(job.folder / VECTORS), strict=True))
        self.dimension = len(next(iter(self._rows.values())))

    async def __call__(self, texts: Sequence[str], context: str = "document", **_: object) -> NDArray[np.float32]:
        keys = [f"{context} {text}" for text in texts]
        self._wanted.update((key, None) for key in keys if key not in self._rows)
        nothing = np.full(self.dimension, self.dimension**-0.5, dtype=np.float32)
        return np.stack([self._rows.get(key, nothing) for key in keys])

    def tell(self) -> None:
        """Write what was wanted, where anything was."""
        if self._wanted:
            self._file.write_text(json.dumps(list(self._wanted), ensure_ascii=False), encoding="utf-8")


class Pieces:
    """A tokenizer that counts, as LightRAG wants to know sizes; its own would be fetched from the internet."""

    def encode(self, content: str) -> list[int]:
        """Something of about the right length."""
        return [0] * (len(content) // CHARACTERS_PER_TOKEN)

    def decode(self, tokens: Sequence[int]) -> str:
        """Never asked for: nothing is cut."""
        return " " * (len(tokens) * CHARACTERS_PER_TOKEN)


async def _no_llm(*_: object, **__: object) -> str:
    raise RuntimeError("There is no LLM in this comparison.")


def _open(job: Job, index: Path) -> tuple[Any, Given, asyncio.AbstractEventLoop]:
    logging.getLogger("lightrag").setLevel(logging.ERROR)
    given = Given(job)
    embed = utils.EmbeddingFunc(embedding_dim=given.dimension, func=given, supports_asymmetric=True)
    index.mkdir(parents=True, exist_ok=True)
    rag = lightrag.LightRAG(
        working_dir=str(index),
        embedding_func=embed,
        llm_model_func=_no_llm,
        tokenizer=utils.Tokenizer("pieces", Pieces()),
    )
    loop = asyncio.new_event_loop()
    loop.run_until_complete(rag.initialize_storages())
    return rag, given, loop


def build(job: Job, index: Path) -> None:
    rag, given, loop = _open(job, index)
    loop.run_until_complete(_insert(rag, job))
    loop.run_until_complete(rag.finalize_storages())
    given.tell()


async def _insert(rag: Any, job: Job) -> None:
    knowledge = job.knowledge()
    chunks = [{"content": chunk["text"], "source_id": str(number)} for number, chunk in enumerate(job.chunks)]
    entities = {_name(entity["name"]): entity for entity in knowledge["entities"] if _name(entity["name"])}
    relations = _relations(knowledge["relations"], entities)
    await rag.ainsert_custom_kg(
        {
            "chunks": chunks,
            "entities": [
                {
                    "entity_name": name,
                    "entity_type": entity["type"],
                    "description": entity["description"],
                    "source_id": str(entity["chunks"][0]),
                }
                for name, entity in entities.items()
            ],
            "relationships": [
                {
                    "src_id": source,
                    "tgt_id": target,
                    "description": relation["description"],
                    "keywords": relation["predicate"],
                    "weight": relation["weight"],
                    "source_id": str(relation["chunks"][0]),
                }
                for (source, target), relation in relations.items()
            ],
        }
    )
    await _write_all_sources(rag, job, entities, relations)


def _name(text: str) -> str:
    return str(utils.normalize_entity_name(text))


def _relations(found: list[dict[str, Any]], entities: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """One for each pair, as LightRAG keeps them; what is said more than once is joined."""
    pairs: dict[tuple[str, str], dict[str, Any]] = {}
    for relation in found:
        first, second = sorted((_name(relation["source"]), _name(relation["target"])))
        if first == second or first not in entities or second not in entities:
            continue
        known = pairs.setdefault((first, second), {"description": "", "predicate": "", "weight": 0.0, "chunks": []})
        known["description"] = f"{known['description']} {relation['description']}".strip()
        known["predicate"] = ", ".join(filter(None, [known["predicate"], relation["predicate"]]))
        known["weight"] += relation["weight"]
        known["chunks"] = list(dict.fromkeys([*known["chunks"], *relation["chunks"]]))
    return pairs


def _chunk_ids(job: Job) -> list[str]:
    """What LightRAG calls each chunk; equal texts are one chunk to it."""
    texts = [utils.sanitize_text_for_encoding(chunk["text"]) for chunk in job.chunks]
    return [str(utils.compute_mdhash_id(text, prefix="chunk-")) for text in texts]


async def _write_all_sources(
    rag: Any,
    job: Job,
    entities: dict[str, dict[str, Any]],
    relations: dict[tuple[str, str], dict[str, Any]],
) -> None:
    ids = _chunk_ids(job)
    graph = rag.chunk_entity_relation_graph

    def sources(chunks: list[int]) -> str:
        return str(constants.GRAPH_FIELD_SEP.join(dict.fromkeys(ids[chunk] for chunk in chunks)))

    for name, entity in entities.items():
        node = await graph.get_node(name)
        await graph.upsert_node(name, {**node, "source_id": sources(entity["chunks"])})
    for (source, target), relation in relations.items():
        edge = await graph.get_edge(source, target)
        await graph.upsert_edge(source, target, {**edge, "source_id": sources(relation["chunks"])})
    await graph.index_done_callback()


def open_index(job: Job, index: Path) -> Search:
    rag, given, loop = _open(job, index)
    numbers = {identity: number for number, identity in enumerate(_chunk_ids(job))}

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        found = loop.run_until_complete(work)
        given.tell()
        return found

    def search(number: int, limit: int) -> list[str]:
        query = job.queries[number]
        asked = lightrag.QueryParam(
            mode=job.variant or "mix",
            chunk_top_k=limit,
            max_total_tokens=EVERYTHING,
            enable_rerank=False,
            ll_keywords=query["names"] or query["keywords"] or [query["text"]],
            hl_keywords=query["keywords"] or [query["text"]],
        )
        found = run(rag.aquery_data(query["text"], asked))
        return job.documents(numbers[chunk["chunk_id"]] for chunk in found.get("data", {}).get("chunks", ()))

    return search


if __name__ == "__main__":
    main("lightrag-hku", build, open_index)
