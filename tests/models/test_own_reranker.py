"""The package's own cross-encoder: what it says, and that its 8 bits say what the trained numbers say."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from training.export import export_model, main, pack_words, read_state
from training.ragged import save
from training.read_back import WORDS_FILE, read_graph, read_words

from hybridrag.errors import DeadlineExceeded, ModelUnavailable
from hybridrag.models.e5_weights import unpack_blocks
from hybridrag.models.own_reranker import (
    CALIBRATION_FILE,
    FOLDER,
    OwnReranker,
    open_engine,
    passage_text,
)
from hybridrag.models.unigram import save_vocabulary
from hybridrag.protocols import Question
from hybridrag.result import Err, Ok
from hybridrag.testing.promises import check_reranker
from hybridrag.types.results import Hit

HIDDEN, WIDE, LAYERS, PIECES = 64, 128, 2, 40

ENGLISH = Question("Who designed the Eiffel Tower's structure?")
JAPANESE = Question("富士山の標高は何メートルですか？")


def candidate(text: str, **fields: Any) -> Hit:
    return Hit(id=text[:8], text=text, score=0.5, **fields)


ENGLISH_PASSAGES = [
    candidate("The tower is open to visitors every day from 9:30, and tickets are sold online."),
    candidate("The structure of the Eiffel Tower was designed by Maurice Koechlin and Émile Nouguier."),
    candidate("Bread is made of flour, water, salt and yeast."),
]
JAPANESE_PASSAGES = [
    candidate("富士山の登山道は7月から9月まで開かれる。"),
    candidate("富士山は日本で最も高い山で、標高は3776メートルである。"),
    candidate("味噌は大豆から作られる。"),
]


@pytest.fixture(scope="module", params=["small", "base"])
def model(request: pytest.FixtureRequest) -> OwnReranker:
    return OwnReranker(request.param, threads=1)


@pytest.fixture(scope="module")
def reader() -> OwnReranker:
    return OwnReranker("base", threads=1)


@pytest.mark.heavy
@pytest.mark.parametrize(("question", "passages"), [(ENGLISH, ENGLISH_PASSAGES), (JAPANESE, JAPANESE_PASSAGES)])
def test_the_passage_that_answers_comes_first(model: OwnReranker, question: Question, passages: list[Hit]) -> None:
    scores = [score for score in model.rerank(question, passages).unwrap().scores if score is not None]
    assert scores[1] > max(scores[0], scores[2])
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("question", "passages", "answer"),
    [(ENGLISH, ENGLISH_PASSAGES, "Koechlin"), (JAPANESE, JAPANESE_PASSAGES, "3776")],
)
def test_it_says_which_passage_holds_the_answer_and_where(
    reader: OwnReranker, question: Question, passages: list[Hit], answer: str
) -> None:
    readings = [reading for reading in reader.read(question, passages).unwrap() if reading is not None]
    assert max(readings, key=lambda one: one.holds) is readings[1]
    assert answer in passages[1].text[readings[1].start : readings[1].end]


@pytest.mark.heavy
def test_a_question_on_a_passage_of_the_other_language_is_read(reader: OwnReranker) -> None:
    asked = Question("How high is Mount Fuji?")
    readings = [reading for reading in reader.read(asked, JAPANESE_PASSAGES).unwrap() if reading is not None]
    assert max(readings, key=lambda one: one.holds) is readings[1]


@pytest.mark.heavy
def test_neither_a_heading_nor_the_question_itself_is_an_answer(reader: OwnReranker) -> None:
    faq = candidate("## How do I reset the pump?\n\nHold the green button.", headings=("How do I reset the pump?",))
    (reading,) = reader.read(Question("How do I reset the pump?"), [faq]).unwrap()
    assert reading is not None
    assert reading.start >= faq.text.index("Hold")
    (nothing,) = reader.read(Question("Reset?"), [candidate("# Reset\n\nReset?")]).unwrap()
    assert nothing is not None
    assert nothing.start == nothing.end


@pytest.mark.heavy
def test_it_keeps_the_promises_of_a_reranker(model: OwnReranker) -> None:
    check_reranker(model)
    assert model.name == f"own-{model.size}"


@pytest.mark.heavy
def test_no_candidates_give_no_scores(model: OwnReranker) -> None:
    assert model.rerank(ENGLISH, []).unwrap().scores == ()
    assert list(model.read(ENGLISH, []).unwrap()) == []


@pytest.mark.heavy
def test_out_of_time_before_the_first_passage_is_an_error(model: OwnReranker) -> None:
    late = [candidate("Nobody has read this one yet."), candidate("Nor this one.")]
    for result in (model.rerank(ENGLISH, late, timeout=0.0), model.read(ENGLISH, late, timeout=0.0)):
        assert isinstance(result, Err)
        assert isinstance(result.error, DeadlineExceeded)


@pytest.mark.heavy
@pytest.mark.parametrize("text", ["", " ", "\ud800", "a" * 50_000, "日" * 50_000, "</s> <s>", "\x00\u200b"])
def test_odd_texts_get_a_score_like_any_other(text: str) -> None:
    model = OwnReranker(threads=1)
    result = model.rerank(Question(text or "?"), [candidate(text)])
    assert isinstance(result, Ok)
    assert result.value.scores[0] is not None
    assert math.isfinite(result.value.scores[0])


@pytest.mark.heavy
def test_a_pair_is_read_once() -> None:
    model = OwnReranker(threads=1)
    first = model.tell(ENGLISH.text, ENGLISH_PASSAGES).unwrap()
    again = model.tell(ENGLISH.text, ENGLISH_PASSAGES).unwrap()
    assert all(one is other for one, other in zip(first, again, strict=True))


def test_title_and_headings_stand_before_the_text_once() -> None:
    assert passage_text(candidate("It is small.", title="Vue", headings=("Vue", "Size"))) == "Vue\nSize\nIt is small."
    assert passage_text(candidate("# Vue\nIt is small.", title="Vue")) == "# Vue\nIt is small."


def test_missing_files_are_said_in_one_sentence(tmp_path: Path) -> None:
    model = OwnReranker(folder=tmp_path)
    for result in (model.rerank(ENGLISH, ENGLISH_PASSAGES), model.read(ENGLISH, ENGLISH_PASSAGES)):
        assert isinstance(result, Err)
        assert isinstance(result.error, ModelUnavailable)
        assert "pip install --force-reinstall hybridrag" in str(result.error)


# A small model of random numbers, written with the same code


def random_state(rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
    shapes = {"q": (HIDDEN, HIDDEN), "k": (HIDDEN, HIDDEN), "v": (HIDDEN, HIDDEN), "ao": (HIDDEN, HIDDEN)}
    shapes |= {"fi": (WIDE, HIDDEN), "fo": (HIDDEN, WIDE)}
    state = {"positions": rng.normal(0, 0.1, (512, HIDDEN)), "types": rng.normal(0, 0.1, (2, HIDDEN))}
    for layer in range(LAYERS):
        for name, shape in shapes.items():
            state[f"layers.{layer}.{name}.weight"] = rng.normal(0, shape[1] ** -0.5, shape)
            state[f"layers.{layer}.{name}.bias"] = rng.normal(0, 0.1, shape[0])
    for name in ("norm", *(f"layers.{layer}.{part}" for layer in range(LAYERS) for part in ("aln", "oln"))):
        state[f"{name}.weight"], state[f"{name}.bias"] = rng.normal(1, 0.1, HIDDEN), rng.normal(0, 0.1, HIDDEN)
    state["pool.weight"], state["pool.bias"] = rng.normal(0, 0.1, (HIDDEN, HIDDEN)), np.zeros(HIDDEN)
    state["span.weight"], state["span.bias"] = rng.normal(0, 0.3, (2, HIDDEN)), rng.normal(0, 0.1, 2)
    state["answer.weight"], state["answer.bias"] = rng.normal(0, 0.3, (2, HIDDEN)), rng.normal(0, 0.1, 2)
    return {name: value.astype(np.float32) for name, value in state.items()}


def reference(state: dict[str, NDArray[Any]], words: NDArray[Any], question: list[int], passage: list[int]) -> Any:
    """The same network in plain float64, in reading order and with every token in every layer."""
    ids = [0, *question, 2, *passage, 2]
    types = np.array([0] * (len(question) + 2) + [1] * (len(passage) + 1))

    def dense(value: NDArray[Any], name: str) -> NDArray[Any]:
        result: NDArray[Any] = value @ state[f"{name}.weight"].T.astype(float) + state[f"{name}.bias"]
        return result

    value = words[ids].astype(float) + state["positions"][: len(ids)] + state["types"][types]
    value = _norm(value, state, "norm")
    for layer in range(LAYERS):
        name = f"layers.{layer}."
        q, k, v = (dense(value, name + part).reshape(len(ids), -1, 32).swapaxes(0, 1) for part in "qkv")
        weight = np.exp(q @ k.swapaxes(1, 2) / math.sqrt(32))
        context = (weight / weight.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), -1)
        value = _norm(value + dense(context, name + "ao"), state, name + "aln")
        wide = dense(value, name + "fi")
        active = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        value = _norm(value + dense(active, name + "fo"), state, name + "oln")
    spans = dense(value, "span")[len(question) + 2 : -1]
    return dense(np.tanh(dense(value[0], "pool")), "answer"), spans


def _norm(value: NDArray[Any], state: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    centred = value - value.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    result: NDArray[Any] = scaled * state[f"{name}.weight"] + state[f"{name}.bias"]
    return result


def write_words(rng: np.random.Generator) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    numbers = rng.integers(-8, 8, (PIECES * HIDDEN // 32, 32)).astype(np.int8)
    return numbers, rng.uniform(0.01, 0.05, len(numbers)).astype(np.float16)


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, dict[str, NDArray[np.float32]]]:
    """A folder as the export writes it, and the numbers it was made from."""
    rng = np.random.default_rng(5)
    work, models, target = (tmp_path / name for name in ("work", "models", "target"))
    work.mkdir()
    models.mkdir()
    numbers, scale = write_words(rng)
    save(work / "weights.npz", {"emb.word": numbers, "emb.word.scale": scale})
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", *(chr(97 + place) for place in range(PIECES - 5))]
    save_vocabulary(work, pieces, np.linspace(-1, -5, PIECES).astype(np.float32))
    state = random_state(rng)
    halves = {name: value.astype(np.float16) for name, value in state.items()}
    names = sorted(halves)
    save(models / "small-0.npz", {name: halves[name] for name in names[:9]})
    save(models / "small-1.npz", {name: halves[name] for name in names[9:]})
    main(work, models, target, ["small"])
    curves = {"fit": [1, 0], "holds": [1, 0]}
    (target / CALIBRATION_FILE).write_text(json.dumps({"small": {"en": curves, "ja": curves}}))
    return target, read_state(models, "small")


def test_the_exported_model_says_what_the_trained_numbers_say(
    made: tuple[Path, dict[str, NDArray[np.float32]]],
) -> None:
    folder, state = made
    engine = open_engine(folder, "small")
    words = unpack_blocks(np.asarray(engine.words).reshape(-1, 18)).reshape(PIECES, HIDDEN)
    rng = np.random.default_rng(6)
    for length in (1, 7, 30):
        question, passage = rng.integers(4, PIECES, 4).tolist(), rng.integers(4, PIECES, length).tolist()
        exact, spans = reference(state, words, question, passage)
        told = engine.answers(question, passage)
        assert [told.fit, told.holds] == pytest.approx(exact.tolist(), abs=0.1)
        assert told.spans == pytest.approx(spans, abs=0.2)


def test_an_exported_model_can_be_read_back(made: tuple[Path, dict[str, NDArray[np.float32]]]) -> None:
    folder, state = made
    back = read_graph(folder, "small")
    assert set(back) == set(state)
    for name in set(state) - {"positions", "types"}:
        step = float(np.abs(state[name]).max()) / 100
        assert back[name] == pytest.approx(state[name], abs=step), name
    used = np.load(folder / "small.places.npy").shape[1]
    for kind in (0, 1):
        before, after = (one["positions"][:used] + one["types"][kind] for one in (state, back))
        assert after == pytest.approx(before, abs=2e-3)
    blocks = np.frombuffer((folder / WORDS_FILE).read_bytes(), dtype=np.uint8).reshape(-1, 18)
    assert np.array_equal(read_words(folder, HIDDEN), unpack_blocks(blocks).reshape(-1, HIDDEN))


def test_word_vectors_come_back_as_they_were_packed() -> None:
    numbers, scale = write_words(np.random.default_rng(1))
    blocks = np.frombuffer(pack_words(numbers, scale), dtype=np.uint8).reshape(-1, 18)
    assert np.array_equal(unpack_blocks(blocks), numbers * scale.astype(np.float32)[:, None])


def test_a_calibration_that_lacks_a_language_is_damage(made: tuple[Path, dict[str, NDArray[np.float32]]]) -> None:
    folder, _ = made
    (folder / CALIBRATION_FILE).write_text('{"small": {"en": {}}}')
    with pytest.raises(ModelUnavailable, match="missing or damaged"):
        open_engine(folder, "small")


def test_a_damaged_graph_is_said_in_one_sentence(made: tuple[Path, dict[str, NDArray[np.float32]]]) -> None:
    folder, state = made
    export_model(state, folder, "small")
    (folder / "small.onnx").write_bytes(b"no graph")
    result = OwnReranker("small", folder=folder).rerank(ENGLISH, ENGLISH_PASSAGES)
    assert isinstance(result, Err)
    shutil.rmtree(folder)


def test_only_the_answers_used_last_are_remembered(
    made: tuple[Path, dict[str, NDArray[np.float32]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybridrag.models.own_reranker.REMEMBERED", 2)
    model = OwnReranker("small", folder=made[0], threads=1)
    model.tell("abc", [candidate(text) for text in ("a", "b", "a", "c")])
    assert [passage for _, passage in model._known] == ["a", "c"]


def test_the_models_are_in_the_package() -> None:
    sizes = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert sum(sizes.values()) < 45_000_000
    assert {"small.onnx", "base.onnx", "words.q4", CALIBRATION_FILE} <= set(sizes)
