"""Take a question apart into names, words and phrases: everything that rules look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hybridrag.language.detect import detect
from hybridrag.language.japanese import JAPANESE_TEXT
from hybridrag.language.morphemes import morphemes
from hybridrag.language.normalise import Normalised, normalise_with_offsets
from hybridrag.queries.find_names import identifiers, known_spans, quoted_names, settled, with_asides
from hybridrag.queries.read_english import Word, capitalised_names, raw_words, with_names
from hybridrag.queries.read_japanese import Phrase, noun_names, phrases
from hybridrag.queries.signals import Span

KnownNames = Callable[[str], Sequence[str]]
"""Question -> the names in it that the graph knows, as the question writes them."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A question taken apart; places count in its normalised text."""

    normal: Normalised
    language: str
    names: list[Span]
    words: list[Word]
    row: list[Phrase]

    @property
    def text(self) -> str:
        """The normalised text."""
        return self.normal.text

    @property
    def line(self) -> str:
        """The words with one space between them, names as `N`."""
        return " ".join(word.text for word in self.words)


def read_question(text: str, *, known_names: KnownNames | None = None) -> Reading:
    """The question taken apart: known and quoted names first, then what is written like a name.

    "Who directed The Quiet Harbour?" -> names [The Quiet Harbour], words who, directed, N, ?
    """
    normal = normalise_with_offsets(text)
    plain = normal.text
    language = detect(plain)
    raw = raw_words(plain)
    capitalised = capitalised_names(plain, raw)
    quoted = quoted_names(plain)
    known = _as_quoted(_without_words(plain, known_spans(plain, known_names(text))), quoted) if known_names else []
    japanese = morphemes(plain) if JAPANESE_TEXT.search(plain) and language != "zh" else []
    written = identifiers(plain) + capitalised + (noun_names(plain, japanese) if language == "ja" else [])
    names = with_asides(plain, settled(_without_parts(plain, known, capitalised), quoted, written))
    return Reading(normal, language, names, with_names(raw, names), phrases(plain, japanese, names))


def _without_words(text: str, known: Sequence[Span]) -> list[Span]:
    """The known names less those that the question uses as plain words: 作者, director.

    A graph knows such words as names where documents write about them. Alone, they are what is asked about.
    """
    return [span for span in known if (name := text[span.start : span.end]) == text or not _is_word(name)]


def _is_word(name: str) -> bool:
    """Whether a name is written as one common noun."""
    if name.isascii():
        return name.islower() and name.isalpha()
    words = morphemes(name)
    return len(words) == 1 and not words[0].unknown and words[0].pos[1] != "固有名詞"


def _as_quoted(known: Sequence[Span], quoted: Sequence[Span]) -> list[Span]:
    """The known names, each with its quotation marks where it stands in them: 『静かな港』."""
    marked = {(span.start, span.end): span for span in quoted}
    return [marked.get((span.start, span.end), span) for span in known]


def _without_parts(text: str, known: Sequence[Span], capitalised: Sequence[Span]) -> list[Span]:
    """The known names less those inside a longer one: Paris is not meant in Paris Hilton, but is in Paris's Louvre."""
    longer = [span for span in capitalised if "'s " not in text[span.start : span.end]]
    return [name for name in known if not any(_holds(span, name) for span in longer)]


def _holds(span: Span, name: Span) -> bool:
    return span.start <= name.start and name.end <= span.end and span.end - span.start > name.end - name.start
