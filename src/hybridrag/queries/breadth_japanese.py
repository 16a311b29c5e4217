"""Tell how broad a Japanese question is: cues that it asks for the whole, none of which is enough by itself.

People ask for the whole in endless ways (今年の苦情にはどんな特徴がありますか), so no list of phrases finds them. They
nearly always name a collection, ask openly, or use a word that draws things together, and they name nothing in
particular.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hybridrag.queries.patterns import any_of
from hybridrag.queries.read_japanese import NAME, Phrase
from hybridrag.queries.words_japanese import BROAD, CORPUS, CORPUS_ENDINGS

BROAD_FROM = 3
"""Points from which a question is taken to ask for the whole."""

PER_NAME = 2
"""Points that a name costs: it makes the question one about that."""

COLLECTION = f"(?:{any_of(CORPUS)}|(?<![日基見])本|詩)"
WHAT_KIND = "(?:どんな|どのような|どういう|どういった|いかなる)"
NUMBER = "[0-9一二三四五六七八九十数]"

COUNTED = re.compile(
    "いつ(?:から|以降|頃|ごろ|の|で|、|$)|誰が?|何(?:%|パーセント|割|倍|人|年|歳|回|件|個|円|番|度)|いくら|いくつ"
)
"""What asks for a person, a time or a number asks for no overview."""

_DRAWS_TOGETHER = re.compile(
    """
      全体|全般|全部|全容|一通り|ひととおり|おおむね|おおよそ|大まか|大づかみ|ざっ(?:と|くり)|手短|要するに|結局
    | 総じて|総合して|総括|総評|[をに]通(?:して|じて)|横断|大別|分類|別に分|列挙|並べて|洗い出|抽出|描き出|突き合わせ
    | 読み(?:取|解)|うかがえ|浮かび上が|見えてくる
    | 通底|傾向|特徴|共通|繰り?返|変わらず|よく(?:出|口に|聞|挙)|(?:一番|最も)(?:多い|多く)|目立|込められ|つづられ
    | 綴られ|力を入れ|重視され|方向[にへ]|向かって|言いたい
    """,
    re.VERBOSE,
)
_ASKS_OPENLY = re.compile(
    rf"""
      (?:教え|説明|読み解|提案|分け|示し|押さえ|知り|話し|聞かせ|描い|並べ|見せ).{{0,3}}[てた] | {WHAT_KIND}
    | どう(?!すれ|やっ|し[たて]) | 何(?:て|と)(?:言|書|述) | 何[がを] | は何(?:です|でしょう|か|\?|$) | は\??$
    """,
    re.VERBOSE,
)
_CUES = (
    _ASKS_OPENLY,
    re.compile(rf"{any_of(BROAD)}(?:[はがをにのと?]|など|$)"),
    re.compile(
        f"みんな|皆|各|複数|すべて|全て|{NUMBER}+(?:年|か月|ヶ月|回|冊|本)分|ここ{NUMBER}"
        "|近年|近ごろ|最近|今年|昨年|当時|今期|前期"
    ),
    re.compile(rf"(?:この|これらの|ここの|ここにある|うちの|当)[^、。]{{0,6}}{COLLECTION}"),
    # A collection that the answer is to be drawn from.
    re.compile(rf"{COLLECTION}(?:群|集|録|全体)?(?:では?|から|には|は|を|、|の(?:中|なか)|同士)"),
)
_ASKED_OF_ONE = re.compile(
    """
      どうすれば|どうやって|方法|手順|やり方|書き方|仕方|使い方|出し方|作り方|必要|でき(?:ます|る|ない)|もらえ|べき
    | 場所|料金|費用|期限|期間|時間|番号|締め?切|提出|保存|保管|上限|サイズ|形式|拡張子|件数|ページ|担当|作成者|著者
    | 発行|日付|日時|バージョン|最新版|様式|書式|ひな形|ダウンロード|アクセス|権限|パスワード|送(?:る|れ|っ)|印刷|添付
    | どこ(?:で|に(?:あ|保|置|出|送)|です|[?]|$)
    """,
    re.VERBOSE,
)
"""What is asked of one thing, be it a document."""


def breadth(text: str, row: Sequence[Phrase]) -> int:
    """Points for the whole, less what names cost.

    "今年の苦情にはどんな特徴がありますか" -> 7: 特徴 (2, 1 as what is asked), どんな, 今年, 苦情 (1, 1 with には)
    """
    if COUNTED.search(text) or _ASKED_OF_ONE.search(text):
        return 0
    points = 2 * bool(_DRAWS_TOGETHER.search(text)) + sum(bool(cue.search(text)) for cue in _CUES)
    points += any(phrase.text in CORPUS or phrase.text.endswith(CORPUS_ENDINGS) for phrase in row if phrase.is_noun)
    return points - PER_NAME * sum(phrase.kind == NAME for phrase in row)
