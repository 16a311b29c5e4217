"""The suite that every `Store` passes.

from hybridrag.testing.stores import check_store
check_store(lambda: MyStore.open(...))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np

from hybridrag.errors import ModelMismatch
from hybridrag.protocols import ModelInfo, NewChunk, Store
from hybridrag.types.base import Float32Array
from hybridrag.types.documents import Chunk, FileInfo
from hybridrag.types.ids import ChunkId, FileId, chunk_id_for, file_id_for
from hybridrag.types.queries import DateRange, SearchFilters
from hybridrag.types.terms import AllOf, AnyOf, Near, Phrase, Prefix, Term, Without

DIMENSION = 16
MODEL = ModelInfo(name="suite", fingerprint="suite-1", dimension=DIMENSION, max_tokens=512)


def make_file(
    name: str,
    *,
    workspace: str = "default",
    mime_type: str = "text/plain",
    modified: datetime | None = None,
    content_hash: str = "0",
) -> FileInfo:
    """A file as a store takes it."""
    return FileInfo(
        id=file_id_for(workspace, name),
        name=name,
        workspace=workspace,
        mime_type=mime_type,
        content_hash=content_hash,
        size=1,
        modified=modified,
        added=datetime(2024, 1, 1, tzinfo=UTC),
    )


def make_vector(seed: int | str) -> Float32Array:
    """A unit vector that only its seed decides, exact in float16."""
    number = seed if isinstance(seed, int) else sum(ord(character) * 31**place for place, character in enumerate(seed))
    vector = np.random.default_rng(number % 2**32).normal(size=DIMENSION).astype(np.float16).astype(np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float16).astype(np.float32)


def make_tokens(text: str) -> bytes | None:
    """Packed token vectors as a store sees them: bytes that only their text decides; none for an empty text."""
    return b"tokens of " + text.encode() if text else None


def put(store: Store, file: FileInfo, parts: Sequence[str]) -> list[ChunkId]:
    """Write a file whose chunks are `parts`, joined by newlines."""
    text = "\n".join(parts)
    chunks: list[NewChunk] = []
    place = 0
    seen: dict[str, int] = {}
    for ordinal, part in enumerate(parts):
        seen[part] = seen.get(part, -1) + 1
        chunk = Chunk(
            id=chunk_id_for(file.id, part, seen[part]),
            file_id=file.id,
            ordinal=ordinal,
            text=part,
            start=place,
            end=place + len(part),
            line_start=ordinal + 1,
            line_end=ordinal + 1,
            tokens=len(part.split()),
        )
        chunks.append(NewChunk(chunk=chunk, passage=part, vector=make_vector(part), tokens=make_tokens(part)))
        place += len(part) + 1
    store.put_file(file, text, chunks)
    return [new.chunk.id for new in chunks]


def check_store(make: Callable[[], Store]) -> None:
    """Run every promise of the contract, each on a store of its own made by `make` (an empty one each time)."""
    for promise in PROMISES:
        store = make()
        try:
            store.bind_model(MODEL)
            promise(store)
            assert store.check() == [], promise.__name__
        finally:
            store.close()


def token_vectors_live_and_die_with_their_chunk(store: Store) -> None:
    """What stayed keeps them, what left has none; an equal passage elsewhere has them to give."""
    file = make_file("a.txt")
    put(store, file, ["keep this", "drop that", ""])
    (kept, _), *_ = store.search_terms(Term("keep"), 10)
    (gone, _), *_ = store.search_terms(Term("drop"), 10)
    assert store.token_vectors([kept, gone, gone + 1, -1]) == {
        kept: b"tokens of keep this",
        gone: b"tokens of drop that",
    }
    assert store.known_token_vectors(["drop that", "", "unknown"]) == {"drop that": b"tokens of drop that"}
    put(store, make_file("b.txt"), ["drop that"])
    put(store, file, ["new first", "keep this"])
    assert store.token_vectors([kept, gone]) == {kept: b"tokens of keep this"}
    assert store.known_token_vectors(["drop that"]) == {"drop that": b"tokens of drop that"}
    store.remove_files([file.id, file_id_for("default", "b.txt")])
    assert store.token_vectors([kept]) == {}
    assert store.known_token_vectors(["drop that", "keep this"]) == {}
    assert store.token_vectors([]) == {}
    assert store.known_token_vectors([]) == {}


def an_empty_store_finds_nothing(store: Store) -> None:
    """Empty is an answer, not an error."""
    assert store.search_terms(Term("x"), 10) == []
    assert store.search_vector(make_vector(1), 10) == []
    assert list(store.files()) == []
    assert store.chunks([]) == {}
    assert store.status().chunks == store.chunk_count() == 0
    assert store.remove_files([file_id_for("default", "none")]) == 0


def what_was_put_is_found(store: Store) -> None:
    """By id, by key, by term, by vector, with its place."""
    file = make_file("a.txt")
    ids = put(store, file, ["alpha beta", "gamma delta"])
    (key, score), *rest = store.search_terms(Term("gamma"), 10)
    assert not rest
    assert score > 0
    chunk = store.chunks_by_key([key])[key]
    assert (chunk.id, chunk.text, chunk.start, chunk.end) == (ids[1], "gamma delta", 11, 22)
    (nearest, cosine), *_ = store.search_vector(make_vector("gamma delta"), 2)
    assert nearest == key
    assert abs(cosine - 1.0) < 1e-2
    assert store.text(file.id) == "alpha beta\ngamma delta"
    assert [chunk.text for chunk in store.chunks_of(file.id)] == ["alpha beta", "gamma delta"]
    assert [chunk.text for chunk in store.chunks_of(file.id, start=1, stop=2)] == ["gamma delta"]
    assert set(store.chunks(ids)) == set(ids)
    known = store.known_vectors(["alpha beta", "unknown"])
    assert list(known) == ["alpha beta"]
    assert np.allclose(known["alpha beta"], make_vector("alpha beta"), atol=1e-3)


def putting_the_same_again_changes_nothing(store: Store) -> None:
    """Keys, ids and counts stay."""
    file = make_file("a.txt")
    put(store, file, ["one", "two"])
    before = store.search_terms(AnyOf((Term("one"), Term("two"))), 10)
    put(store, file, ["one", "two"])
    assert store.search_terms(AnyOf((Term("one"), Term("two"))), 10) == before
    assert store.status().chunks == 2


def an_update_is_exact(store: Store) -> None:
    """What left the file is gone from every index; what stayed keeps its key; what moved has its new place."""
    file = make_file("a.txt")
    put(store, file, ["keep this", "drop that"])
    (kept, _), *_ = store.search_terms(Term("keep"), 10)
    put(store, file, ["new first", "keep this"])
    assert store.search_terms(Term("drop"), 10) == []
    assert [key for key, _ in store.search_terms(Term("keep"), 10)] == [kept]
    assert store.chunks_by_key([kept])[kept].start == len("new first\n")
    assert len(store.search_vector(make_vector("drop that"), 10)) == 2
    assert store.known_vectors(["drop that"]) == {}
    assert store.status().chunks == 2


def removal_leaves_nothing(store: Store) -> None:
    """No text, term, vector or count of a removed file is left."""
    file = make_file("a.txt")
    ids = put(store, file, ["secret words"])
    put(store, make_file("b.txt"), ["other words"])
    assert store.remove_files([file.id]) == 1
    assert store.remove_files([file.id]) == 0
    assert store.search_terms(Term("secret"), 10) == []
    assert store.document_frequency(["secret"]) == {"secret": 0}
    assert len(store.search_vector(make_vector("secret words"), 10)) == 1
    assert store.chunks(ids) == {}
    assert store.file(file.id) is None
    assert store.text(file.id) is None
    assert [file.name for file in store.files()] == ["b.txt"]


def keys_are_never_used_twice(store: Store) -> None:
    """A stale key finds nothing instead of something else."""
    put(store, make_file("a.txt"), ["first"])
    (old, _), *_ = store.search_terms(Term("first"), 1)
    store.remove_files([file_id_for("default", "a.txt")])
    put(store, make_file("b.txt"), ["second"])
    (new, _), *_ = store.search_terms(Term("second"), 1)
    assert new > old
    assert store.chunks_by_key([old]) == {}


def every_index_honours_every_filter(store: Store) -> None:
    """Files, types, workspaces and dates bind terms, vectors and look-ups alike."""
    march = datetime(2024, 3, 1, tzinfo=UTC)
    inside = make_file("in.md", workspace="team", mime_type="text/markdown", modified=march)
    outside = make_file(
        "out.pdf", workspace="other", mime_type="application/pdf", modified=datetime(2020, 1, 1, tzinfo=UTC)
    )
    wanted = put(store, inside, ["shared word one"])
    hidden = put(store, outside, ["shared word two"])
    for filters in (
        SearchFilters(file_ids=(inside.id,)),
        SearchFilters(file_types=("text/markdown",)),
        SearchFilters(file_types=("text/*",)),
        SearchFilters(workspace_ids=("team",)),
        SearchFilters(date_range=DateRange(start=march)),
        SearchFilters(date_range=DateRange(start=march, end=march), workspace_ids=("team", "other")),
    ):
        for found in (
            store.search_terms(Term("word"), 10, filters=filters),
            store.search_vector(make_vector("shared word two"), 10, filters=filters),
        ):
            assert [chunk.id for chunk in store.chunks_by_key([key for key, _ in found]).values()] == wanted, filters
        assert list(store.chunks([*wanted, *hidden], filters=filters)) == wanted
        assert [file.id for file in store.files(filters)] == [inside.id]
    nothing = SearchFilters(workspace_ids=("nobody",))
    assert store.search_terms(Term("word"), 10, filters=nothing) == []
    assert store.search_vector(make_vector(1), 10, filters=nothing) == []
    assert store.chunks([*wanted, *hidden], filters=nothing) == {}
    assert store.graph.entity_list(10, filters=nothing) == []
    assert set(store.graph.statistics(filters=nothing).values()) == {0}
    assert len(store.search_terms(Term("word"), 10, filters=SearchFilters(file_ids=()))) == 2


def term_queries_mean_what_they_say(store: Store) -> None:
    """Phrases, prefixes, nearness, and, or, not."""
    put(store, make_file("a.txt"), ["red green blue", "green red", "blue sky far far far away red", "redder"])

    def found(query: object) -> set[str]:
        keys = [key for key, _ in store.search_terms(query, 10)]  # type: ignore[arg-type]
        return {chunk.text for chunk in store.chunks_by_key(keys).values()}

    assert found(Phrase(("red", "green"))) == {"red green blue"}
    assert found(Prefix("redd")) == {"redder"}
    assert found(AllOf((Term("red"), Term("blue")))) == {"red green blue", "blue sky far far far away red"}
    assert found(Near((Phrase(("red",)), Phrase(("blue",))), distance=2)) == {"red green blue"}
    assert found(Without(Term("red"), Term("blue"))) == {"green red"}
    assert found(AnyOf((Term("redder"), Term("sky")))) == {"redder", "blue sky far far far away red"}
    assert found(AnyOf(())) == set()
    assert found(Term('" OR terms MATCH "red')) == set()


def rarer_terms_score_higher(store: Store) -> None:
    """BM25: best first, higher is better."""
    put(store, make_file("a.txt"), ["common rare", "common", "common", "common"])
    results = store.search_terms(AnyOf((Term("common"), Term("rare"))), 10)
    scores = [score for _, score in results]
    assert scores == sorted(scores, reverse=True)
    assert store.chunks_by_key([results[0][0]])[results[0][0]].text == "common rare"
    assert len(store.search_terms(Term("common"), 2)) == 2
    assert store.document_frequency(["common", "rare"]) == {"common": 4, "rare": 1}


def the_generation_rises_with_every_change(store: Store) -> None:
    """What caches are keyed on."""
    seen = [store.generation()]
    put(store, make_file("a.txt"), ["one"])
    seen.append(store.generation())
    store.remove_files([file_id_for("default", "a.txt")])
    seen.append(store.generation())
    assert seen == sorted(set(seen))


def another_model_is_refused(store: Store) -> None:
    """Vectors of two models never mix."""
    put(store, make_file("a.txt"), ["one"])
    other = ModelInfo(name="other", fingerprint="other-1", dimension=DIMENSION, max_tokens=512)
    refused: ModelMismatch | None = None
    try:
        store.bind_model(other)
    except ModelMismatch as error:
        refused = error
    assert refused is not None
    assert (refused.found, refused.expected) == ("suite", "other")


def equal_texts_in_one_file_are_two_chunks(store: Store) -> None:
    """A refrain is found at each of its places."""
    put(store, make_file("a.txt"), ["la la", "verse", "la la"])
    assert len(store.search_terms(Term("la"), 10)) == 2
    put(store, make_file("a.txt"), ["la la", "verse"])
    assert len(store.search_terms(Term("la"), 10)) == 1


def files_of_one_name_in_two_workspaces_are_two_files(store: Store) -> None:
    """A workspace is a world of its own."""
    put(store, make_file("a.txt", workspace="one"), ["mine"])
    put(store, make_file("a.txt", workspace="two"), ["yours"])
    assert store.status().workspaces == {"one": 1, "two": 1}
    store.remove_files([FileId(file_id_for("one", "a.txt"))])
    assert [file.workspace for file in store.files()] == ["two"]


PROMISES: tuple[Callable[[Store], None], ...] = (
    an_empty_store_finds_nothing,
    what_was_put_is_found,
    putting_the_same_again_changes_nothing,
    an_update_is_exact,
    removal_leaves_nothing,
    token_vectors_live_and_die_with_their_chunk,
    keys_are_never_used_twice,
    every_index_honours_every_filter,
    term_queries_mean_what_they_say,
    rarer_terms_score_higher,
    the_generation_rises_with_every_change,
    another_model_is_refused,
    equal_texts_in_one_file_are_two_chunks,
    files_of_one_name_in_two_workspaces_are_two_files,
)
