"""Chunks follow the structure of a document and know exactly where they stand."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hybridrag.documents.chunk import ChunkSize, chunk_document, passage_text
from hybridrag.types.documents import Block, BlockKind, Chunk, Document, LineMap, place_of
from hybridrag.types.ids import file_id_for

FILE = file_id_for("default", "a.md")


def words(text: str) -> NDArray[np.int32]:
    """One token per word or Japanese character: easy to count in a test."""
    spans = [match.span() for match in re.finditer(r"[A-Za-z0-9']+|[^\sA-Za-z0-9']", text)]
    return np.array(spans, dtype=np.int32).reshape(-1, 2)


def document(*parts: tuple[BlockKind, str] | tuple[BlockKind, str, int]) -> Document:
    """A document of these blocks with blank lines between them."""
    text, blocks = "", []
    for part in parts:
        level = part[2] if len(part) == 3 else 0
        blocks.append(Block(kind=part[0], start=len(text), end=len(text) + len(part[1]), level=level))
        text += part[1] + "\n\n"
    return Document(text=text, blocks=tuple(blocks), mime_type="text/plain", lines=LineMap.of_text(text))


def cut(doc: Document, *, tokens: int = 40, overlap: int = 0) -> list[Chunk]:
    return chunk_document(
        doc, file_id=FILE, token_spans=words, size=ChunkSize(max_tokens=tokens, overlap_tokens=overlap)
    )


H, P, ROW, CODE = BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.TABLE_ROW, BlockKind.CODE
SECTIONS = (
    (BlockKind.HEADING, "# One", 1),
    (BlockKind.PARAGRAPH, "First thought. " * 15),
    (BlockKind.HEADING, "# Two", 1),
)
SENTENCE = "The quick brown fox jumps over the lazy dog again. "


def test_a_chunk_is_exactly_the_text_at_its_offsets() -> None:
    doc = document((H, "# One", 1), (P, SENTENCE * 7), (H, "## Two", 2), (P, "日本語の文です。次の文です。" * 9))
    chunks = cut(doc)
    assert len(chunks) > 3
    for chunk in chunks:
        assert chunk.text == doc.text[chunk.start : chunk.end]
        assert chunk.line_start == doc.text.count("\n", 0, chunk.start) + 1
        assert chunk.line_end == doc.text.count("\n", 0, chunk.end - 1) + 1
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))


def test_a_heading_starts_a_chunk_and_stays_with_its_text() -> None:
    chunks = cut(document((P, SENTENCE * 2), (H, "# Limits", 1), (P, SENTENCE * 2)))
    assert [chunk.text.startswith("# Limits") for chunk in chunks] == [False, True]
    assert [chunk.headings for chunk in chunks] == [(), ("Limits",)]


def test_headings_form_a_path_and_a_higher_one_closes_the_lower() -> None:
    body = (P, SENTENCE * 3)
    doc = document((H, "# A", 1), body, (H, "## B", 2), body, (H, "### C", 3), body, (H, "## D", 2), body)
    assert [chunk.headings for chunk in cut(doc)] == [("A",), ("A", "B"), ("A", "B", "C"), ("A", "D")]


def test_sentences_are_not_cut_in_half_in_either_language() -> None:
    for text in (SENTENCE * 12, "これは日本語の文です。とても長い段落の一部になります。" * 12):
        chunks = cut(document((P, text)), tokens=30)
        assert len(chunks) > 3
        assert all(re.search(r"[.。]$", chunk.text) for chunk in chunks)
        assert all(chunk.tokens <= 30 for chunk in chunks)


def test_a_sentence_longer_than_a_chunk_is_cut_at_a_pause() -> None:
    text = ", ".join(f"item number {n}" for n in range(60))
    chunks = cut(document((P, text)), tokens=30)
    assert all(chunk.tokens <= 30 for chunk in chunks)
    assert all(chunk.text.endswith(",") for chunk in chunks[:-1])
    assert "".join(chunk.text for chunk in chunks).replace(" ", "") == text.replace(" ", "")


def test_an_endless_line_is_cut_into_bounded_chunks() -> None:
    chunks = cut(document((P, "x" * 100_000)), tokens=50)
    assert sum(len(chunk.text) for chunk in chunks) == 100_000
    assert max(len(chunk.text) for chunk in chunks) <= 2_000 * 50
    wide = cut(document((P, "漢" * 5_000)), tokens=50)
    assert all(chunk.tokens <= 50 for chunk in wide)
    assert sum(len(chunk.text) for chunk in wide) == 5_000


def test_table_rows_and_lines_of_code_stay_whole() -> None:
    rows = [(ROW, f"name: item{n} | price: {n} | stock: {n * 2}") for n in range(12)]
    for chunk in cut(document(*rows), tokens=30):
        assert all(line.startswith("name:") for line in chunk.text.split("\n\n"))
    code = "\n".join(f"def function_{n}(a, b): return a + b" for n in range(20))
    for chunk in cut(document((CODE, code)), tokens=40):
        assert all(line.startswith("def ") for line in chunk.text.splitlines())


def test_prose_overlaps_by_whole_sentences_and_rows_do_not() -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(20))
    chunks = cut(document((P, text)), tokens=30, overlap=8)
    for before, after in pairwise(chunks):
        assert after.start < before.end
        assert after.text.split(". ")[0] in before.text
    rows = cut(document(*[(ROW, f"row {n} of the table") for n in range(20)]), tokens=30, overlap=8)
    assert all(before.end <= after.start for before, after in pairwise(rows))


def test_a_tiny_section_is_joined_with_what_follows() -> None:
    chunks = cut(document((H, "# A", 1), (H, "## B", 2), (P, "Short."), (H, "## C", 2), (P, SENTENCE * 2)))
    assert len(chunks) == 1
    assert chunks[0].text.startswith("# A")


def test_the_same_document_gives_the_same_ids_and_moved_text_keeps_its_own() -> None:
    first = cut(document(*SECTIONS))
    assert cut(document(*SECTIONS)) == first
    moved = cut(document((P, "New opening words. " * 9), *SECTIONS))
    assert {chunk.id for chunk in first} <= {chunk.id for chunk in moved}


def test_equal_texts_of_one_file_have_different_ids() -> None:
    body = (P, SENTENCE * 3)
    chunks = cut(document((H, "# A", 1), body, (H, "# A", 1), body))
    assert chunks[0].text == chunks[1].text
    assert chunks[0].id != chunks[1].id


def test_a_document_without_words_has_no_chunks() -> None:
    assert cut(document((P, "  \n "), (P, "---"), (P, "***"))) == []
    assert cut(Document(text="", blocks=(), mime_type="text/plain")) == []


def test_a_passage_says_where_it_stands_once() -> None:
    (chunk,) = cut(document((H, "# Guide", 1), (P, "The limit is five.")))
    assert passage_text(chunk, "Guide") == "# Guide\n\nThe limit is five."
    inner = chunk.model_copy(update={"text": "The limit is five.", "headings": ("Guide", "Limits")})
    assert passage_text(inner, "Guide") == "Guide\nLimits\nThe limit is five."


LONG = SENTENCE * 3


def test_a_heading_never_ends_a_chunk() -> None:
    doc = document((P, LONG), (P, SENTENCE), (H, "## Limits", 2), (P, SENTENCE * 4))
    assert not any(chunk.text.endswith("Limits") for chunk in cut(doc, tokens=45))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Can I send a sensor back?", "Yes, within forty five days in the original box."),
        ("Q. 食券に文字が出ません", "A. 券紙の裏表が逆です。"),
        ("返品できますか？", "はい。十日以内に限ります。"),
    ],
)
def test_a_question_stays_with_its_answer(question: str, answer: str) -> None:
    # Without it, a chunk ended with the question and the next began with the answer.
    for padding in range(1, 12):
        chunks = cut(document((P, "word " * (3 * padding)), (P, question), (P, answer)), tokens=40)
        assert any(question in chunk.text and answer in chunk.text for chunk in chunks)


@pytest.mark.parametrize("kind", [CODE, ROW, BlockKind.LIST_ITEM])
def test_what_a_sentence_announces_begins_in_its_chunk(kind: BlockKind) -> None:
    # "次のコマンドを実行します。" stood in one chunk and the command in the next: answers had no command.
    for padding in range(1, 14):
        doc = document((P, "word " * (3 * padding)), (P, "次のコマンドを実行します。"), (kind, "apt install zebra"))
        assert any("実行します" in chunk.text and "apt install" in chunk.text for chunk in cut(doc, tokens=40))


def test_code_that_fits_is_not_cut() -> None:
    code = "\n".join(f"step {n} of it" for n in range(8))
    for padding in range(1, 14):
        chunks = cut(document((P, "word " * (3 * padding)), (P, "Run this:"), (CODE, code)), tokens=45)
        assert any(code in chunk.text for chunk in chunks)


def test_a_chunk_of_several_functions_names_them() -> None:
    text = "def f(): ...\n\ndef g(): ..."
    blocks = (Block(CODE, 0, 12, within=("A", "f")), Block(CODE, 14, 26, within=("A", "g")))
    (chunk,) = cut(Document(text=text, blocks=blocks, mime_type="text/x-python"))
    assert chunk.headings == ("A", "f, g")


def test_a_chunk_of_a_pdf_says_where_a_viewer_finds_it() -> None:
    blocks = (Block(P, 0, 3, page=3, box=(72, 90, 300, 100)), Block(P, 5, 8, page=3, box=(72, 110, 522, 150)))
    (chunk,) = cut(Document(text="One\n\nTwo", blocks=blocks, mime_type="application/pdf"))
    assert chunk.anchor == "page=3&viewrect=72,90,450,60"
    assert (chunk.line_start, place_of(chunk, "application/pdf")) == (None, "page 3")


@given(st.lists(st.tuples(st.sampled_from([P, CODE, ROW, BlockKind.LIST_ITEM, H]), st.text(max_size=400)), max_size=12))
def test_every_word_of_every_block_is_in_some_chunk(parts: list[tuple[BlockKind, str]]) -> None:
    doc = document(*[(kind, text, 1) if kind is H else (kind, text) for kind, text in parts])
    chunks = cut(doc, tokens=20, overlap=5)
    covered = np.zeros(len(doc.text), dtype=bool)
    for chunk in chunks:
        assert chunk.text == doc.text[chunk.start : chunk.end]
        covered[chunk.start : chunk.end] = True
    for block in doc.blocks:
        for place in range(block.start, block.end):
            if doc.text[place].isalnum():
                assert covered[place]
