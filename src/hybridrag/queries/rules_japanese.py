"""Japanese question -> what its phrases say about its type.

Nouns, verbs and names are told by SudachiPy's parts of speech; what a compound is, its last noun says: 概要設計書 is a
document, 議事録の概要 a summary. Lists hold closed classes and the few words by which an overview is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from hybridrag.queries.read_japanese import NAME, Phrase
from hybridrag.queries.signals import Signal
from hybridrag.queries.words import any_of, japanese
from hybridrag.types.queries import QueryType, RelationHint

BROAD_FROM = 3
"""Cues from which a question is taken to ask for the whole."""

PER_NAME = 2
"""Cues that a name costs: it makes the question one about that."""

MAX_PAIRS = 8
"""Pairs looked at in one question; a list of a hundred things compares nothing."""

MAX_COUNTER = 2
"""Characters of what is counted: 国は何カ国 asks for the countries, 妻は何県出身 about the wife."""

_SUMMARY, _SUMMARISE, _GIST = japanese("summary"), japanese("summarise"), japanese("gist")
_DOCUMENTS, _DOCUMENT_ENDINGS = japanese("documents"), tuple(japanese("document_endings"))
_GISTS = any_of(_GIST)
_COLLECTION = f"(?:{any_of(_DOCUMENTS)}|(?<![日基見])本|詩)"
_WHAT_KIND = "(?:どんな|どのような|どういう|どういった|いかなる)"
_NUMBER = "[0-9一二三四五六七八九十数]"
_ASKS_WHERE = re.compile(r"(?:どこ|何処)(?!が|を|も)")
_SUMS_UP = re.compile("(?:まとめ|振り返|纏め).?(?:$|[てた](?:$|くだ|下|ほし|欲|もら|いただ|くれ|お|頂|み)|る$|[?。])")
_ASKED_OF = (
    # 要約機能の使い方 asks for something of it, 工場全体 for all of it, 傾向にある for nothing
    (_SUMMARY, re.compile("(?!の.)")),
    (_SUMMARISE, re.compile("し|する|でき|を?お願")),
    (frozenset(("全体", "全般")), re.compile("")),
    (frozenset(("傾向", "動向", "推移", "変遷", "トレンド")), re.compile("$|[をはと?]|につい|から")),
)
_IN_SHORT = tuple(japanese("in_short"))
_COUNTED = re.compile(
    "いつ(?:から|以降|頃|ごろ|の|で|、|$)|誰が?|何(?:%|パーセント|割|倍|人|年|歳|回|件|個|円|番|度|月|日)|いくら|いくつ"
)
"""What asks for a person, a time or a number asks for no overview."""
_HOW_TO = re.compile(
    r"どうすれば|どうやって|どうしたら|方法|手順|やり方|(?:[いきしちりびみえけせてねめれべげ])方(?:は?[?。]?$|を?(?:教|知|説)|が(?:分|わか|知)|について)"
)

_LIST = re.compile(
    rf"""
      (?:主な|主要な?|主だった|おもな)[^\sはがを]{{1,8}}
    | {_WHAT_KIND}[^、。]{{1,12}}が(?:あり|ある|あっ|存在|[^、。]{{1,8}}(?:ら|さ|ま|か|わ|が)れ)
    | (?:を|の)(?:すべて|全て|全部|一通り|ひととおり|一覧|リスト)(?:に|で|を|$)?(?:し|教|挙|知|列|見|出|$|[?。])
    | (?:すべて|全て|全部|一通り)の[^、。]{{1,12}}を
    | ^(?:何|なに)が(?:あっ|あり|起き|起こ|変わ|新し)[^、。]{{0,6}}$
    """,
    re.VERBOSE,
)
_ABOUT = re.compile(
    rf"""
      何について(?:書|述|語|話|議|論|の|で|$) | 何の話 | 何が(?:書|議論|話|論|語)
    | {_WHAT_KIND}(?:内容|話題|話|文書|資料)
    | (?:何|{_WHAT_KIND}こと)[がを](?:{any_of(japanese("said"))}) | 話題になって | 話し合われ
    | 議論(?:され|の(?:流れ|中心|内容))
    | (?:この|これらの|その|ここの|全部の|全ての|すべての|全){_COLLECTION}.{{0,10}}
      (?:何|{_WHAT_KIND}|説明|結論|構成|教えて)
    """,
    re.VERBOSE,
)
_CHANGE = re.compile(
    rf"""
      (?:どう|どのように)(?:変わ|変化|推移|発展|進化|移り変わ)
    | (?:過去|ここ|この){_NUMBER}{{1,4}}(?:年|か月|ヶ月|カ月|週)間?.{{0,20}}(?:変わ|変化|増え|減)
    """,
    re.VERBOSE,
)
_THROUGHOUT = re.compile(
    rf"""
      共通(?:する|点|の{_GISTS}) | 繰り返し | よく(?:出|登場|話題|ある|聞|挙|口に)
    | {_GISTS}.{{0,8}}(?:多い|多かった|目立つ|増えて) | (?:多い|目立つ|増えている)(?:のは)?.{{0,6}}{_GISTS} | 目立つもの
    | (?:主な|主要な?|主だった|おもな){_NUMBER}?{_GISTS} | (?:主に|おもに)(?:{_GISTS}|話|議論|語|{_WHAT_KIND})
    | {_WHAT_KIND}.{{0,10}}(?:もの)?が(?:多い|多かった|目立)
    """,
    re.VERBOSE,
)
_REPORT = re.compile(
    rf"""
      (?:{_WHAT_KIND}|何を|何が).{{0,14}}{any_of(japanese("said"))}[^、。]?(?:られ|れ|さ)
    | {_COLLECTION}(?:群|集|録)?(?:全体)?(?:では|には|からは|で|に|から).{{0,16}}(?:{_WHAT_KIND}|何が|何を|{_GISTS})
    | {_GISTS}[をはが].{{0,6}}(?:一覧|列挙|整理|抽出|分類|把握|挙げて) | (?:伝えたい|言いたい|訴えたい)こと
    """,
    re.VERBOSE,
)
_WHOLE_RULES = (("about", _ABOUT), ("throughout", _THROUGHOUT), ("what is reported", _REPORT))
_CUES = (
    re.compile(
        rf"教え|説明|示し|挙げ|知り|聞かせ|{_WHAT_KIND}|どう(?!すれ|やっ|し[たて])|何[がを]|何(?:て|と)(?:言|書|述)"
        r"|は何(?:です|でしょう|か|\?|$)|は\??$"
    ),
    re.compile(rf"{_GISTS}(?:[はがをにのと?]|など|$)"),
    re.compile(f"みんな|皆|各|複数|すべて|全て|{_NUMBER}+(?:年|か月|ヶ月|回|冊|本)分|近年|最近|今年|昨年|当時"),
    re.compile(rf"(?:この|これらの|ここの|ここにある|うちの|当)[^、。]{{0,6}}{_COLLECTION}"),
    re.compile(rf"{_COLLECTION}(?:群|集|録|全体)?(?:では?|から|には|は|、|の(?:中|なか)|同士)"),
    # What draws together counts twice.
    *[re.compile(f"{any_of(japanese('aggregate'))}|読み(?:取|解)|うかがえ|浮かび上が|通(?:して|じて)")] * 2,
)
_PART = re.compile(rf"第?{_NUMBER}+(?:章|節|条|項|ページ|頁|話|巻|幕)[のにでは]")
_SPECIFIC = re.compile(
    "誰|だれ|いつ|どこ|何(?:時|年|月|日|人|円|個|件|番|歳)|いくら|いくつ|連絡先|番号|住所|名前|日程|日付|日時|担当者|締め?切|場所"
)
_PART_BREAK = re.compile(
    r"[。?！!;]|(?:[てでしり]|てから)、|(?:う[えへ]|上)で、?|(?<=[^\s、])と、?|また、|それから|そして|および|ならびに"
)

_COMPARISON = re.compile(
    r"""
      (?:違い|相違|差異)(?:点)?
      (?:は|も|と|って|に|を?(?:教|説明|知|述|まとめ|挙|示|比)|[がを](?:分か|わか|知|あ|何)|\?|$)
    | 違う(?:の|点|か) | どう違 | どこが(?:違|異) | 使い分け | 優劣 | メリットと.{0,6}デメリット | 長所と短所
    | (?:の|[一-龥])差(?:は|を(?:教|説明|知)|って|\?|$)
    | 比較(?!的) | 対比 | 見比べ | 比べ(?:て|ると)(?:どう|どちら|どっち|何|どの|ください|ほしい|みて|$) | 比べる?$
    | 異な(?:る(?:点|の|か|ところ)|り) | (?<![A-Za-z])(?:vs|VS|versus)(?![A-Za-z])
    | より(?:も)?.{1,30}(?:ほう|方)が | (?:ほう|方)が.{1,30}より
    | と[^、。?]{1,30}(?:は|が|では?|のうち)、?(?:同じ|異なり|どちら|どっち)
    | と[^、。?]{1,12}では?、?(?:どう|どのように)(?:変|違|異)
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
_DATED = re.compile("[0-9]+[月日]")
_JOINS = frozenset(("と", "か", "、", "vs", "VS", "or"))
_RELATION_RULES = (
    ("relation", _ASKED, RelationHint.RELATIONSHIP),
    ("effect", _EFFECT, RelationHint.CAUSATION),
    ("reason", _REASON, RelationHint.REASON),
)


