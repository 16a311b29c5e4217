"""Texts to measure with: generated, or the passages of a folder given with --data.

python -m benchmarks.corpus --data DIR --count 100000 FILE.jsonl.gz

writes titled passages of `scale_en` and `scale_ja` in turn; when there are too few, halves of two are joined under no
title, as notes have none. That is what `benchmarks.graph` and `benchmarks.search` take with --corpus.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ENGLISH_GLUE = "the of and to in a is that for it as was with be by on not he his but at are this have from or had an"
JAPANESE_NOUNS = (
    "検索 文書 会議 報告 予算 計画 設計 試験 開発 運用 監視 障害 顧客 契約 請求 在庫 工場 研究 大学 病院 図書館 "
    "市役所 鉄道 空港 港湾 気象 地震 台風 農業 漁業 林業 観光 温泉 美術 音楽 映画 文学 歴史 経済 政治 法律 教育 "
    "医療 福祉 環境 資源 電力 原子力 半導体 自動車 航空機 船舶 通信 放送 新聞 出版 印刷 繊維 化学 薬品 食品 飲料"
)
JAPANESE_VERBS = "調べる 作る 直す 送る 受け取る 決める 比べる 始める 終える 広げる 減らす 増やす 守る 伝える 選ぶ"
CONSONANTS, VOWELS = "bdklmnrstv", "aeiou"


def generated(count: int, *, seed: int = 7) -> Iterator[str]:
    """`count` passages, half English-like and half Japanese, with word frequencies as in real text."""
    rng = np.random.default_rng(seed)
    words = _vocabulary(rng, 40_000)
    for number in range(count):
        yield _japanese(rng) if number % 2 else _english(rng, words)


def from_folder(data: Path, count: int) -> Iterator[str]:
    """Passages of `scale_en` and `scale_ja` in turn, repeated with a number of their own when there are too few."""
    both = [_passages(data / name) for name in ("scale_en", "scale_ja")]
    texts = [text for pair in itertools.zip_longest(*both) for text in pair if text]
    for number in range(count):
        again, place = divmod(number, len(texts))
        yield texts[place] if again == 0 else f"{texts[place]} ({again}-{number})"


def titled(data: Path, count: int) -> Iterator[tuple[str, str]]:
    """Titles and texts of `scale_en` and `scale_ja` in turn; then joined ones, without a title."""
    both = [_rows(data / name) for name in ("scale_en", "scale_ja")]
    rows = [row for pair in itertools.zip_longest(*both) for row in pair if row]
    for number in range(count):
        again, place = divmod(number, len(rows))
        if again == 0:
            yield rows[place].get("title") or "", rows[place]["text"]
        else:
            # Two further on is the next passage of the same language.
            other = rows[(place + 2 * again) % len(rows)]
            yield "", f"{_half(rows[place]['text'])}\n\n{_half(other['text'])}"


def _half(text: str) -> str:
    return text[: max(40, len(text) // 2)]


def questions(texts: list[str], count: int, *, seed: int = 11) -> list[str]:
    """Natural questions in both languages about words that the texts hold."""
    rng = np.random.default_rng(seed)
    asked: list[str] = []
    while len(asked) < count:
        text = texts[int(rng.integers(len(texts)))]
        if any("\u3040" <= character <= "\u9fff" for character in text):
            start = int(rng.integers(max(1, len(text) - 12)))
            asked.append(f"{text[start : start + 10]}について教えてください")
            continue
        words = [word.strip(".,;:()") for word in text.split() if len(word) > 3]
        if len(words) >= 3:
            one, two, three = rng.choice(words, size=3)
            asked.append(f"What is the {one} of {two} and how does it relate to {three}?")
    return asked


def _passages(folder: Path) -> list[str]:
    return [f"{row.get('title', '')}\n{row['text']}".strip() for row in _rows(folder)]


def _rows(folder: Path) -> list[dict[str, str]]:
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _vocabulary(rng: np.random.Generator, size: int) -> list[str]:
    syllables = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
    return ENGLISH_GLUE.split() + ["".join(rng.choice(syllables, size=int(rng.integers(2, 5)))) for _ in range(size)]


def _english(rng: np.random.Generator, words: list[str]) -> str:
    ranks = np.minimum(rng.zipf(1.3, size=90), len(words)) - 1
    sentence = [words[int(rank)] for rank in ranks]
    cuts = [" ".join(sentence[start : start + 15]).capitalize() + "." for start in range(0, 90, 15)]
    return " ".join(cuts)


def _japanese(rng: np.random.Generator) -> str:
    sentences = []
    for _ in range(6):
        first, second, third = rng.choice(JAPANESE_NOUNS.split(), size=3)
        verb = rng.choice(JAPANESE_VERBS.split())
        sentences.append(
            f"{first}{second}の第{int(rng.integers(5000))}号は{third}を{verb}ために{int(rng.integers(900))}件の記録を残した。"
        )
    return "".join(sentences)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    with gzip.open(arguments.file, "wt", encoding="utf-8") as written:
        for title, text in titled(arguments.data, arguments.count):
            written.write(json.dumps({"title": title, "text": text}, ensure_ascii=False) + "\n")
