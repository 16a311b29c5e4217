from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_models_onnx import Hub
from tokenizers import Tokenizer, processors

from hybridrag.errors import DeadlineExceeded, ModelUnavailable
from hybridrag.models.cross_encoder import CrossEncoder, load_cross_encoder
from hybridrag.protocols import Question, Reranker, Reranking
from hybridrag.result import Err
from hybridrag.testing.promises import check_reranker
from hybridrag.types.results import Hit
from model_builders import write_sentence_model

HARBOUR = "the harbour of the town was built in 1871."
RICE = "boil rice for ten minutes, add a little salt."
BOATS = "still used by fishing boats when the town is in"


def write_cross_encoder(
    folder: Path,
    *,
    labels: int = 1,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    positions: int = 64,
) -> Path:
    """A folder as on Hugging Face: relevance is how many words question and passage share."""
    write_sentence_model(folder, max_positions=positions)
    path = folder / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    marks = [(mark, tokenizer.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=marks
    )
    tokenizer.save(str(path))
    config = {"hidden_size": 16, "max_position_embeddings": positions, "pad_token_id": 0, "num_labels": labels}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    onnx.save_model(_graph(tokenizer.get_vocab_size(), labels, inputs), folder / "onnx" / "model.onnx")
    return folder


def _graph(vocabulary: int, labels: int, inputs: Sequence[str]) -> onnx.ModelProto:
    rng = np.random.default_rng(3)
    table = rng.normal(0, 1, (vocabulary, 64)).astype(np.float32) / 8
    table[:4] = 0  # special tokens and unknown words say nothing
    table[0] = 50  # padding that the mask does not hide would be seen at once
    node = helper.make_node
    nodes = [node("Gather", ["table", "input_ids"], ["words"])]
    nodes += [node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT) for name in inputs[1:]]
    types, mask = "token_type_ids_f", "attention_mask_f"
    nodes += [
        node("Mul", [mask, types], ["second"]),
        node("Sub", [mask, "second"], ["first"]),
        *(node("Unsqueeze", [side, "two"], [f"{side}_3"]) for side in ("first", "second")),
        *(node("Mul", ["words", f"{side}_3"], [f"{side}_w"]) for side in ("first", "second")),
        *(node("ReduceSum", [f"{side}_w", "one"], [f"{side}_sum"], keepdims=0) for side in ("first", "second")),
        node("Mul", ["first_sum", "second_sum"], ["product"]),
        node("ReduceSum", ["product", "one"], ["shared"], keepdims=1),
        node("Sub", ["shared", "half"], ["logit"]),
        node("Mul", ["logit", "minus"], ["other"]),
    ]
    parts = {1: ["logit"], 2: ["other", "logit"], 3: ["other", "logit", "logit"]}[labels]
    nodes.append(node("Concat", parts, ["logits"], axis=1))
    constants = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([2], dtype=np.int64), "two"),
        numpy_helper.from_array(np.array([1], dtype=np.int64), "one"),
        numpy_helper.from_array(np.array(2.0, dtype=np.float32), "half"),
        numpy_helper.from_array(np.array(-1.0, dtype=np.float32), "minus"),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", labels])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_cross_encoder(tmp_path / "tiny-reranker")


def encoder(folder: Path, *, batch_size: int = 2, threads: int = 1) -> CrossEncoder:
    return CrossEncoder("tiny", find_folder=lambda: folder, batch_size=batch_size, threads=threads)


def candidates(*texts: str) -> list[Hit]:
    return [Hit(id=str(place), text=text, score=0.5) for place, text in enumerate(texts)]


def scores(result: object) -> list[float]:
    value = getattr(result, "value", None)
    assert isinstance(value, Reranking), result
    assert all(score is not None for score in value.scores)
    return [float(score) for score in value.scores if score is not None]


def test_the_passage_that_answers_scores_highest(folder: Path) -> None:
    reranker = encoder(folder)
    assert isinstance(reranker, Reranker)
    found = scores(reranker.rerank(Question("when was the harbour built"), candidates(RICE, HARBOUR, BOATS)))
    assert int(np.argmax(found)) == 1
    assert all(0 <= score <= 1 for score in found)
    assert found[1] > 0.5 > found[0]


def test_it_keeps_the_contract(folder: Path) -> None:
    check_reranker(encoder(folder))


