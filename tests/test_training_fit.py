"""The training loop on a processor with tiny data; collected only where torch, which the package does not need, is."""

# mypy: disable-error-code="import-not-found"
# (torch is needed here alone, and is not installed where types are checked)

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training.cut import main as cut_main
from training.ragged import Ragged, save

__test__ = importlib.util.find_spec("torch") is not None

HIDDEN, WIDE, PIECES, LAYERS = 64, 96, 120, 3
PASSAGES, QUESTIONS = 120, 160


def tiny_weights(rng: np.random.Generator) -> dict[str, Any]:
    shapes = {"q": (HIDDEN, HIDDEN), "k": (HIDDEN, HIDDEN), "v": (HIDDEN, HIDDEN), "ao": (HIDDEN, HIDDEN)}
    shapes |= {"fi": (WIDE, HIDDEN), "fo": (HIDDEN, WIDE)}
    packed = {
        "emb.word": rng.normal(0, 0.3, PIECES * HIDDEN),
        "emb.pos": rng.normal(0, 0.02, 512 * HIDDEN),
        "emb.type": np.zeros(2 * HIDDEN),
        "emb.ln.w": np.ones(HIDDEN),
        "emb.ln.b": np.zeros(HIDDEN),
    }
    for layer in range(LAYERS):
        for name, (outputs, inputs) in shapes.items():
            packed[f"l{layer}.{name}.w"] = rng.normal(0, inputs**-0.5, outputs * inputs)
            packed[f"l{layer}.{name}.b"] = np.zeros(outputs)
        for name in ("aln", "oln"):
            packed[f"l{layer}.{name}.w"], packed[f"l{layer}.{name}.b"] = np.ones(HIDDEN), np.zeros(HIDDEN)
    return {name: value.astype(np.float32) for name, value in packed.items()}


def tiny_data(rng: np.random.Generator) -> dict[str, Any]:
    """A question is four pieces of its passage."""
    passages = [rng.integers(10, PIECES, rng.integers(5, 40)).tolist() for _ in range(PASSAGES)]
    positive = rng.integers(0, PASSAGES, QUESTIONS)
    questions = [rng.choice(passages[row], 4).tolist() for row in positive]
    label = (np.arange(QUESTIONS) % 2).astype(np.uint8)
    return {
        "query_prefix": np.array([5, 6]),
        "passage_prefix": np.array([7, 6]),
        "passages": Ragged.join(passages),
        "passage_lang": (np.arange(PASSAGES) % 2).astype(np.uint8),
        "questions": Ragged.join(questions),
        "positive": positive.astype(np.int32),
        "negatives": Ragged.join([[int(row + 1) % PASSAGES] for row in positive], np.int32),
        "lang": (positive % 2).astype(np.uint8),
        "source": np.zeros(QUESTIONS, dtype=np.uint8),
        "source_names": np.array(["pubmedqa"]),
        "answers": Ragged.of_texts(["p11x" if row % 2 else "" for row in range(QUESTIONS)]),
        "judged_questions": Ragged.join(questions),
        "judged_passage": positive.astype(np.int32),
        "judged_label": label,
        "judged_swapped": ((label == 0) & (np.arange(QUESTIONS) % 4 == 0)).astype(np.uint8),
    }


