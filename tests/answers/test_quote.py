"""What is quoted around a stretch: rows with their columns, commands with what announces them, never a heading."""

from __future__ import annotations

from hybridrag.answers.quote import Quoted, complete, prose, quote, within_block
from hybridrag.language.lines import silent_lines


def quoted(text: str, stretch: str, *, known: tuple[str, ...] = (), goes_on: bool = False) -> str:
    start = text.index(stretch)
    found = quote(text, (start, start + len(stretch)), silent=silent_lines(text, known), goes_on=goes_on)
    assert isinstance(found, Quoted)
    return found.shown


def completed(text: str, stretch: str, *, clause: bool = False) -> str:
    start = text.index(stretch)
    return text[slice(*complete(text, (start, start + len(stretch)), clause=clause))]


def test_a_row_of_a_markdown_table_comes_with_the_names_of_its_columns() -> None:
    table = "| item | colonies | origin |\n|---|---|---|\n| Acropora | 24 | farm |\n| Fungia | 6 | customs |"
    assert quoted(table, "6") == "item: Fungia | colonies: 6 | origin: customs"


def test_of_a_stretch_over_several_rows_one_is_quoted() -> None:
    assert quoted("a: 1 | b: 2\na: 3 | b: 44", "2\na: 3 | b") == "a: 3 | b: 44"


def test_a_heading_above_a_command_announces_nothing() -> None:
    # A chunk holds the words of its heading without its marks, and these were quoted as the announcing line.
    text = "Two minutes\n\n```console\n$ hybridrag serve\n```\n"
    at = text.index("hybridrag")
    found = quote(text, (at, at + 15), silent=[(0, 12)])
    assert found is not None
    assert found.shown == "$ hybridrag serve"


def test_a_command_comes_with_the_line_that_announces_it_and_keeps_its_lines() -> None:
    # The flattened command could not be copied, and mostly was missing.
    text = "Upgrade in two steps:\n\n```sh\napt update\napt full-upgrade\n```\n\nThen restart."
    assert quoted(text, "Upgrade") == "Upgrade in two steps:\napt update\napt full-upgrade"
    assert quoted(text, "full-upgrade") == "Upgrade in two steps:\napt update\napt full-upgrade"


def test_a_japanese_sentence_comes_with_the_command_under_it() -> None:
    text = "次のコマンドを実行します。\n\n    apt full-upgrade\n\n終わったら再起動します。"
    assert quoted(text, "実行します") == "次のコマンドを実行します。\n    apt full-upgrade"


def test_a_list_comes_with_the_sentence_that_opens_it() -> None:
    assert quoted("Bring along:\n- a rope\n- a lamp\n\nNothing else.", "Bring") == "Bring along:\n- a rope\n- a lamp"


def test_of_a_log_one_line_is_quoted() -> None:
    log = "06-02 03:14 pump B stopped\n06-05 22:51 screen blocked\n06-07 14:20 27.9, chiller fan"
    assert quoted(log, "screen blocked") == "06-05 22:51 screen blocked"


def test_wrapped_lines_are_one_sentence() -> None:
    assert quoted("The lighthouse was built by\nthe Marten family in\n1874.", "1874") == (
        "The lighthouse was built by the Marten family in 1874."
    )


def test_under_a_question_stands_its_answer() -> None:
    # A question in plain text, with no mark of a heading, was quoted as its own answer.
    text = "How do I reset the pump?\n\nHold the green button for five seconds."
    assert quoted(text, "reset the pump") == "Hold the green button for five seconds."


def test_a_sentence_that_points_back_comes_with_the_one_before_it() -> None:
    assert (
        quoted("Orin Works makes clocks. It opened in 1987.", "1987") == "Orin Works makes clocks. It opened in 1987."
    )


def test_all_steps_of_a_numbered_list_are_quoted() -> None:
    steps = "1. Open the lid.\n2. Hold the button.\n3. Wait.\n4. Close it.\n\nDone."
    assert (
        quoted(steps, "Open the lid", goes_on=True) == "1. Open the lid.\n2. Hold the button.\n3. Wait.\n4. Close it."
    )


def test_a_heading_alone_gives_nothing() -> None:
    assert quote("# Reset", (2, 7), silent=[(0, 7)]) is None


def test_a_stretch_is_completed_to_words_cells_and_amounts() -> None:
    assert completed("The fee is £12.50 a day.", "12") == "£12.50"
    assert completed("tank: J1 | temp: 14.0 to 15.0 | keeper: Hedda", "14") == "14.0 to 15.0"
    assert completed("the Mart", "ar") == "Mart"
    assert completed("住所は東京都です", "東京都") == "東京都"


def test_a_reason_is_completed_to_its_clause() -> None:
    text = "No round was made at 02:30, since the porter was helping in the bar. He came back."
    assert completed(text, "helping", clause=True) == "since the porter was helping in the bar"


def test_prose_is_what_ends_as_a_sentence() -> None:
    text = "# Fees\n\nFees rose by a tenth. Who pays?\n\na: 1 | b: 2.\n\nOpen hours"
    assert [text[slice(*one)] for one in prose(text, [(0, 7)])] == ["Fees rose by a tenth."]


def test_a_quotation_runs_over_no_heading() -> None:
    text = "It was made automatic in 1931.\n\n## Visiting\n\nThe tower is open from May to September."
    start, end = within_block(text, (22, len(text)), silent_lines(text, ()))
    assert text[start:end].strip() == "The tower is open from May to September."


def test_a_sentence_of_an_item_comes_with_the_beginning_of_the_item() -> None:
    # "Default: 0.7." alone does not say of what.
    text = "- caution: when it answers. Default: 0.6.\n- bounds: how it grades. A number. Default: 0.7."
    assert quoted(text, "0.7") == "- bounds: how it grades. A number. Default: 0.7."


def test_wrapped_lines_before_code_are_joined() -> None:
    assert quoted("Run this to see\nthe settings:\n\n    config show\n", "see") == (
        "Run this to see the settings:\n    config show"
    )


def test_a_long_quotation_stays_within_its_text_and_cuts_no_word() -> None:
    text = "\n".join(["- first " + "word " * 100, "- second " + "word " * 60 + "gold"])
    start = text.index("gold")
    found = quote("Bring along:\n" + text, (start + 13, start + 17), goes_on=True)
    assert found is not None
    assert found.end <= len(text) + 13
    assert found.shown.endswith("gold")
    assert found.shown.split()[0] in {"-", "word", "second", "first"}
