"""Communities: the same for the same documents, covering exactly what is there, kept up to date where it changed."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from community_builders import CountingEmbedder, check_communities, living, put_marked
from hybridrag.errors import ModelUnavailable
from hybridrag.graph import communities as module
from hybridrag.graph import community_tree
from hybridrag.graph.communities import rebuild_communities, update_communities
from hybridrag.graph.community_ties import divide, make_graph, modularity, pairs, share
from hybridrag.graph.community_tree import grow
from hybridrag.graph.community_views import communities_at, communities_of
from hybridrag.stores.embedded.community_tables import _group
from hybridrag.stores.embedded.store import EmbeddedStore
from hybridrag.testing.stores import MODEL

CAMERAS = [
    "{Sony}, {Nikon}, {Canon} and {Minolta} make cameras.",
    "{Canon} and {Nikon} make lenses.",
    "{Sony} bought {Minolta} from {Nikon}.",
]
CITIES = ["{Tokyo} and {Osaka} are cities.", "{Kyoto} and {Osaka} are old.", "{Tokyo} and {Kyoto} were capitals."]

Open = Callable[[], EmbeddedStore]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Makes empty stores."""
    stores: list[EmbeddedStore] = []

    def make() -> EmbeddedStore:
        store = EmbeddedStore.open(tmp_path / str(len(stores)))
        store.bind_model(MODEL)
        stores.append(store)
        return store

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Open) -> EmbeddedStore:
    return opened()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Communities that are divided early, so that a small test has several levels."""
    monkeypatch.setattr(community_tree, "MAX_MEMBERS", 30)


def planted(number: int, *, groups: int, size: int, outside: float = 0.1) -> list[str]:
    """A file of a graph of which the groups are known: four chunks that name some of a group, and seldom others."""
    rng = random.Random(number)
    parts = []
    for _ in range(4):
        group = rng.randrange(groups)
        names = [
            f"N{rng.randrange(groups * size)}" if rng.random() < outside else f"N{group * size + rng.randrange(size)}"
            for _ in range(rng.randrange(2, 7))
        ]
        parts.append(" met ".join(f"{{{name}}}" for name in names) + ".")
    return parts


def described(store: EmbeddedStore) -> set[tuple[object, ...]]:
    """Every community of every level as a person sees it."""
    return {
        (view.id, view.level, view.parent_id, view.title, view.summary, view.rank)
        for level in range(len(store.communities.level_counts()))
        for view in communities_at(store, level, 10_000)
    }


# What a partition is


def test_entities_that_share_chunks_form_a_community(store: EmbeddedStore) -> None:
    put_marked(store, "cameras", CAMERAS)
    put_marked(store, "cities", CITIES)
    report = update_communities(store, embed=CountingEmbedder())
    names = [{entity.name for entity in view.key_entities} for view in communities_at(store, 0, 10)]
    assert sorted(names, key=len) == [{"Tokyo", "Osaka", "Kyoto"}, {"Sony", "Nikon", "Canon", "Minolta"}]
    assert report.levels == (2,)
    assert report.modularity == pytest.approx(1 - (4.5 / 7.5) ** 2 - (3 / 7.5) ** 2, abs=1e-6)
    check_communities(store)


@pytest.mark.heavy
@pytest.mark.usefixtures("small")
def test_the_same_documents_give_the_same_communities_in_whatever_order_they_came(opened: Open) -> None:
    files = {f"f{number}": planted(number, groups=3, size=60, outside=0.03) for number in range(100)}
    stores = []
    for order in (sorted(files), sorted(files, reverse=True)):
        store = opened()
        put_marked(store, "first", ["{Other} names take {Other keys}."] if order[0] == "f0" else ["{N79} is first."])
        for name in order:
            put_marked(store, name, files[name])
        store.remove_files([put_marked(store, "first", ["{Gone} soon."])])
        rebuild_communities(store, embed=CountingEmbedder())
        check_communities(store)
        stores.append(store)
    assert len(stores[0].communities.level_counts()) > 1
    assert described(stores[0]) == described(stores[1])


def test_another_seed_may_divide_otherwise_but_never_loses_an_entity(store: EmbeddedStore) -> None:
    for number in range(30):
        put_marked(store, f"f{number}", planted(number, groups=3, size=20, outside=0.5))
    for seed in range(5):
        rebuild_communities(store, embed=CountingEmbedder(), seed=seed)
        check_communities(store)


@pytest.mark.usefixtures("small")
def test_what_is_too_large_to_tell_is_divided_and_the_rest_stands_for_itself_below(store: EmbeddedStore) -> None:
    for number in range(80):
        put_marked(store, f"f{number}", planted(number, groups=2, size=60, outside=0.02))
    put_marked(store, "cameras", CAMERAS)
    report = update_communities(store, embed=CountingEmbedder())
    check_communities(store)
    assert len(report.levels) > 1
    cameras = store.graph.entity_keys(["sony"])["sony"]
    (path,) = store.communities.of_entities([cameras]).values()
    assert len(path) == 1
    for level in range(len(report.levels)):
        assert path[0] in store.communities.at_level(level, 1_000)
    assert store.communities.at_level(len(report.levels), 10) == []


def test_entities_that_nothing_ties_belong_with_those_of_their_file(store: EmbeddedStore) -> None:
    put_marked(store, "notes", ["{Alpha} is alone.", "{Beta} too.", "{Beta} again."])
    put_marked(store, "other", ["{Beta} was here.", "{Gamma} is a third."])
    update_communities(store, embed=CountingEmbedder())
    names = {frozenset(entity.name for entity in view.key_entities) for view in communities_at(store, 0, 10)}
    assert names == {frozenset({"Alpha", "Beta"}), frozenset({"Gamma"})}
    put_marked(store, "notes", ["{Alpha} is alone."])
    update_communities(store, embed=CountingEmbedder())
    names = {frozenset(entity.name for entity in view.key_entities) for view in communities_at(store, 0, 10)}
    assert names == {frozenset({"Alpha"}), frozenset({"Beta", "Gamma"})}


def test_an_empty_index_has_no_communities(store: EmbeddedStore) -> None:
    assert update_communities(store, embed=CountingEmbedder()).levels == ()
    assert rebuild_communities(store, embed=CountingEmbedder()).levels == ()
    gone = put_marked(store, "cameras", CAMERAS)
    assert update_communities(store, embed=CountingEmbedder()).levels == (1,)
    store.remove_files([gone])
    assert update_communities(store, embed=CountingEmbedder()).levels == ()
    check_communities(store)


@pytest.mark.usefixtures("small")
def test_communities_of_an_entity_come_from_the_coarsest_down(store: EmbeddedStore) -> None:
    for number in range(60):
        put_marked(store, f"f{number}", planted(number, groups=2, size=60, outside=0.02))
    update_communities(store, embed=CountingEmbedder())
    keys = sorted(living(store))[:20]
    found = communities_of(store, keys)
    assert max(len(views) for views in found.values()) > 1
    for entity, views in found.items():
        assert [view.level for view in views] == list(range(len(views)))
        assert [view.parent_id for view in views] == [None, *(view.id for view in views[:-1])]
        members = [row.entity_key for row in store.communities.members(views[-1].key)]
        assert entity in members


# Ties


def test_a_chunk_hands_out_the_same_weight_whether_it_names_three_things_or_thirty() -> None:
    assert share(1) == 0
    assert share(2) == 1.0
    assert share(3) == 0.5
    assert share(30) * 29 == pytest.approx(1.0, abs=1e-4)
    assert share(31) == 0


def tied(store: EmbeddedStore) -> dict[tuple[int, int], float]:
    """How strongly the chunks tie each pair of entities."""
    found: dict[tuple[int, int], float] = {}
    for low, high, weight in zip(*(part.tolist() for part in pairs(store.communities.ties())), strict=True):
        found[low, high] = found.get((low, high), 0.0) + weight
    return found


def test_ties_are_the_edges_of_the_graph_and_what_is_stated_besides(store: EmbeddedStore) -> None:
    for number in range(20):
        put_marked(store, f"f{number}", planted(number, groups=2, size=10))
    before = tied(store)
    assert before == pytest.approx({(low, high): weight for low, high, weight in store.graph.edges()}, abs=1e-4)
    put_marked(store, "fact", ["{N1} knows {N2}."])
    low, high = sorted(store.graph.entity_keys(["n1", "n2"]).values())
    assert tied(store)[low, high] - before.get((low, high), 0.0) == pytest.approx(1 + 0.8, abs=1e-5)


KEY, CONFIDENCE = st.integers(1, 9), st.integers(0, 3)


@given(st.sets(st.tuples(KEY, KEY)), st.lists(st.tuples(KEY, KEY, KEY, CONFIDENCE)))
def test_only_what_a_chunk_states_of_two_things_that_it_mentions_ties_them(
    said: set[tuple[int, int]], stated: list[tuple[int, int, int, int]]
) -> None:
    mentioned = np.array(sorted(said), dtype=np.int64).reshape(-1, 2)
    rows = [(chunk, min(one, other), max(one, other), sure) for chunk, one, other, sure in stated]
    found = _group(mentioned[:, 0], mentioned[:, 1], np.array(rows, dtype=np.int64).reshape(-1, 4))
    for chunk, ties in zip(sorted({chunk for chunk, _ in said}), found, strict=True):
        members = sorted(entity for known, entity in said if known == chunk)
        facts = [list(row[1:]) for row in rows if row[0] == chunk and row[1] != row[2] and row[3] > 0]
        assert ties.members.tolist() == members
        assert ties.facts.tolist() == sorted(row for row in facts if {row[0], row[1]} <= set(members))
        assert ties.facts.shape[1:] == (3,)


def test_a_register_of_more_than_thirty_names_ties_none_of_them(store: EmbeddedStore) -> None:
    put_marked(store, "register", [" ".join(f"{{Name {number}}}" for number in range(31))])
    update_communities(store, embed=CountingEmbedder())
    check_communities(store)
    assert tied(store) == {}
    (view,) = communities_at(store, 0, 10)
    assert len(store.communities.members(view.key)) == 31


def test_two_triangles_joined_by_one_edge_are_two_communities() -> None:
    first, second = np.array([0, 0, 1, 3, 3, 4, 2]), np.array([1, 2, 2, 4, 5, 5, 3])
    graph = make_graph(first, second, np.ones(7), 7)
    assert divide(graph, seed=1).tolist() == [0, 0, 0, 1, 1, 1, 2]
    tree = grow(graph, seed=1)
    assert [branch.members.tolist() for branch in tree.branches] == [[0, 1, 2], [3, 4, 5]]
    assert tree.leaves.tolist() == [0, 0, 0, 1, 1, 1, -1]
    assert tree.strengths.tolist() == [2, 2, 2, 2, 2, 2, 0]
    inside = sum(branch.inside for branch in tree.branches)
    squares = sum(tree.degrees[branch.members].sum() ** 2 for branch in tree.branches)
    assert modularity(inside, squares, 7) == pytest.approx(6 / 7 - 2 * (7 / 14) ** 2)


def test_modularity_of_nothing_is_zero() -> None:
    assert modularity(0.0, 0.0, 0.0) == 0


# Keeping them up to date


def test_without_a_change_nothing_is_done(store: EmbeddedStore) -> None:
    put_marked(store, "cameras", CAMERAS)
    update_communities(store, embed=CountingEmbedder())
    embedder = CountingEmbedder()
    generation = store.generation()
    report = update_communities(store, embed=embedder)
    assert (report.found, report.embedded) == (False, 0)
    assert embedder.texts == []
    assert store.generation() == generation


def test_a_file_in_a_large_index_waits_until_more_came_and_what_is_gone_is_never_shown(store: EmbeddedStore) -> None:
    ids = [put_marked(store, f"f{number}", planted(number, groups=20, size=15)) for number in range(150)]
    assert update_communities(store, embed=CountingEmbedder()).found
    put_marked(store, "cameras", CAMERAS)
    sony = store.graph.entity_keys(["sony"])["sony"]
    assert not update_communities(store, embed=CountingEmbedder()).found
    assert store.communities.of_entities([sony]) == {}
    store.remove_files(ids[:2])
    shown = {view.title for view in communities_at(store, 0, 10_000)}
    assert not update_communities(store, embed=CountingEmbedder()).found
    assert shown == {view.title for view in communities_at(store, 0, 10_000)}
    store.remove_files(ids[2:4])
    assert update_communities(store, embed=CountingEmbedder()).found
    check_communities(store)
    assert sony in store.communities.of_entities([sony])


def test_what_was_told_of_removed_text_is_gone_before_the_communities_are_found_again(store: EmbeddedStore) -> None:
    for number in range(150):
        put_marked(store, f"f{number}", planted(number, groups=20, size=15))
    secret = put_marked(store, "secret", ["{Zarquon} met {Brontide}.", "{Zarquon} left {Brontide}."])
    update_communities(store, embed=CountingEmbedder())

    def texts() -> int:
        with store._database.read() as connection:
            return int(connection.execute("SELECT count(*) FROM community_texts").get)

    before = texts()
    store.remove_files([secret])
    assert texts() == before - 1
    assert not update_communities(store, embed=CountingEmbedder()).found


# Any sequence of changes


WORDS = [f"N{number}" for number in range(14)]


@st.composite
def chunk_texts(draw: st.DrawFn) -> str:
    names = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5))
    text = " met ".join(f"{{{name}}}" for name in names) + "."
    kind = draw(st.sampled_from(["plain", "plain", "plain", "alias", "fact"]))
    if kind == "alias" and len(names) > 1:
        text += f" {{{names[0]}}} (also {{{names[1]}}}) came."
    if kind == "fact" and len(names) > 1:
        text += f" {{{names[0]}}} knows {{{names[1]}}}."
    return text


CHANGES: st.SearchStrategy[tuple[str, int, list[str]]] = st.one_of(
    st.tuples(st.just("put"), st.integers(0, 7), st.lists(chunk_texts(), min_size=1, max_size=4)),
    st.tuples(st.just("remove"), st.integers(0, 7), st.just([])),
    st.tuples(st.just("merge"), st.integers(0, 13), st.just([])),
    st.tuples(st.just("undo"), st.integers(0, 13), st.just([])),
    st.tuples(st.just("update"), st.just(0), st.just([])),
)


def apply(store: EmbeddedStore, change: tuple[str, int, list[str]]) -> None:
    kind, number, parts = change
    if kind == "put":
        put_marked(store, f"file{number}", parts)
    elif kind == "remove":
        store.remove_files([put_marked(store, f"file{number}", ["{N0} goes."])])
    elif kind in {"merge", "undo"}:
        pair = WORDS[number].casefold(), WORDS[number - 1].casefold()
        store.graph.decide(*pair, "merge" if kind == "merge" else None)
    else:
        update_communities(store, embed=CountingEmbedder())


@pytest.mark.heavy
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(changes=st.lists(CHANGES, max_size=12))
def test_after_any_changes_they_cover_exactly_what_is_there(changes: list[tuple[str, int, list[str]]]) -> None:
    folder = Path(tempfile.mkdtemp())
    store = EmbeddedStore.open(folder / "index")
    try:
        store.bind_model(MODEL)
        put_marked(store, "file0", ["{N0} met {N1}."])
        update_communities(store, embed=CountingEmbedder())
        for change in changes:
            apply(store, change)
        update_communities(store, embed=CountingEmbedder())
        check_communities(store)
        assert store.check() == []
    finally:
        store.close()
        shutil.rmtree(folder)


# Crashes and others at work


def test_what_is_committed_but_not_yet_counted_is_counted_by_the_next_update(tmp_path: Path) -> None:
    store = EmbeddedStore.open(tmp_path / "index")
    store.bind_model(MODEL)
    put_marked(store, "cameras", CAMERAS)
    update_communities(store, embed=CountingEmbedder())
    put_marked(store, "cities", CITIES)
    assert store.communities.state().pending == 3
    store.close()
    again = EmbeddedStore.open(tmp_path / "index")
    assert again.communities.state().pending == 3
    update_communities(again, embed=CountingEmbedder())
    check_communities(again)
    again.close()


def test_communities_that_could_not_be_embedded_are_embedded_by_the_next_update(store: EmbeddedStore) -> None:
    def fail(_: object) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        raise ModelUnavailable("none", "it is not there")

    put_marked(store, "cameras", CAMERAS)
    with pytest.raises(ModelUnavailable):
        update_communities(store, embed=fail)
    check_communities(store)
    report = update_communities(store, embed=CountingEmbedder())
    assert (report.found, report.embedded) == (False, 1)


def test_of_two_updates_at_once_the_second_gives_way(opened: Open, tmp_path: Path) -> None:
    store = opened()
    put_marked(store, "cameras", CAMERAS)
    with store.snapshot():
        late, _ = module._found(store, store.communities.state(), 1)
    other = EmbeddedStore.open(tmp_path / "0")
    update_communities(other, embed=CountingEmbedder())
    assert not store.communities.write(late)
    check_communities(store)
    other.close()


def test_what_is_added_while_communities_are_worked_out_waits_for_the_next_update(store: EmbeddedStore) -> None:
    cameras = put_marked(store, "cameras", CAMERAS)
    with store.snapshot():
        change, _ = module._found(store, store.communities.state(), 1)
    put_marked(store, "cities", CITIES)
    store.remove_files([cameras])
    assert store.communities.write(change)
    assert store.communities.state().pending == 6
    assert communities_at(store, 0, 10) == [], "what it was worked out from is gone"
    update_communities(store, embed=CountingEmbedder())
    check_communities(store)


def _work(index: Path, seed: int) -> None:
    """Add, remove and update for ever."""
    rng = random.Random(seed)
    store = EmbeddedStore.open(index)
    while True:
        number = rng.randrange(20)
        put_marked(store, f"f{number}", planted(rng.randrange(1_000), groups=4, size=8))
        if rng.random() < 0.3:
            store.remove_files([put_marked(store, f"f{number}", ["{N0} goes."])])
        update_communities(store, embed=CountingEmbedder(), rebuild=rng.random() < 0.3)


@pytest.mark.heavy
def test_killed_at_any_moment_the_next_update_makes_them_whole(tmp_path: Path) -> None:
    index = tmp_path / "index"
    store = EmbeddedStore.open(index)
    store.bind_model(MODEL)
    store.close()
    context = multiprocessing.get_context("fork")
    rng = random.Random(5)
    for kill in range(12):
        process = context.Process(target=_work, args=(index, kill), daemon=True)
        process.start()
        time.sleep(rng.uniform(0.1, 0.5))
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        store = EmbeddedStore.open(index)
        here = living(store)
        for level in range(len(store.communities.level_counts())):
            shown = [
                row.entity_key
                for key in store.communities.at_level(level, 999)
                for row in store.communities.members(key)
            ]
            assert set(shown) <= here
            assert len(shown) == len(set(shown))
        update_communities(store, embed=CountingEmbedder())
        check_communities(store)
        store.close()