@pytest.fixture
def work(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    save(tmp_path / "weights.npz", tiny_weights(rng))
    save(tmp_path / "data.npz", tiny_data(rng))
    (tmp_path / "pieces.txt").write_bytes("\n".join(piece(place) for place in range(PIECES)).encode())
    cut_main(tmp_path)
    return tmp_path


def piece(place: int) -> str:
    """Every fifth one ends a sentence."""
    return f"▁p{place}x" + ("" if place % 5 else ".")


@pytest.fixture
def fit(monkeypatch: pytest.MonkeyPatch) -> Any:
    import torch
    import training.fit as module

    torch.set_num_threads(1)
    monkeypatch.setattr(module, "SMALL_LAYERS", {"small": [0, 2]})
    monkeypatch.setattr(module, "LISTS", 8)
    monkeypatch.setattr(module, "JUDGED", dict.fromkeys(module.JUDGED, 2))
    monkeypatch.setattr(module, "RATE", 2e-3)
    monkeypatch.setattr(module, "TRIAL_STEPS", 2)
    monkeypatch.setattr(module, "LOG_EVERY", 10)
    return module


@pytest.mark.heavy
def test_training_lowers_the_loss_and_writes_both_sizes(
    work: Path, fit: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["fit", str(work), str(work / "out"), "--steps", "41", "--distil-steps", "3"]
    monkeypatch.setattr(sys, "argv", arguments)
    fit.main()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("base step")]
    first, last = (float(line.split("loss ")[1].split()[0]) for line in (lines[0], lines[-1]))
    assert last < first
    assert {path.name for path in (work / "out").iterdir()} == {"base-0.npz", "small-0.npz", "held_out.json"}


@pytest.mark.heavy
def test_the_torch_model_and_the_exported_one_agree(work: Path, fit: Any, tmp_path: Path) -> None:
    import torch
    from training.export import export_model, pack_words, read_state
    from training.net import base_model
    from training.ragged import load
    from training.tables import Table, score_pairs

    from hybridrag.models.own_reranker import open_engine
    from hybridrag.models.unigram import save_vocabulary

    target = tmp_path / "target"
    target.mkdir()
    weights = load(work / "weights.npz")
    model = base_model(weights).eval()
    torch.nn.init.normal_(model.answer.weight, std=0.3)
    # Word vectors of the export have 4 bits: give the torch model the same ones.
    blocks = weights["emb.word"].reshape(-1, 32)
    scale = (np.abs(blocks).max(1) / 7).astype(np.float16)
    numbers = np.rint(blocks / scale.astype(np.float32)[:, None]).astype(np.int8)
    (target / "words.q4").write_bytes(pack_words(numbers, scale))
    model.words = torch.from_numpy((numbers * scale.astype(np.float32)[:, None]).reshape(PIECES, HIDDEN))
    save_vocabulary(target, [f"p{place}" for place in range(PIECES)], np.zeros(PIECES, dtype=np.float32))
    fit.save_model(model, work / "tried")
    export_model(read_state(work, "tried"), target, "tried")
    engine = open_engine(target, "tried", calibrated=False)
    data = load(work / "data.npz")
    questions, passages = (Table.build(data[name], torch.device("cpu")) for name in ("questions", "passages"))
    left, right = np.arange(8), np.arange(8)
    with torch.no_grad():
        exact = score_pairs(model, questions, passages, left, right).numpy()
    found = [engine.answers(data["questions"][row].tolist(), data["passages"][row].tolist()) for row in range(8)]
    assert np.abs(np.array(found) - exact).max() < 0.05


@pytest.mark.heavy
def test_mined_passages_are_neither_right_nor_hold_the_answer(work: Path, fit: Any) -> None:
    import torch
    from training.net import base_model
    from training.ragged import load

    course = fit.Course.prepare(work, base_model(load(work / "weights.npz")), torch.device("cpu"))
    assert not (course.mined.candidates == course.data["positive"][:, None]).any()
    for row in range(1, QUESTIONS, 2):
        mined = course.mined.candidates[row]
        assert all(11 not in course.data["passages"][passage] for passage in mined[mined >= 0])
    assert not set(course.data["positive"][course.train] % fit.HELD_OUT) & {0}


@pytest.fixture
def sets(work: Path, fit: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    import training.sets as module

    monkeypatch.setattr(module, "SETS", 8)
    monkeypatch.setattr(module, "SET_SIZE", 4)
    monkeypatch.setattr(module, "JUDGED", dict.fromkeys(module.JUDGED, 2))
    monkeypatch.setattr(module, "RATES", {"base": 2e-3, "small": 2e-3})
    monkeypatch.setattr(module, "LOG_EVERY", 10)
    monkeypatch.setattr(module, "CUT_BY_MODEL", ("pubmedqa",))
    monkeypatch.setattr(module, "SENTENCE_TOKENS", 2)
    monkeypatch.setattr(module, "LEAST_TOKENS", 10)
    monkeypatch.setattr(module, "CLEAR_LOSS", 0.0)
    monkeypatch.setattr(sys, "argv", ["fit", str(work), str(work / "first"), "--steps", "11", "--distil-steps", "3"])
    fit.main()
    return module


@pytest.mark.heavy
def test_sets_go_on_from_the_first_models_and_lower_the_loss(
    work: Path, sets: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(work), str(work / "first"), str(work / "out")]
    monkeypatch.setattr(sys, "argv", ["sets", *folders, "--stage", "base", "--steps", "41"])
    sets.main()
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("base ")]
    first, last = (float(line.split()[2]) for line in (lines[0], lines[4]))
    assert last < first
    arguments = ["sets", *folders, "--stage", "small", "--teacher", str(work / "out"), "--steps", "3"]
    monkeypatch.setattr(sys, "argv", arguments)
    sets.main()
    assert {path.name for path in (work / "out").iterdir()} == {"base-0.npz", "small-0.npz"}


@pytest.mark.heavy
def test_a_set_has_the_right_passage_first_and_spans_follow_what_was_cut(work: Path, fit: Any, sets: Any) -> None:
    import torch
    from training.net import base_model
    from training.ragged import load

    weights, cuts = load(work / "weights.npz"), load(work / "cuts.npz")
    course = fit.Course.prepare(work, base_model(weights), torch.device("cpu"))
    pieces = (work / "pieces.txt").read_bytes().decode("utf-8").split("\n")
    known = np.flatnonzero(np.diff(course.data["answers"].starts, append=0)[:QUESTIONS] > 0)
    course.data["span_start"][known] = course.data["span_end"][known] = 4
    found = sets.cut_by_model(course, cuts, fit.load_model(work / "first", "base", weights), pieces)
    assert found > 0
    drawn = sets.Sets.prepare(course, cuts)
    whole = course.data["positive"][:QUESTIONS]
    for _ in range(20):
        step = drawn.draw(np.random.default_rng(1), 0.0)
        texts = course.passages.text[step.lists]
        assert (texts[:, 0] == whole[step.rows]).all()
        cut = course.passages.cut_length[step.lists[:, 0]]
        moved = (course.passages.cut_start[step.lists[:, 0]] + cut <= 4) & (cut > 0) & np.isin(step.rows, known)
        assert (step.spans[moved, 0] == 4 - cut[moved]).all()


@pytest.mark.heavy
def test_late_interaction_is_taught_and_measured_before_and_after(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import training.late as module
    from training.ragged import load

    monkeypatch.setattr(module, "QUESTIONS", 16)
    monkeypatch.setattr(module, "RATE", 1e-3)
    monkeypatch.setattr(module, "LOG_EVERY", 10)
    data = load(work / "data.npz")
    places = np.arange(20)
    save(
        work / "eval.npz",
        {
            "query_prefix": data["query_prefix"],
            "passage_prefix": data["passage_prefix"],
            "ranked/own/passages": data["passages"],
            "ranked/own/questions": Ragged.join([data["questions"][place] for place in places]),
            "ranked/own/grades": np.stack([places, data["positive"][:20], np.ones(20)], axis=1).astype(np.int32),
        },
    )
    monkeypatch.setattr(sys, "argv", ["late", str(work), str(work / "out"), "--steps", "21"])
    module.main()
    lines = capsys.readouterr().out.splitlines()
    losses = [float(line.split()[2]) for line in lines if line.startswith("embedder ")]
    assert losses[-1] < losses[0]
    assert sum(line.strip().startswith("own ") for line in lines) == 2
    assert (work / "out" / "embedder-0.npz").is_file()


@pytest.mark.heavy
def test_labelled_sets_are_taught_and_read_by_models_that_did_not_see_them(
    work: Path, fit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    import training.labelled as module
    from training.export import export_model, pack_words, read_state

    from hybridrag.models.own_reranker import WORDS_FILE

    monkeypatch.setattr(module, "SETS", 8)
    monkeypatch.setattr(module, "RATE", 2e-3)
    monkeypatch.setattr(module, "ROUNDS", 12)
    monkeypatch.setattr(sys, "argv", ["fit", str(work), str(work / "first"), "--steps", "3", "--distil-steps", "1"])
    fit.main()
    folder = work / "exported"
    folder.mkdir()
    export_model(read_state(work / "first", "base"), folder, "base")
    rng = np.random.default_rng(2)
    numbers = rng.integers(-8, 8, (PIECES * HIDDEN // 32, 32)).astype(np.int8)
    (folder / WORDS_FILE).write_bytes(pack_words(numbers, rng.uniform(0.02, 0.05, len(numbers)).astype(np.float16)))
    count = 40
    sizes = np.where(np.arange(count) % 3 == 0, 1, 3)
    # A set suffices where one of its passages holds piece 11.
    label = np.arange(count) % 2
    passages = [rng.integers(12, PIECES, 8).tolist() for _ in range(int(sizes.sum()))]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    for case in np.flatnonzero(label):
        passages[starts[case]][3:6] = [11, 11, 11]
    taught = np.arange(count) < 36
    arrays = {
        "keys": np.array([f"{case:016x}" for case in range(count)]),
        "questions": Ragged.join([[11, 12] for _ in range(count)]),
        "passages": Ragged.join(passages),
        "sets": Ragged.join([list(range(start, end)) for start, end in itertools.pairwise(starts)], np.int32),
        "label": label.astype(np.uint8),
        "source": (np.arange(count) % 3 == 0).astype(np.uint8),
        "source_names": np.array(["nomiracl_en", "squad2_1000"]),
        "taught": taught.astype(np.uint8),
        "japanese": np.zeros(count, dtype=np.uint8),
        "folds": np.array([np.arange(count) // 2 % 5], dtype=np.uint8),
    }
    save(work / "labelled.npz", arrays)
    seen: list[set[int]] = []
    teach = module.Teaching.teach

    def noted(self: Any, cases: Any, seed: int) -> None:
        seen.append(set(cases.tolist()))
        teach(self, cases, seed)

    monkeypatch.setattr(module.Teaching, "teach", noted)
    monkeypatch.setattr(sys, "argv", ["labelled", str(work), str(folder), str(work / "out"), "--deals", "1"])
    module.main()
    folds, sixteen = arrays["folds"][0], 1 + module.FOLDS + module.FOLDS * (module.FOLDS - 1) // 2
    assert len(seen) == sixteen
    assert seen[0] == set(range(36)), "what is kept is taught everything, and what is never taught nowhere"
    left = [set(range(36)) - some for some in seen[1:]]
    assert all(len({int(folds[case]) for case in some}) in {1, 2} for some in left)
    assert len({frozenset(int(folds[case]) for case in some) for some in left}) == sixteen - 1
    with np.load(work / "out" / "taught_reads.npz") as file:
        reads, written = file["reads"], file["starts"]
        assert (file["keys"] == arrays["keys"]).all()
    assert reads.shape == (1, module.FOLDS, len(passages), 2)
    assert (written == starts).all()
    assert (reads != 0).any(axis=-1).all(), "every passage is read, whatever is held back"
    teaching = module.Teaching.prepare(work, folder, "base", torch.device("cpu"))
    before = _told_apart(teaching.read(np.arange(count)), label)
    teach(teaching, np.arange(36), 1)
    assert _told_apart(teaching.read(np.arange(count)), label) > max(before, 0.8)


def _told_apart(said: list[Any], label: Any) -> float:
    """The share of pairs of sets, one that suffices and one that does not, whose best passages are in that order."""
    best = np.array([one[:, 1].max() for one in said])
    return float((best[label == 1][:, None] > best[label == 0][None]).mean())
