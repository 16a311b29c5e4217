from __future__ import annotations

import pytest

from hybridrag.graph.extract import Passage, SpacyExtractor
from hybridrag.graph.extract_spacy import MAX_TEXT, Pipeline
from hybridrag.types.graph import EntityType

TEXT = "山田太郎は1950年に東京都で生まれた。山田太郎は株式会社日立製作所を設立した。"


@pytest.fixture(scope="module")
def combined() -> SpacyExtractor:
    return SpacyExtractor(languages=("ja",), light_names=True)


@pytest.mark.heavy
def test_a_japanese_pipeline_finds_and_types_names() -> None:
    (found,) = SpacyExtractor(languages=("ja",)).extract([Passage(TEXT)])
    named = {it.name: it.type for it in found.mentions}
    assert named["山田太郎"] is EntityType.PERSON
    assert named["東京都"] is EntityType.PLACE
    assert named["株式会社日立製作所"] is EntityType.ORGANISATION
    assert named["1950年"] is EntityType.TIME


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("山田太郎は株式会社日立製作所を設立した。", ("山田太郎", "設立", "株式会社日立製作所")),
        ("山田太郎は株式会社日立製作所の社長である。", ("株式会社日立製作所", "社長", "山田太郎")),
        ("株式会社日立製作所は山田太郎によって設立された。", ("山田太郎", "設立", "株式会社日立製作所")),
    ],
)
def test_a_japanese_parse_reads_facts(combined: SpacyExtractor, text: str, expected: tuple[str, str, str]) -> None:
    (found,) = combined.extract([Passage(text)])
    assert expected in {(it.subject_key, it.predicate, it.object_key) for it in found.facts}


@pytest.mark.heavy
def test_the_batch_does_not_change_what_a_japanese_passage_says(combined: SpacyExtractor) -> None:
    passages = [Passage(TEXT), Passage("Ann Lee left."), Passage(TEXT)]
    assert combined.extract(passages) == [combined.extract([passage])[0] for passage in passages]


@pytest.mark.heavy
def test_a_long_japanese_text_is_read_in_pieces_with_right_places() -> None:
    text = TEXT * (MAX_TEXT // len(TEXT) + 2)
    (found,) = Pipeline("ja").extract([text])
    assert all(text[it.start : it.end] == it.name for it in found.mentions)
    assert found.mentions[-1].start > MAX_TEXT
