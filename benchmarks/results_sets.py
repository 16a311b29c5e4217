"""The data sets of docs/results.md: how each is read, what it is measured by, what it should reach, what others did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hybridrag.evaluate import Dataset, load_dataset
from hybridrag.evaluate.read_query import Query
from hybridrag.types.sources import TextDocument

MERGED = ("2wikimultihopqa", "hotpotqa_train100", "musique_train200")
"""The three multi-hop sets that are searched as one corpus."""
LOCAL, RELATIONSHIP = "local", "relationship"


@dataclass(frozen=True, slots=True)
class ResultSet:
    """One row of the tables."""

    name: str
    load: Callable[[Path], Dataset]
    """Reads it from the folder of all data."""
    metric: str = "Recall@5"
    target: float | None = None
    """What the metric should reach, 0-1."""
    peers: Mapping[str, float] = field(default_factory=dict)
    """What others published by the same metric, 0-1."""
    peers_by: str = ""
    """The metric of the peers, where it is another."""
    sample: int | None = None
    """How many of its questions are asked: always the same ones. None for all."""
    kind: str | None = None
    """What it counts for in the overall accuracy."""
    only: tuple[str, ...] = ()
    """The recipes that are asked, where not all are."""
    reranked: bool = False
    """Whether rerankers are held against each other on it."""
    about: str = ""


def plain(name: str) -> Callable[[Path], Dataset]:
    """The set as it lies in its folder."""
    return lambda data: load_dataset(data / name)


def without_titles(name: str) -> Callable[[Path], Dataset]:
    """The set with no title on any document; names in the index are numbers, so that they give none away either.

    A title that is also a word of the text stays there, as any other word.
    """

    def load(data: Path) -> Dataset:
        whole = load_dataset(data / name)
        documents = tuple(replace(document, title=None) for document in whole.documents)
        return replace(whole, name=f"{name}, no titles", documents=documents)

    return load


def answerable(name: str) -> Callable[[Path], Dataset]:
    """The questions of a set that its documents answer."""

    def load(data: Path) -> Dataset:
        whole = load_dataset(data / name)
        return replace(whole, queries=tuple(query for query in whole.queries if query.has_evidence))

    return load


def merged(names: Sequence[str]) -> Callable[[Path], Dataset]:
    """Several sets as one corpus with the questions of all; their ids get the set's name in front.

    A document that several of them hold is there once, and found for whichever of them marks it.
    """

    def load(data: Path) -> Dataset:
        sets = [load_dataset(data / name) for name in names]
        return merge(sets)

    return load


def merge(sets: Sequence[Dataset]) -> Dataset:
    """One corpus of several.

    a: {1: "x"}, b: {1: "x", 2: "y"} -> {a/1: "x", b/2: "y"}; what b marked as 1 is marked as a/1
    """
    kept: dict[tuple[str | None, str], TextDocument] = {}
    names: dict[str, str] = {}
    queries: list[Query] = []
    for one in sets:
        for document in one.documents:
            name = f"{one.name}/{document.name}"
            first = kept.setdefault((document.title, document.text), replace(document, name=name))
            names[name] = first.name
    for one in sets:
        for query in one.queries:
            marked = {f"{one.name}/{document}": grade for document, grade in query.gold.items()}
            gold = {names.get(document, document): grade for document, grade in marked.items()}
            queries.append(replace(query, id=f"{one.name}/{query.id}", gold=gold, type=one.name))
    return Dataset(name="merged", path=sets[0].path.parent, queries=tuple(queries), documents=tuple(kept.values()))


SETS: tuple[ResultSet, ...] = (
    ResultSet(
        "2wikimultihopqa",
        plain("2wikimultihopqa"),
        target=0.96,
        peers={
            "BM25": 0.653,
            "Contriever": 0.575,
            "ColBERTv2": 0.682,
            "NV-Embed-v2 (7B)": 0.765,
            "Microsoft GraphRAG": 0.773,
            "HippoRAG 2 (70B LLM)": 0.904,
            "GFM-RAG": 0.956,
        },
        kind=RELATIONSHIP,
        about="multi-hop, English",
    ),
    ResultSet(
        "2wikimultihopqa-no-titles",
        without_titles("2wikimultihopqa"),
        target=0.84,
        about="the same, every title taken out of texts, vectors and graph",
    ),
    ResultSet(
        "hotpotqa_train100",
        plain("hotpotqa_train100"),
        target=0.94,
        peers={"plain BM25": 0.78},
        about="multi-hop, English; a small pool",
    ),
    ResultSet(
        "musique_train200",
        plain("musique_train200"),
        target=0.62,
        peers={"plain BM25": 0.50},
        about="multi-hop, English; a small pool",
    ),
    ResultSet(
        "merged",
        merged(MERGED),
        only=("hybrid-no-rerank", "hybrid"),
        about="the three sets above in one corpus",
    ),
    ResultSet(
        "jemhopqa_train",
        plain("jemhopqa_train"),
        target=0.95,
        kind=RELATIONSHIP,
        about="multi-hop, Japanese",
    ),
    ResultSet(
        "localgovfaq_ja",
        plain("localgovfaq_ja"),
        metric="Recall@10",
        target=0.73,
        peers={
            "BM25 (kuromoji)": 0.600,
            "multilingual-e5-small": 0.642,
            "multilingual-e5-large": 0.682,
            "bge-m3": 0.735,
            "japanese-splade-v2": 0.761,
            "best (1B)": 0.823,
        },
        reranked=True,
        about="questions to town halls, Japanese, graded",
    ),
    ResultSet(
        "scifact",
        plain("scifact"),
        metric="nDCG@10",
        target=0.71,
        peers={"BM25": 0.679, "SPLADE++": 0.704, "bge-base": 0.741, "RRF": 0.742},
        reranked=True,
        about="claims against abstracts, English; peers on 300 claims",
    ),
    ResultSet(
        "squad2_dev",
        answerable("squad2_dev"),
        target=0.97,
        peers={"BM25": 0.809},
        peers_by="Recall@1",
        sample=300,
        kind=LOCAL,
        reranked=True,
        about="facts, English; the answerable questions",
    ),
    ResultSet(
        "jsquad_valid",
        plain("jsquad_valid"),
        target=0.97,
        peers={"BM25": 0.905},
        peers_by="Recall@1",
        sample=300,
        kind=LOCAL,
        reranked=True,
        about="facts, Japanese",
    ),
    ResultSet(
        "niilc_dev",
        plain("niilc_dev"),
        peers={"BM25": 0.85},
        sample=200,
        kind=LOCAL,
        reranked=True,
        about="facts, Japanese",
    ),
    ResultSet("lihua_world", answerable("lihua_world"), target=0.88, about="a year of chats, English"),
)
"""In the order of the tables."""


def sets_named(names: Sequence[str]) -> tuple[ResultSet, ...]:
    """The sets of these names; all where none is named.

    Raises:
        KeyError: there is no set of that name.
    """
    known = {one.name: one for one in SETS}
    return tuple(known[name] for name in names) if names else SETS
