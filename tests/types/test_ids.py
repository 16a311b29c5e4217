"""Ids: one spelling, never mistaken for one another, the same for the same content."""

from __future__ import annotations

import copy
import pickle
import uuid
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from hybridrag.types.ids import (
    ChunkId,
    CommunityId,
    EntityId,
    FileId,
    Id,
    RelationId,
    chunk_id_for,
    community_id_for,
    entity_id_for,
    file_id_for,
    new_chunk_id,
    new_community_id,
    new_entity_id,
    new_file_id,
    new_relation_id,
    relation_id_for,
    web_chunk_id_for,
)
from hybridrag.types.results import SearchResultSources
from model_strategies import SETTINGS, ids_of

KINDS: list[type[Id]] = [ChunkId, FileId, EntityId, RelationId, CommunityId]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
TEXT = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"


@EVERY_KIND
@SETTINGS
@given(value=st.uuids())
def test_any_uuid_in_any_case_becomes_its_lower_case_text(kind: type[Id], value: uuid.UUID) -> None:
    assert kind(str(value)) == kind(str(value).upper()) == str(value)
    assert TypeAdapter(kind).validate_python(value) == str(value)
    assert TypeAdapter(kind).validate_json(f'"{value}"') == str(value)
    assert TypeAdapter(kind).dump_json(kind(str(value))) == f'"{value}"'.encode()


@EVERY_KIND
@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "id1",
        TEXT[:-1],
        TEXT + "0",
        TEXT.replace("-", ""),
        f"{{{TEXT}}}",
        f"urn:uuid:{TEXT}",
        f" {TEXT}",
        f"{TEXT}\n",
        TEXT.replace("c3301", "c_301"),
        TEXT.replace("1", "１"),
        3,
        None,
        b"3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    ],
)
def test_what_is_no_uuid_is_refused_with_the_name_of_the_type(kind: type[Id], wrong: object) -> None:
    with pytest.raises(ValueError, match=f"{kind.__name__} must be a UUID"):
        kind(wrong)  # type: ignore[arg-type] # the wrong type is the point
    with pytest.raises(ValidationError, match=f"{kind.__name__} must be a UUID"):
        TypeAdapter(kind).validate_python(wrong)


@pytest.mark.parametrize(("given_kind", "wanted"), list(permutations(KINDS, 2)))
def test_an_id_of_another_type_is_refused_at_run_time(given_kind: type[Id], wanted: type[Id]) -> None:
    with pytest.raises(TypeError, match=f"{given_kind.__name__} given where {wanted.__name__} belongs"):
        wanted(given_kind(TEXT))
    with pytest.raises(ValidationError, match=f"{given_kind.__name__} given where {wanted.__name__} belongs"):
        TypeAdapter(wanted).validate_python(given_kind(TEXT))


@pytest.mark.parametrize(
    ("field", "kind"),
    [("chunk_id", ChunkId), ("file_id", FileId), ("community_id", CommunityId)],
)
@pytest.mark.parametrize("other", KINDS)
def test_a_model_takes_its_own_kind_of_id_only(field: str, kind: type[Id], other: type[Id]) -> None:
    data = {field: other(TEXT)}
    if other is kind:
        assert getattr(SearchResultSources.model_validate(data), field) == TEXT
    else:
        with pytest.raises(ValidationError, match=f"{other.__name__} given where {kind.__name__} belongs"):
            SearchResultSources.model_validate(data)


@EVERY_KIND
def test_an_id_keeps_its_type_through_copies_and_pickles(kind: type[Id]) -> None:
    identity = kind(TEXT)
    assert kind(identity) is identity
    for again in (copy.copy(identity), copy.deepcopy(identity), pickle.loads(pickle.dumps(identity))):  # noqa: S301 (our own bytes)
        assert again == identity
        assert type(again) is kind


def test_fresh_ids_are_of_their_type_and_never_the_same() -> None:
    makers = {
        ChunkId: new_chunk_id,
        FileId: new_file_id,
        EntityId: new_entity_id,
        RelationId: new_relation_id,
        CommunityId: new_community_id,
    }
    for kind, make in makers.items():
        made = [make() for _ in range(50)]
        assert {type(identity) for identity in made} == {kind}
        assert len(set(made)) == 50


@SETTINGS
@given(some=st.lists(st.text(), max_size=4), other=st.lists(st.text(), max_size=4))
def test_derived_ids_are_equal_exactly_when_their_parts_are(some: list[str], other: list[str]) -> None:
    assert (ChunkId.derived(*some) == ChunkId.derived(*other)) is (some == other)


def test_parts_do_not_run_into_one_another() -> None:
    assert FileId.derived("a", "bc") != FileId.derived("ab", "c")
    assert FileId.derived("a\x1f1:b") != FileId.derived("a", "b")
    assert FileId.derived("") != FileId.derived()


def test_the_same_parts_give_different_ids_to_different_types() -> None:
    assert len({kind.derived("a") for kind in KINDS}) == len(KINDS)


def test_derived_ids_never_change_because_every_index_holds_them() -> None:
    file_id = file_id_for("default", "notes/a.md")
    assert file_id == "55545970-596c-535a-86fe-82583be04ea4"
    assert file_id_for("default", "日本.md") == "e1bc8b08-bb4a-5159-9880-c122c9352ffb"
    assert chunk_id_for(file_id, "text") == chunk_id_for(file_id, "text", 0) != chunk_id_for(file_id, "text", 1)


def test_a_file_name_that_is_no_unicode_still_has_an_id() -> None:
    # What os.listdir() gives for the byte 0x80; this once was an encoding error.
    assert file_id_for("default", "caf\udc80") != file_id_for("default", "caf\udc81")
    assert file_id_for("default", "caf\udc80") != file_id_for("default", "caf\\udc80")


def test_a_relation_has_a_direction() -> None:
    a, b = entity_id_for("a"), entity_id_for("b")
    assert relation_id_for(a, "owns", b) == relation_id_for(a, "owns", b)
    assert relation_id_for(a, "owns", b) != relation_id_for(b, "owns", a)


@SETTINGS
@given(members=st.lists(ids_of(EntityId), min_size=1, max_size=5), level=st.integers(0, 3))
def test_a_community_is_its_members_and_its_level(members: list[EntityId], level: int) -> None:
    assert community_id_for(level, members) == community_id_for(level, reversed(members + members))
    assert community_id_for(level, members) != community_id_for(level + 1, members)


def test_a_text_from_the_web_has_an_id_of_its_url_and_text() -> None:
    assert web_chunk_id_for("https://a.example", "x") == web_chunk_id_for("https://a.example", "x")
    assert web_chunk_id_for("https://a.example", "x") != web_chunk_id_for("https://b.example", "x")


@EVERY_KIND
def test_the_json_schema_of_an_id_is_a_uuid(kind: type[Id]) -> None:
    assert TypeAdapter(kind).json_schema() == {"type": "string", "format": "uuid"}