def test_no_candidates_need_no_model(tmp_path: Path) -> None:
    assert scores(encoder(tmp_path / "nowhere").rerank(Question("x"), [])) == []


@pytest.mark.parametrize("batch_size", [1, 2, 16])
def test_a_score_does_not_depend_on_its_batch(folder: Path, batch_size: int) -> None:
    question = Question("when was the harbour built")
    texts = candidates(HARBOUR, "rice", BOATS, RICE + " " + RICE, "港")
    alone = [scores(encoder(folder).rerank(question, [one]))[0] for one in texts]
    together = scores(encoder(folder, batch_size=batch_size, threads=2).rerank(question, texts))
    assert np.allclose(alone, together, atol=1e-5)


def test_two_labels_are_read_by_softmax_and_one_by_the_logistic_function(tmp_path: Path) -> None:
    question, texts = Question("when was the harbour built"), candidates(HARBOUR, RICE)
    one = np.array(scores(encoder(write_cross_encoder(tmp_path / "one")).rerank(question, texts)))
    two = np.array(scores(encoder(write_cross_encoder(tmp_path / "two", labels=2)).rerank(question, texts)))
    # The second model's labels are -logit and logit, so that they are twice as far apart.
    assert np.allclose(np.log(two / (1 - two)), 2 * np.log(one / (1 - one)), atol=1e-3)


def test_title_and_headings_are_read_too(folder: Path) -> None:
    bare = Hit(id="a", text="1871.", score=0.5)
    titled = Hit(id="b", text="1871.", score=0.5, title="harbour", headings=("built", "harbour"))
    low, high = scores(encoder(folder).rerank(Question("when was the harbour built"), [bare, titled]))
    assert high > low


def test_only_the_passage_is_cut(tmp_path: Path) -> None:
    short = encoder(write_cross_encoder(tmp_path / "short", positions=16))
    question = Question("when was the harbour built")
    tail = scores(short.rerank(question, candidates("salt " * 30 + HARBOUR, "salt " * 30)))
    assert tail[0] == pytest.approx(tail[1])
    head = scores(short.rerank(question, candidates(HARBOUR + " salt" * 30, "salt " * 30)))
    assert head[0] > head[1]


def test_a_question_longer_than_the_model_leaves_room_for_the_passage(tmp_path: Path) -> None:
    short = encoder(write_cross_encoder(tmp_path / "short", positions=16))
    found = scores(short.rerank(Question("harbour " * 100), candidates("harbour", "salt")))
    assert found[0] > found[1]


def test_odd_texts_are_scored(folder: Path) -> None:
    odd = candidates("", " ", "\ud800", "\x00", "😀" * 300, "a" * 5000)
    assert len(scores(encoder(folder).rerank(Question("\udfff?"), odd))) == len(odd)


def test_a_late_model_keeps_what_it_scored_and_says_when_it_scored_nothing(folder: Path) -> None:
    reranker = encoder(folder)
    reranker.prepare()
    late = reranker.rerank(Question("harbour"), candidates(HARBOUR, RICE), timeout=0.0)
    assert isinstance(late, Err)
    assert isinstance(late.error, DeadlineExceeded)
    assert len(scores(reranker.rerank(Question("harbour"), candidates(HARBOUR, RICE), timeout=60.0))) == 2


def test_candidates_that_there_was_no_time_for_have_no_score(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = encoder(folder, batch_size=1)
    reranker.prepare()
    # The clock that the deadline is read from: at the start, and before each batch.
    ticks = iter([0.0, 0.5, 1.5, 2.5])
    monkeypatch.setattr("hybridrag.models.cross_encoder.time.monotonic", lambda: next(ticks))
    result = reranker.rerank(Question("harbour"), candidates(HARBOUR, RICE, BOATS), timeout=1.0)
    value = getattr(result, "value", None)
    assert isinstance(value, Reranking)
    assert [score is not None for score in value.scores] == [True, False, False]


def test_many_threads_get_the_same_scores(folder: Path) -> None:
    reranker = encoder(folder, threads=2)
    questions = [Question("when was the harbour built"), Question("boil rice"), Question("fishing boats")] * 5
    texts = candidates(HARBOUR, RICE, BOATS)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda question: scores(reranker.rerank(question, texts)), questions))
    assert np.allclose(together, [scores(reranker.rerank(question, texts)) for question in questions], atol=1e-5)


