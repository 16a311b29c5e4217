"""Where a quotation stands, and what is shown beside a refusal."""

from __future__ import annotations

from uuid import uuid4

from hybridrag.answers.answer import place_within, snippet
from hybridrag.types.answers import Citation
from hybridrag.types.ids import ChunkId
from hybridrag.types.results import SearchResultSources

TEXT = "Pump\n\n## Reset?\nHold it.\n\n## Filter?\nEvery six months."


def cited(text: str) -> Citation:
    start = TEXT.index(text)
    return Citation(number=1, result_id="1", start=start, end=start + len(text))


def sources(first: int, last: int) -> SearchResultSources:
    return SearchResultSources(
        chunk_id=ChunkId(str(uuid4())), line_start=first, line_end=last, headings=("Pump", "Reset?"), place="line 1"
    )


def test_a_quotation_is_placed_under_its_own_heading_and_line() -> None:
    # The second answer of a chunk was cited under the first question, on the chunk's first line.
    place = place_within(sources(1, 7), TEXT, cited("Every six months."))
    assert place.headings == ("Pump", "Filter?")
    assert (place.line_start, place.line_end, place.place) == (7, 7, "line 7")


def test_lines_stay_those_of_the_chunk_where_its_text_is_not_that_of_the_file() -> None:
    assert place_within(sources(1, 40), TEXT, cited("Every six months.")).line_start == 1


def test_of_a_table_one_row_is_shown_beside_a_refusal() -> None:
    # The whole block was printed, from its first row on.
    assert snippet("a: 1 | b: 2\na: 3 | b: 4", (14, 15)) == "a: 3 | b: 4"


def test_a_passage_is_shown_from_the_beginning_of_its_sentence_and_cut_between_words() -> None:
    text = "It rained. " + "The harbour fee is due. " * 20
    shown = snippet(text, (text.index("fee"), text.index("fee") + 3))
    assert shown.startswith("The harbour fee")
    assert shown.endswith(("due. …", "fee …", "harbour …", "is …", "The …"))