def is_fact(text: str) -> bool:
    """Whether it asks for one thing: who, when, where, how many.

    "担当者の名前も教えて" -> True
    """
    return bool(_SPECIFIC.search(text))


def parts(text: str, row: Sequence[Phrase]) -> Iterator[tuple[str, list[Phrase]]]:
    """The questions that one line may ask; a comparison falls apart here too, so look at the whole as well.

    "会議の要点と次回の日程は" -> "会議の要点", "次回の日程は"
    """
    start = 0
    for end, behind in [*(match.span() for match in _PART_BREAK.finditer(text)), (len(text), len(text))]:
        if text[start:end]:
            yield text[start:end], [phrase for phrase in row if start <= phrase.start and phrase.end <= end]
        start = behind


def signals(text: str, row: Sequence[Phrase]) -> Iterator[Signal]:
    """Every rule that fits: what asks for one part first, then what asks for the whole, then relations.

    "ReactとVueの違いは" -> relationship by `comparison`
    """
    if _PART.search(text):
        yield Signal(QueryType.LOCAL, "part of a document")
        return
    if not (_COUNTED.search(text) or _ASKS_WHERE.search(text) or _HOW_TO.search(text)):
        yield from _whole_signals(text, row)
    if _COMPARISON.search(text) or _is_choice(text, row):
        yield Signal(QueryType.RELATIONSHIP, "comparison", RelationHint.COMPARISON)
    for rule, pattern, hint in _RELATION_RULES:
        if pattern.search(text):
            yield Signal(QueryType.RELATIONSHIP, rule, hint)
    if any(True for _ in bridges(row)):
        yield Signal(QueryType.RELATIONSHIP, "nested", RelationHint.GENERAL)


