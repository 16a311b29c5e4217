"""Japanese question -> what in it asks how things relate: compare, connect, cause, explain, or hang on each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from hybridrag.queries.bridges_japanese import bridges
from hybridrag.queries.read_japanese import NAME, Phrase
from hybridrag.queries.signals import Signal
from hybridrag.types.queries import QueryType, RelationHint

MAX_PAIRS = 8
"""Pairs looked at in one question; a list of a hundred things compares nothing."""

_RELATION = QueryType.RELATIONSHIP

_COMPARISON = re.compile(
    r"""
      (?:違い|相違|差異)(?:点)?
      (?:は|も|と|って|に|を?(?:教|説明|知|述|まとめ|挙|示|比)|[がを](?:分か|わか|知|あ|何)|\?|$)
    | 違う(?:の|点|か) | どう違 | どこが(?:違|異) | 使い分け | 優劣 | メリットと.{0,6}デメリット | 長所と短所
    | (?:待遇|料金|価格|性能|人口|得点|点|の)差(?:は|を(?:教|説明|知)|って|\?|$)
    | 比較(?!的) | 対比 | 見比べ | 比べ(?:て|ると)(?:どう|どちら|どっち|何|どの|ください|ほしい|みて|$) | 比べる?$
    | 異な(?:る(?:点|の|か|ところ)|り) | (?<![A-Za-z])(?:vs|VS|versus)(?![A-Za-z])
    | より(?:も)?.{1,30}(?:ほう|方)が | (?:ほう|方)が.{1,30}より
    | と[^、。?]{1,30}(?:は|が|では?|のうち)、?(?:同じ|異なり|どちら|どっち)
    """,
    re.VERBOSE,
)
_ASKED = re.compile(
    r"""
      (?:との|の|どんな|どういう|どのような|どういった)関(?:係|連|わり)性?(?!者|す|会社|機関|書類|部署|づけ|なく)
    | 関係[がは]?(?:あり|ある|し(?:て|ます)) | どう(?:関|つなが|結び|かかわ) | つながり | 繋がり | 結びつき
    | 間柄 | 因縁 | 接点 | 相関 | と関連 | 関連(?:性|はあ|があ|し(?:て|ます))
    """,
    re.VERBOSE,
)
_EFFECT = re.compile(
    r"""
      (?:与え|及ぼ|もたら)(?:る|す|した|た)(?:影響|効果|変化) | どう(?:影響|響)
    | 影響(?:は(?:あ|何|ど|\?|$)|を(?:教え|説明|与え|及ぼ)|し(?:ます|て|た))
    | (?:原因|要因)(?!菌|物質|不明|(?:の一つ)?(?:と(?:な|し)|で)) | 引き金
    | によって.{0,12}(?:増え|減り|変わ|上が|下が|悪化|改善|低下|向上) | (?:たら|れば|ると).{1,12}は?どう(?:変|な)
    """,
    re.VERBOSE,
)
_REASON = re.compile(
    r"なぜ|何故|なんで(?![もすし])|どうして(?!も)|理由(?:[はが]|を(?:教|説明|知|述|挙)|って|について|\?|$)|わけ[はを]"
)
_CHOICE = re.compile(
    r"""
      どちら|どっち|いずれ|のうち|両方|両者|双方|(?:ふたり|二人|2人)とも|ともに|共に|それぞれ|同じ|同一|互い
    | (?:ほう|方)が|年上|年下|離れて|異な|違う|共通
    """,
    re.VERBOSE,
)
_ONE_OF_TWO = re.compile(r"のは|は[?。]?$|[たるい][^、。]{1,10}は.{1,40}(?:です|でしょう)か")
"""AとB、先に出たのは? and AとBで、先に出たシングルはAですか?"""
_OF_BOTH = re.compile("の.{1,40}のは(?!いつ|どこ|誰|何|なぜ)")
"""AとBの公開日が早いのは"""
_YES_OR_NO = re.compile("(?:です|でしょう|ます|まし?た)か[?。]?$")
_OPEN = re.compile("[何誰]|いつ|どこ|どの|どれ|どう|どんな|なぜ|いくら|いくつ")
_APART = re.compile("年上|年下|何(?:年|日|か月)(?:後|前|差)|倍以上")
_MORE = frozenset(("年上", "年下", "先", "前", "後", "上", "下"))
_DATE = re.compile("[0-9]+[年月日].*")
_JOINS = frozenset(("と", "か", "、", "vs", "VS", "or"))


def relation_signals(text: str, row: Sequence[Phrase]) -> Iterator[Signal]:
    """Every rule that fits, the plainest first.

    "気温が売上に与える影響" -> `effect`
    """
    if _COMPARISON.search(text) or _is_choice(text, row):
        yield Signal(_RELATION, "comparison", RelationHint.COMPARISON)
    if _ASKED.search(text):
        yield Signal(_RELATION, "relation", RelationHint.RELATIONSHIP)
    if _EFFECT.search(text):
        yield Signal(_RELATION, "effect", RelationHint.CAUSATION)
    if _REASON.search(text):
        yield Signal(_RELATION, "reason", RelationHint.REASON)
    if any(True for _ in bridges(row)):
        yield Signal(_RELATION, "nested", RelationHint.GENERAL)


def coordinated(row: Sequence[Phrase]) -> Iterator[tuple[Phrase, Phrase]]:
    """The pairs that と joins, or that are named side by side; at most `MAX_PAIRS`.

    "東京と大阪では" -> (東京, 大阪)
    """
    return islice(_pairs(row), MAX_PAIRS)


def _pairs(row: Sequence[Phrase]) -> Iterator[tuple[Phrase, Phrase]]:
    for at, left in enumerate(row[:-1]):
        following = row[at + 1]
        if not left.is_noun or _DATE.fullmatch(left.text):
            continue
        if following.is_noun and left.proper and following.proper:
            yield left, _with_owned(row, at + 1)
        elif following.text in _JOINS:
            behind = at + 3 if [it.text for it in row[at + 2 : at + 3]] == ["、"] else at + 2
            named = following.text != "、" or left.proper
            if behind < len(row) and row[behind].is_noun and named and (following.text != "、" or row[behind].proper):
                yield left, _with_owned(row, behind)


def _with_owned(row: Sequence[Phrase], at: int) -> Phrase:
    """青木楓の『夜汽車』: what the second of the pair really is."""
    owned = row[at + 2] if at + 2 < len(row) and row[at + 1].text == "の" else None
    return owned if owned is not None and owned.kind == NAME and row[at].kind == NAME else row[at]


def _is_choice(text: str, row: Sequence[Phrase]) -> bool:
    """AとBではどちらが, AとB、先なのは, AはBより速い, AはBの何歳年上."""
    for left, right in coordinated(row):
        after = text[right.end :].lstrip()
        if _CHOICE.search(after):
            return True
        listed = "と" not in text[left.end : right.start] and after.startswith("、")
        if after[:1] in {"、", "で"} and _ONE_OF_TWO.search(after) and not listed:
            return True
        named = left.kind == NAME == right.kind and not listed
        if named and (_OF_BOTH.match(after) or (_YES_OR_NO.search(after) and not _OPEN.search(text))):
            return True
    names = sum(phrase.kind == NAME for phrase in row)
    return (names > 1 and bool(_APART.search(text))) or _is_more_than(row)


def _is_more_than(row: Sequence[Phrase]) -> bool:
    """AはBより速いですか; 「ギターより古い楽器は」 asks for one thing, and 「出版社より発行」 means from."""
    for at in range(2, len(row)):
        if row[at].text == "より" and row[at].kind == "助詞" and row[at - 1].is_noun:
            sides = any(phrase.text in {"は", "が"} for phrase in row[:at])
            return sides and any(_is_predicate(row, more) for more in range(at + 1, len(row)))
    return False


def _is_predicate(row: Sequence[Phrase], at: int) -> bool:
    """Whether it says how much, and not of which thing: 速いですか; no 古い楽器."""
    says_how = row[at].kind in {"形容詞", "形状詞"} or row[at].text in _MORE
    return says_how and not (at + 1 < len(row) and row[at + 1].is_noun)
