"""Both sides of a comparison are represented in the first results."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridrag.search.named import Named
from hybridrag.search.sides import Promotion, represent_sides

A = Named("A", titled=(1, 2, 3))
B = Named("B", mentioned=(10, 11))


def test_a_side_without_a_first_result_gets_its_best_ranked_one() -> None:
    found = represent_sides([1, 2, 3, 11, 10], [A, B], first=2)
    assert found.keys == (1, 11, 2, 3, 10)
    assert found.promotions == (Promotion(11, "B", from_rank=4, to_rank=2),)


def test_a_side_that_no_search_found_gets_what_is_most_about_it() -> None:
    found = represent_sides([1, 2, 3], [A, B], first=3)
    assert found.keys == (1, 2, 10, 3)
    assert found.promotions == (Promotion(10, "B", from_rank=None, to_rank=3),)


def test_a_ranking_that_represents_both_is_left_alone() -> None:
    found = represent_sides([5, 1, 10, 2], [A, B], first=3)
    assert found.keys == (5, 1, 10, 2)
    assert found.promotions == ()


def test_the_only_chunk_of_another_side_never_makes_room() -> None:
    found = represent_sides([7, 1, 10], [A, B], first=2)
    assert found.keys == (1, 10, 7)
    crowded = represent_sides([1, 10], [A, Named("C", titled=(20,)), B], first=1)
    assert crowded.keys[0] == 1


def test_a_title_counts_before_a_mention() -> None:
    side = Named("B", titled=(12,), mentioned=(10, 12))
    assert represent_sides([10, 1, 12], [A, side], first=2).keys == (1, 12, 10)


def test_beside_two_titles_a_name_that_is_only_mentioned_is_no_side() -> None:
    titled = Named("B", titled=(10, 11))
    assert represent_sides([1, 10, 2, 30], [A, Named("Film", mentioned=(30,)), titled], first=3).promotions == ()
    assert represent_sides([1, 2, 3, 30], [A, Named("Film", mentioned=(30,))], first=3).promotions != ()


def test_one_name_is_no_comparison() -> None:
    assert represent_sides([1, 2], [B], first=1).keys == (1, 2)


def test_a_side_that_nothing_is_about_is_reported() -> None:
    found = represent_sides([1], [A, Named("Z")])
    assert found.missing == ("Z",)
    assert found.keys == (1,)


def test_a_short_ranking_grows() -> None:
    assert represent_sides([1], [A, B]).keys == (1, 10)


@given(
    st.lists(st.integers(1, 30), unique=True, max_size=20),
    st.lists(st.lists(st.integers(1, 30), unique=True, min_size=1, max_size=5), min_size=2, max_size=4),
    st.integers(4, 8),
)
def test_every_side_is_represented_and_all_others_keep_their_order(
    ranked: list[int], sides: list[list[int]], first: int
) -> None:
    named = [Named(str(place), titled=tuple(keys)) for place, keys in enumerate(sides)]
    found = represent_sides(ranked, named, first=first)
    assert len(set(found.keys)) == len(found.keys)
    assert set(ranked) <= set(found.keys)
    for side in named:
        assert not set(found.keys[:first]).isdisjoint(side.about)
    moved = {promotion.key for promotion in found.promotions}
    head = [key for key in found.keys[:first] if key not in moved]
    assert head == [key for key in ranked if key in head]