# ---------------------------------------------------------------- the whole


def _whole_signals(text: str, row: Sequence[Phrase]) -> Iterator[Signal]:
    named = any(phrase.proper for phrase in row)
    if _asks_for_summary(row):
        yield Signal(QueryType.GLOBAL, "overview")
    if not named and _LIST.search(text) and not _is_of_one_thing(row):
        yield Signal(QueryType.GLOBAL, "list")
    if not named and _CHANGE.search(text):
        yield Signal(QueryType.GLOBAL, "change over time")
    for rule, pattern in _WHOLE_RULES:
        if pattern.search(text) and not _DATED.search(text):
            yield Signal(QueryType.GLOBAL, rule)
    if breadth(text, row) >= BROAD_FROM:
        yield Signal(QueryType.GLOBAL, "breadth")


def _is_of_one_thing(row: Sequence[Phrase]) -> bool:
    """包丁にはどんな種類がありますか asks for something of one thing, 研究の課題にはどんなものがある for the whole."""
    return any(
        phrase.is_noun
        and phrase.head not in _GIST | _DOCUMENTS
        and not phrase.text.endswith(_DOCUMENT_ENDINGS)
        and [it.text for it in row[at + 1 : at + 3]] == ["に", "は"]
        for at, phrase in enumerate(row)
    )


