"""A chunk -> its names, without a model: by how names are written in English and in Japanese."""

from __future__ import annotations

from hybridrag.graph.extract_english import extract_english
from hybridrag.graph.extract_japanese import extract_japanese
from hybridrag.graph.mentions import Context, Extraction
from hybridrag.language.detect import detect

NO_CONTEXT = Context()


def extract_light(text: str, *, language: str | None = None, context: Context = NO_CONTEXT) -> Extraction:
    """Names, titles, quoted and code terms, dates and aliases of a chunk, each at its place.

    "Apple Inc. hired John Smith." -> Apple Inc. (organisation), John Smith (person)
    `language` is the chunk's, and is looked up where it is not given; any but "ja" is read like English. `context`
    helps to tell names from words: a title names what the text speaks of.
    """
    if (language or detect(text)) == "ja":
        return extract_japanese(text, context)
    return extract_english(text, context)