@pytest.mark.parametrize(
    ("file", "reason"),
    [("onnx/model.onnx", "holds no ONNX file"), ("tokenizer.json", "holds no tokenizer.json")],
)
def test_a_missing_file_is_named(folder: Path, file: str, reason: str) -> None:
    (folder / file).unlink()
    failed(encoder(folder), f"{reason}.*Set `rerank.model`")


@pytest.mark.parametrize("file", ["onnx/model.onnx", "tokenizer.json", "config.json"])
def test_a_damaged_file_is_named(folder: Path, file: str) -> None:
    (folder / file).write_bytes(b"damaged")
    failed(encoder(folder), file)


def test_a_model_of_three_labels_is_no_reranker(tmp_path: Path) -> None:
    failed(encoder(write_cross_encoder(tmp_path / "three", labels=3)), "one or two numbers for each passage")


def test_an_embedding_model_is_no_reranker(tmp_path: Path) -> None:
    failed(encoder(write_sentence_model(tmp_path / "embedder")), "Set `rerank.model`|cannot be loaded")


def test_a_model_that_asks_for_more_than_text_is_refused(tmp_path: Path) -> None:
    inputs = ("input_ids", "attention_mask", "token_type_ids", "pixels")
    failed(encoder(write_cross_encoder(tmp_path / "seeing", inputs=inputs)), "'pixels'")


def test_a_model_that_does_not_know_its_own_tokens_is_said_to_fail(folder: Path) -> None:
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    onnx.save_model(_graph(5, 1, inputs), folder / "onnx" / "model.onnx")
    failed(encoder(folder), "fails on a question and a passage")


def failed(reranker: CrossEncoder, reason: str) -> None:
    result = reranker.rerank(Question("harbour"), candidates(HARBOUR))
    assert isinstance(result, Err)
    with pytest.raises(ModelUnavailable, match=reason):
        result.unwrap()
    assert "\n" not in str(result.error)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "config.json").write_text("{}", encoding="utf-8")
    served = write_cross_encoder(tmp_path / "served")
    hub = Hub({"someone/tiny-reranker": served, "someone/without-onnx": bare})
    yield hub
    hub.close()


def test_a_model_is_downloaded_by_its_name_and_then_found_without_the_network(hub: Hub, tmp_path: Path) -> None:
    told: list[float] = []
    cache = tmp_path / "cache"
    first = load_cross_encoder(
        "someone/tiny-reranker", cache_dir=cache, endpoint=hub.url, on_progress=lambda _, share: told.append(share)
    )
    assert first.name == "someone/tiny-reranker"
    assert hub.requests == []
    expected = scores(first.rerank(Question("harbour"), candidates(HARBOUR, RICE)))
    assert told == [0.0, 1.0]
    hub.close()
    again = load_cross_encoder("someone/tiny-reranker", cache_dir=cache, endpoint=hub.url)
    assert scores(again.rerank(Question("harbour"), candidates(HARBOUR, RICE))) == expected


def test_a_name_that_leads_to_no_model_says_which_setting_to_change(hub: Hub, tmp_path: Path) -> None:
    for name, reason in (
        ("someone/without-onnx", "no ONNX file on Hugging Face"),
        ("someone/no-such-model", "no public model of that name"),
    ):
        failed(load_cross_encoder(name, cache_dir=tmp_path / "cache", endpoint=hub.url), f"{reason}.*`rerank.model`")


def test_a_name_that_cannot_be_one_is_said(hub: Hub, tmp_path: Path) -> None:
    failed(load_cross_encoder("a//b?c", cache_dir=tmp_path / "cache", endpoint=hub.url), "Use owner/name")


def test_a_folder_is_used_as_it_is(folder: Path, tmp_path: Path) -> None:
    reranker = load_cross_encoder(str(folder), cache_dir=tmp_path / "cache", batch_size=1)
    assert reranker.name == "tiny-reranker"
    assert len(scores(reranker.rerank(Question("harbour"), candidates(HARBOUR, RICE)))) == 2


def test_without_a_name_it_is_the_usual_model(tmp_path: Path) -> None:
    assert load_cross_encoder(cache_dir=tmp_path).name == "cross-encoder/ms-marco-MiniLM-L-6-v2"
