from __future__ import annotations

import sys

import pytest

from hybridrag.errors import InvalidSettings, ModelUnavailable
from hybridrag.graph.extract import LightExtractor, Passage, SpacyExtractor, choose_extractor
from hybridrag.graph.extract_light import extract_light
from hybridrag.graph.extract_spacy import MAX_TEXT, Pipeline, installed_model, with_model_types
from hybridrag.graph.mentions import Context, Extraction
from hybridrag.types.extraction import Mention, Source
from hybridrag.types.graph import EntityType

ENGLISH = "Ann Lee founded Acme Corp in London in 1999. Toy House was directed by Bob Ray, the owner of Big Studios."


def triples(extractor: SpacyExtractor, text: str) -> set[tuple[str, str, str]]:
    (found,) = extractor.extract([Passage(text)])
    return {(it.subject_key, it.predicate, it.object_key) for it in found.facts}


@pytest.fixture(scope="module")
def spacy_extractor() -> SpacyExtractor:
    return SpacyExtractor(languages=("en",))


@pytest.fixture(scope="module")
def combined() -> SpacyExtractor:
    return SpacyExtractor(languages=("en",), light_names=True)


@pytest.mark.heavy
def test_an_english_pipeline_finds_and_types_names(spacy_extractor: SpacyExtractor) -> None:
    (found,) = spacy_extractor.extract([Passage(ENGLISH)])
    named = {it.name: it.type for it in found.mentions}
    assert named["Ann Lee"] is EntityType.PERSON
    assert named["Acme Corp"] is EntityType.ORGANISATION
    assert named["London"] is EntityType.PLACE
    assert named["1999"] is EntityType.TIME
    assert all(ENGLISH[it.start : it.end] == it.name and it.source is Source.MODEL for it in found.mentions)


@pytest.mark.heavy
def test_a_parse_gives_facts_that_rules_miss(combined: SpacyExtractor) -> None:
    text = "Ann Lee, who was born in Durg, quickly and without any warning at all founded Acme Corp."
    assert ("ann lee", "founded", "acme corp") in triples(combined, text)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ann Lee founded Acme Corp.", ("ann lee", "founded", "acme corp")),
        ("Acme Corp was founded by Ann Lee and Bob Ray.", ("bob ray", "founded", "acme corp")),
        ("Ann Lee moved to London.", ("ann lee", "moved to", "london")),
        ("Ann Lee is the director of Acme Corp.", ("ann lee", "director of", "acme corp")),
        ("Ann Lee, the founder of Acme Corp, left.", ("ann lee", "founder of", "acme corp")),
        ("Ann Lee left Acme Corp and joined Globex Inc.", ("ann lee", "joined", "globex inc")),
        ("We met Acme Corp's founder Ann Lee.", ("ann lee", "founder of", "acme corp")),
        ("Acme Corp is a company led by Ann Lee.", ("ann lee", "led", "acme corp")),
    ],
)
def test_a_parse_reads_the_same_facts_as_the_rules(
    combined: SpacyExtractor, text: str, expected: tuple[str, str, str]
) -> None:
    assert expected in triples(combined, text)


@pytest.mark.heavy
def test_the_batch_does_not_change_what_a_passage_says(combined: SpacyExtractor) -> None:
    passages = [Passage(ENGLISH), Passage("山田太郎が来た。"), Passage("Привет, мир"), Passage(""), Passage(ENGLISH)]
    together = combined.extract(passages)
    assert together == [combined.extract([passage])[0] for passage in passages]
    assert together[0] == together[4]
    assert combined.extract([]) == []


@pytest.mark.heavy
def test_a_long_text_is_read_in_pieces_with_right_places() -> None:
    text = f"{ENGLISH} " * (MAX_TEXT // len(ENGLISH) + 2)
    (found,) = Pipeline("en").extract([text])
    assert all(text[it.start : it.end] == it.name for it in found.mentions)
    assert found.mentions[-1].start > MAX_TEXT


def test_a_missing_pipeline_says_how_to_install_it() -> None:
    with pytest.raises(ModelUnavailable, match="spacy download") as caught:
        Pipeline("en", model="en_no_such_model").extract(["Hello."])
    assert caught.value.model == "en_no_such_model"
    assert Pipeline("en", model="en_no_such_model").name == "en_no_such_model"


@pytest.fixture
def without_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine where it is not installed."""
    monkeypatch.setitem(sys.modules, "spacy", None)


@pytest.mark.usefixtures("without_spacy")
def test_without_spacy_auto_is_light_and_a_pipeline_says_what_to_do() -> None:
    assert installed_model("en") is None
    assert isinstance(choose_extractor("auto"), LightExtractor)
    with pytest.raises(ModelUnavailable, match="pip install"):
        Pipeline("ja").extract(["はい。"])


def test_auto_takes_the_pipeline_for_english_and_says_so() -> None:
    assert choose_extractor("auto").name.startswith("combined 3 (en_core_web_sm")
    assert "ginza" not in choose_extractor("auto").name
    assert choose_extractor("light").name == "light 3"
    assert "ja_ginza" in choose_extractor("spacy").name
    assert choose_extractor("combined").name.startswith("combined 3 (")


def test_an_unknown_extractor_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(InvalidSettings, match="auto, light, spacy, combined"):
        choose_extractor("magic")


def test_the_light_extractor_gives_names_aliases_and_facts() -> None:
    text = "Ann Lee founded the Foo Bar Institute (FBI)."
    (found,) = LightExtractor().extract([Passage(text, "en", Context("Ann Lee"))])
    assert found.mentions == extract_light(text, context=Context("Ann Lee")).mentions
    assert len(found.aliases) == 1
    assert ("ann lee", "founded", "foo bar institute") in {
        (it.subject_key, it.predicate, it.object_key) for it in found.facts
    }


def test_a_model_types_what_the_light_cue_left_open() -> None:
    def at(kind: EntityType, strength: int, source: Source = Source.NAME) -> Mention:
        return Mention("Zinga", "zinga", kind, 0, 5, 0.9, source, strength)

    model = Extraction((at(EntityType.PERSON, 2, Source.MODEL),))
    for strength, language, expected in [
        (0, "en", EntityType.PERSON),
        (1, "en", EntityType.PERSON),
        (2, "en", EntityType.PLACE),
        (0, "ja", EntityType.PERSON),
        (1, "ja", EntityType.PLACE),
    ]:
        light = Extraction((at(EntityType.PLACE, strength),))
        assert with_model_types(light, model, language=language).mentions[0].type is expected
    dated = Extraction((at(EntityType.TIME, 0, Source.DATE),))
    assert with_model_types(dated, model, language="en") == dated
    assert with_model_types(dated, Extraction(), language="en") == dated
