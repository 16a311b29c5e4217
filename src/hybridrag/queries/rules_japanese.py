"""Japanese question -> what its words say about its type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hybridrag.queries.breadth_japanese import BROAD_FROM, COLLECTION, COUNTED, NUMBER, WHAT_KIND, breadth
from hybridrag.queries.patterns import any_of
from hybridrag.queries.read_japanese import Phrase
from hybridrag.queries.relations_japanese import relation_signals
from hybridrag.queries.signals import Signal
from hybridrag.queries.words_japanese import BROAD
from hybridrag.types.queries import QueryType

_BROAD = any_of(BROAD)

_OVERVIEW = re.compile(
    rf"""
      全体(?:[のはをでに、]|像|的|として|から) | (?:全容|全貌|総括|総ざらい|総覧|総合的|全社的|俯瞰)
    | 概(?:要|略|括)(?!欄) | 概観(?:し|す|を|$) | 大(?:枠|筋|づかみ|掴み|まか|ざっぱ)
    | テーマ(?!パーク|カラー|ソング|曲) | 主題(?!歌) | 要(?:約|旨|点)(?!欄) | 趣旨 | サマリ | あらすじ | あらまし
    | まとめ(?:る|を|と|$|た(?:うえ|上)|て(?:$|くだ|ほし|もら|いただ|くれ|お|頂|下|欲)) | 振り?返り | ダイジェスト
    | (?:主な|主要な?|主に|主だった|おもな|おもに)(?:{_BROAD}|話|議論|語|揉|{WHAT_KIND})
    | 何について(?:書|述|語|話|議|論|の|で|$) | 何の話 | 何が(?:書|議論|話|論|語)
    | {WHAT_KIND}(?:内容|話題|話|文書|資料|こと(?:が|を)(?:書|述))
    | ざっ(?:くり|と) | かいつまんで | (?:ひとこと|一言)(?:で|に)
    | 話題になって | 話し合われ | 議論(?:され|の(?:流れ|中心|要点|内容)) | 中身を | 流れ[をが](?:教|知|説明|つか|把握)
    """,
    re.VERBOSE,
)
_CHANGE = re.compile(
    rf"""
      傾向(?!に(?:ある|あり)|をより) | 動向 | トレンド | 推移 | 変遷 | 風潮 | 潮流 | 年々
    | (?:どう|どのように)(?:変わ|変化|推移|発展|進化|移り変わ) | から見える変化
    | (?:過去|ここ|この){NUMBER}{{1,4}}(?:年|か月|ヶ月|カ月|週)間?.{{0,20}}(?:変わ|変化|増え|減)
    """,
    re.VERBOSE,
)
_THROUGHOUT = re.compile(
    rf"""
      共通(?:する|点|の{_BROAD}) | 繰り返し | パターン(?:[はがを?]|$) | よく(?:出て|登場|話題)
    | {_BROAD}.{{0,8}}(?:多い|多かった|目立つ|増えて) | (?:多い|目立つ|増えている)(?:のは)?.{{0,6}}{_BROAD} | 目立つもの
    | 各(?:社|部署|章|部門|チーム|店|地域|記事|論文).{{0,12}}(?:{_BROAD}|説明|扱) | (?:大きく|種類別に)分類 | 分類すると
    | {WHAT_KIND}.{{0,10}}(?:もの)?が(?:多い|多かった|目立)
    """,
    re.VERBOSE,
)
_REPORT = re.compile(
    rf"""
      (?:{WHAT_KIND}|何を|何が).{{0,14}}
      (?:挙げられ|示され|強調|語られ|出され|指摘され|懸念|主張され|表明|寄せられ|述べられ)
    | {COLLECTION}(?:群|集|録)?(?:全体)?(?:では|には|からは|で|に|から).{{0,16}}
      (?:{WHAT_KIND}|何が|何を|学べる|うかがえ|読み取|増えて|{_BROAD})
    | {_BROAD}[をはが].{{0,6}}(?:一覧|列挙|整理|抽出|分類|把握|三つ|3つ|挙げて) | 登場する{_BROAD}
    | (?:伝えたい|言いたい|訴えたい)こと
    """,
    re.VERBOSE,
)
_ABOUT = re.compile(
    rf"(?:この|これらの|その|ここの|全部の|全ての|すべての|全){COLLECTION}.{{0,10}}"
    rf"(?:何|{WHAT_KIND}|説明|結論|構成|教えて)"
)
_WHOLE_RULES = (
    ("overview", _OVERVIEW),
    ("change over time", _CHANGE),
    ("throughout", _THROUGHOUT),
    ("what is reported", _REPORT),
    ("about", _ABOUT),
)
_PART = re.compile(rf"第?{NUMBER}+(?:章|節|条|項|ページ|頁|話|巻|幕)[のにでは]")
_SPECIFIC = re.compile(
    r"""
      誰|だれ|いつ|どこ|何(?:時|年|月|日|人|円|個|件|番|歳)|いくら|いくつ
    | 連絡先|電話(?:番号)?は|番号|住所|名前|日程|発行日|開催日|日付|日時|担当者|締め?切|場所
    """,
    re.VERBOSE,
)
_PART_BREAK = re.compile(
    r"[。?!;]|(?:[てでしり]|てから)、|(?:う[えへ]|上)で、?|(?<=[^\s、])と、?|また、|それから|そして|および|ならびに"
)


def is_fact(text: str) -> bool:
    """Whether it asks for one thing: who, when, where, how many.

    "担当者の名前も教えて" -> True
    """
    return bool(_SPECIFIC.search(text))


def parts(text: str) -> list[str]:
    """The questions that one line may ask; a comparison falls apart here too, so look at the whole as well.

    "会議の要点と次回の日程は" -> ["会議の要点", "次回の日程は"]
    """
    return [piece for piece in _PART_BREAK.split(text) if piece]


def signals(text: str, row: Sequence[Phrase]) -> Iterator[Signal]:
    """Every rule that fits: what asks for one part first, then what asks for the whole, then relations.

    "ReactとVueの違いは" -> relationship by `comparison`
    """
    if _PART.search(text):
        yield Signal(QueryType.LOCAL, "part of a document")
        return
    if not COUNTED.search(text):
        for rule, pattern in _WHOLE_RULES:
            if pattern.search(text):
                yield Signal(QueryType.GLOBAL, rule)
    if breadth(text, row) >= BROAD_FROM:
        yield Signal(QueryType.GLOBAL, "breadth")
    yield from relation_signals(text, row)