def breadth(text: str, row: Sequence[Phrase]) -> int:
    """Cues that it asks for the whole, less what names cost; 0 where it asks for a fact or for a way to do something.

    "今年の苦情にはどんな特徴がありますか" -> 5: 特徴 (3), どんな, 今年
    """
    if _COUNTED.search(text) or _ASKS_WHERE.search(text) or _HOW_TO.search(text):
        return 0
    points = sum(bool(cue.search(text)) for cue in _CUES)
    points += any(
        phrase.text in _DOCUMENTS or phrase.text.endswith(_DOCUMENT_ENDINGS) for phrase in row if phrase.is_noun
    )
    return points - PER_NAME * sum(phrase.kind == NAME for phrase in row)


def _asks_for_summary(row: Sequence[Phrase]) -> bool:
    """概要を教えて, 議事録の要点は, 全体をまとめて, 経緯を整理してください; not 概要設計書は, 要約機能の使い方."""
    for at, phrase in enumerate(row):
        following = "".join(it.text for it in row[at + 1 : at + 3]).removeprefix("版")
        if phrase.text.startswith(_IN_SHORT):
            return True
        if phrase.kind == "動詞" and _SUMS_UP.match(phrase.text + following):
            return True
        said = {phrase.text, phrase.head} if phrase.is_noun else set()
        if any(said & nouns and pattern.match(following) for nouns, pattern in _ASKED_OF):
            return True
    return False


# ---------------------------------------------------------------- relations


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


# ---------------------------------------------------------------- what an answer hangs on

_KIN, _ROLES, _PEOPLE = japanese("kin"), japanese("roles"), japanese("people")
_PERSON_ENDINGS, _BODY_ENDINGS = tuple(japanese("person_endings")), tuple(japanese("body_endings"))
_ROLE_ENDINGS = (*_PERSON_ENDINGS, *japanese("thing_endings"))
_ADNOMINAL = re.compile("[うくぐすつぬぶむる]$")
_NAMING = frozenset(("いう", "いっ", "言う", "呼ば", "呼ぶ"))
_PAST_QUESTION = re.compile("(?:た|だ)(?:の|ん(?:です)?|のです|でしょう)?か[?。]?$")
_TRANSPARENT, _FORMAL = japanese("transparent"), japanese("formal_nouns", "counters", "pronouns")
_ASKING = re.compile("[何誰]|いつ|どこ|どの|どちら|なん|なに|だれ|いくつ|いくら")
_ON = frozenset(("の", "が", "に", "で", "から", "も", "と", "へ", "を"))
_BECOMES = frozenset(("なっ", "なる", "なり", "言わ", "呼ば", "いわ", "よば", "し", "する", "就い", "就任"))
_WISHES = frozenset(("知り", "たい", "教え", "挙げ", "あげ", "よ", "ほしい", "いただけ", "下さい", "お願い", "し"))
_CALLED = _NAMING | {"と", "から", "まで", "ば"}
_ENDS = frozenset("?。!")
_PARTICLES_OF_END = "です か でしょう だ 、 た だっ の まし ます でし 教え て ください な こと"
_CLOSING = frozenset(_PARTICLES_OF_END.split())


def bridges(row: Sequence[Phrase]) -> Iterator[int]:
    """Where in the phrases something stands that the question needs on its way and does not name.

    静かな港, の, 監督, の, 母親, は, 誰 -> 2, the director

    『静かな港』の監督は誰ですか asks for the director, so there is none; 監督はどこで生まれましたか has one.
    """
    ends_open = [phrase.text for phrase in row if phrase.text not in _ENDS][-1:] == ["は"]
    asks = ends_open or any(_ASKING.match(phrase.text) for phrase in row)
    for at, phrase in enumerate(row):
        if not phrase.is_noun or phrase.kind == NAME or phrase.text in _FORMAL:
            continue
        if (_is_role(row, at, asks=asks) or _is_told(row, at, asks=asks)) and not _is_asked_for(row, at):
            yield at


def _is_relational(phrase: Phrase) -> bool:
    """Whether someone or something is it to another: 監督, 設計者, 妻, 販売会社, 出身校."""
    known = {phrase.text, phrase.head} & (_KIN | _ROLES)
    return bool(known) or (len(phrase.text) > 1 and phrase.text.endswith(_ROLE_ENDINGS))


def _is_role(row: Sequence[Phrase], at: int, *, asks: bool) -> bool:
    """What something is to another: 『静かな港』の監督, 太陽の塔の設計者."""
    phrase = row[at]
    if phrase.text in _PEOPLE or not _is_relational(phrase):
        return False
    for owner in range(at - 2, -1, -2):
        if row[owner + 1].text != "の" or not row[owner].is_noun:
            break
        certain = row[owner].proper or _is_relational(row[owner]) or _is_clause_head(row, owner)
        if certain or (asks and _is_relational(phrase)):
            return True
    return False


def _is_told(row: Sequence[Phrase], at: int, *, asks: bool) -> bool:
    """Whether a clause in front says which one is meant: 『静かな港』を書いた作家, 歌を作詞した人は何を学びましたか.

    The clause holds a name, or tells in the past of a person or body of whom something is asked.
    """
    if not _is_clause_head(row, at):
        return False
    named = any(phrase.proper for phrase in row[:at])
    behind = [phrase.text for phrase in row[at + 1 : at + 3]]
    if named:
        return True
    if behind[:1] == ["の"] and row[at + 2 : at + 3] and _is_relational(row[at + 2]):
        return asks
    person = row[at].text in _PEOPLE or row[at].text.endswith(_PERSON_ENDINGS)
    if person and behind[:1] == ["は"]:
        # Both what was done and what is asked for are over: one person is meant, and not whoever does so.
        past = row[at - 1].kind == "助動詞" and _PAST_QUESTION.search("".join(phrase.text for phrase in row))
        return bool(past)
    return asks and (person or row[at].text.endswith(_BODY_ENDINGS)) and behind[:1] in (["の"], ["を"])


def _is_clause_head(row: Sequence[Phrase], at: int) -> bool:
    """Whether a verb stands before the noun and tells of it: 宮本健が所属するチーム."""
    if at < 2 or row[at].text in _FORMAL:
        return False
    before = row[at - 1]
    if before.text == "の" and at > 2 and _DATE.fullmatch(row[at - 2].text):
        before = row[at - 3]  # 手掛けた2016年のドラマ
    if before.kind == "動詞":
        return bool(_ADNOMINAL.search(before.text)) and before.text not in _NAMING
    return (
        before.kind == "助動詞"
        and before.text in {"た", "だ", "れる", "られる", "ない"}
        and row[at - 2].text not in _NAMING
    )


def _is_asked_for(row: Sequence[Phrase], at: int) -> bool:
    """Whether this is what the question is after: 監督は誰ですか, 国はどこ, 島の名前は, 国は何カ国."""
    texts = [phrase.text for phrase in row[at + 1 :]]
    texts = texts[: next((place for place, text in enumerate(texts) if text in _ENDS), len(texts))]
    while len(texts) >= 2 and texts[0] == "の" and texts[1] in _TRANSPARENT:
        texts = texts[2:]
    if not texts:
        return True
    if texts[0] in {"は", "とは", "って"}:
        rest = [text for text in texts[1:] if text not in _CLOSING]
        rest = [text for text in rest if text not in _CALLED]
        return len(rest) <= 1 or (len(rest) == 2 and rest[0] == "何" and len(rest[1]) <= MAX_COUNTER)
    if texts[0] in {"を", "と"} and any(text in _NAMING or text == "いえ" for text in texts[1:]):
        return True  # という城, をなんというか, といえば
    if texts[0] == "を":
        return not any(text not in _CLOSING | _WISHES for text in texts[1:])
    becomes = texts[0] in {"に", "と"} and texts[1:2] and texts[1] in _BECOMES
    return texts[0] not in _ON or bool(becomes)
