"""The rule classifier: what kind of answer a question wants, how sure that is, and why."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from hybridrag.queries.classify import classify
from hybridrag.queries.decide import CONFIDENCE, decide
from hybridrag.queries.plan import default_weights
from hybridrag.queries.read_question import read_question
from hybridrag.types.queries import QueryType, RelationHint

QUESTIONS = Path(__file__).parents[1] / "data" / "questions.jsonl"
LOCAL, GLOBAL, RELATIONSHIP, HYBRID = QueryType.LOCAL, QueryType.GLOBAL, QueryType.RELATIONSHIP, QueryType.HYBRID


@pytest.mark.parametrize(
    "question",
    [
        "全体のテーマは？",
        "全体は何ですか",
        "概要を教えて",
        "主な話題は何ですか",
        "主要な話題",
        "何について書かれていますか",
        "どんな内容ですか",
        "要約して",
        "まとめ",
        "Give me an overview",
        "A summary, please",
        "What is this document about?",
        "What is this about",
        "main topic of the files",
        "the main theme",
        "このドキュメント全体のテーマは何ですか？",
    ],
)
def test_every_pattern_of_the_requirement_for_the_whole_is_global(question: str) -> None:
    assert classify(question).type is GLOBAL


@pytest.mark.parametrize(
    ("question", "hint"),
    [
        ("東京と大阪の関係は？", RelationHint.RELATIONSHIP),
        ("TypeScriptとJavaScriptの違い", RelationHint.COMPARISON),
        ("新案と旧案の比較", RelationHint.COMPARISON),
        ("気温が売上に与える影響", RelationHint.CAUSATION),
        ("なぜ工場が止まったのですか", RelationHint.REASON),
        ("納期はなぜ遅れたのですか", RelationHint.REASON),
        ("合併と人員削減はどう関連していますか", RelationHint.RELATIONSHIP),
        ("the relationship between sleep and memory", RelationHint.RELATIONSHIP),
        ("What is the difference between TCP and UDP?", RelationHint.COMPARISON),
        ("Compare React and Vue", RelationHint.COMPARISON),
        ("compare the old plan with the new plan", RelationHint.COMPARISON),
        ("How does humidity affect drying?", RelationHint.CAUSATION),
        ("How does the tariff impact suppliers?", RelationHint.CAUSATION),
        ("Why did the launch slip?", RelationHint.REASON),
    ],
)
def test_every_pattern_of_the_requirement_for_relations_is_relationship_with_its_hint(
    question: str, hint: RelationHint
) -> None:
    found = classify(question)
    assert (found.type, found.relation_hint) == (RELATIONSHIP, hint)


@pytest.mark.parametrize(
    "question",
    [
        "Which of Lake Erwin and Lake Sora was dammed first?",
        "Which is deeper, Lake Erwin or Lake Sora?",
        "Who is older, Ana Costa or Ben Okoro?",
        "Are Lake Erwin and Lake Sora both in the north?",
        "Between Lake Erwin and Lake Sora, which one is deeper?",
        "tea or coffee, which has more caffeine",
        "Is Lake Erwin deeper than Lake Sora?",
        "北湖と南湖ではどちらが深いですか",
        "北湖と南湖のうち深いのはどっち？",
        "北駅と南駅、先に開業したのは？",
        "『静かな港』と『夜汽車』、監督は同じですか？",
        "北駅(東京)と南駅はどちらが古いですか",
        "宮本健は佐伯一郎の何歳年上ですか",
        "PythonはRubyより速いですか",
        "『静かな港』と青木楓の『夜汽車』で、公開が先なのは？",
    ],
)
def test_which_of_two_is_a_comparison(question: str) -> None:
    found = classify(question)
    assert (found.type, found.relation_hint) == (RELATIONSHIP, RelationHint.COMPARISON)


@pytest.mark.parametrize(
    "question",
    [
        "the mother of the director of The Quiet Harbour",
        "Who is the mother of the director of The Quiet Harbour?",
        "When was the director of The Quiet Harbour born?",
        "What is the population of the city where Ana Costa was born?",
        "Where was the founder of the company that makes the K-200 pump born?",
        "The author of The Quiet Harbour was born in what town?",
        "What nationality is Ana Costa's husband?",
        "Who directed the film in which Ana Costa made her debut?",
        "Who supervises the person in charge of payroll?",
        "What type of school is the college Ana Costa attended?",
        "Who is Ana Costa's maternal grandmother?",
        "Where did the Northgate Hall designer's brother live?",
        "Who was the father of the first harbourmaster of Northgate?",
        "Who opened the pottery whose bowls are sold at Northgate Fair?",
        "When did the smith for whom Ana Costa worked retire?",
        "How tall is the windmill that Ana Costa restored?",
        "『静かな港』の監督の母親は誰ですか",
        "『静かな港』の監督はどこで生まれましたか",
        "『静かな港』を書いた作家の出身地は？",
        "宮本健が所属するチームの監督は誰ですか",
        "宮本健が脚本を手掛けた2016年のドラマの放送局は？",
        "灯台を設計した技師の母校の所在地は？",
        "宮本健の妻の職業は何ですか",
        "北浜鉄道の主任技師は誰の教え子でしたか",
        "町の歌を作詞した人は何を学びましたか",
        "嵐の夜に鐘を鳴らした鐘守の孫は誰ですか",
        "市場で干物を売る店を創業したのは誰ですか",
        "去年宮本健と演奏した楽団の指揮者は何歳でしたか",
    ],
)
def test_what_hangs_on_a_thing_that_is_not_named_is_a_relationship(question: str) -> None:
    found = classify(question)
    assert (found.type, found.relation_hint) == (RELATIONSHIP, RelationHint.GENERAL)


@pytest.mark.parametrize(
    "question",
    [
        "Who is the director of The Quiet Harbour?",
        "What is the name of the city where Ana Costa was born?",
        "Which city is the capital of Norway?",
        "How long was Aldermoor the capital of the county?",
        "How do I contact the owner of the repository?",
        "Aldermoor is a kind of which stone?",
        "To what extent did the rate at which Aldermoor grew change?",
        "Who was the father of the motor car?",
        "『静かな港』の監督は誰ですか",
        "『静かな港』の監督を教えてください",
        "宮本健が生まれた島の名前は何ですか",
        "会議に参加している国は何カ国ですか",
        "ギターより古い楽器は何ですか",
        "雑誌は北浜出版社より発行されていますか",
        "お手洗いはどちらですか",
        "年収の違いが生じるのは何年目からですか",
        "虫歯の原因菌の名前は",
        "引っ越した人は何を出せばよいですか",
        "町の歌を作詞した人は誰でしたか",
        "市場で干物を売る店はどこですか",
    ],
)
def test_a_thing_that_is_asked_for_itself_is_local(question: str) -> None:
    assert classify(question).type is LOCAL


@pytest.mark.parametrize(
    "question",
    [
        "What do these meetings mostly discuss?",
        "What themes run through the diaries?",
        "What are the main challenges across the companies in these filings?",
        "How have our priorities shifted over the past ten years?",
        "What feedback has been raised by customers?",
        "Which complaints dominate the hotel feedback?",
        "What values do the fables teach?",
        "この資料では何が議論されていますか",
        "今年の苦情にはどんな特徴がありますか",
        "患者さんがよく口にする困りごとは何でしょうか",
        "過去五年間で方針はどう変わってきたか",
        "各社が直面している主な課題を教えて",
        "昔話集にはどんな教えが込められていますか",
    ],
)
def test_the_whole_is_asked_for_without_the_word_overview(question: str) -> None:
    assert classify(question).type is GLOBAL


@pytest.mark.parametrize(
    "question",
    [
        "What is the theme of chapter 3 of The Quiet Harbour?",
        "第3章のテーマは何ですか",
        "What is the summary field used for?",
        "申請書の概要欄には何を書けばいいですか",
        "Where are the interview transcripts stored?",
        "議事録はどこに保存されていますか",
        "アンケートの回答者は何人でしたか",
        "What does the handbook say about overtime?",
        "Who wrote the minutes of the March meeting?",
    ],
)
def test_one_part_or_one_property_of_documents_is_local(question: str) -> None:
    assert classify(question).type is LOCAL


@pytest.mark.parametrize(
    "question",
    [
        "What are the main themes of the minutes, and when was the last meeting held?",
        "Summarise the report and tell me who wrote it",
        "報告書の概要と、前回との違いを教えて",
        "会議の要点と次回の日程は？",
        "全体の傾向をまとめたうえで、担当者の名前も教えてください",
    ],
)
def test_the_whole_and_something_else_at_once_is_hybrid_and_sure(question: str) -> None:
    found = classify(question)
    assert found.type is HYBRID
    assert found.confidence >= 0.6
    assert found.intent == "Answer several kinds of questions at once."


@pytest.mark.parametrize(
    "question",
    [
        "",
        " ",
        "a",
        "hmm",
        "ok then",
        "?",
        "???",
        "and?",
        "why",
        "なぜ",
        "違い",
        "これは？",
        "それについて",
        "はい",
        "😀😀",
    ],
)
def test_what_says_nothing_is_hybrid_and_unsure(question: str) -> None:
    found = classify(question)
    assert found.type is HYBRID
    assert found.confidence < 0.6
    assert found.extracted_entities == ()


@pytest.mark.parametrize("question", ["我们的报告讲了什么", "이 문서는 무엇에 관한 것입니까?", "О чём эти документы?"])
def test_a_language_without_rules_is_hybrid(question: str) -> None:
    assert classify(question).type is HYBRID


@pytest.mark.parametrize(
    "question",
    [
        "NullPointerException at com.acme.billing.InvoiceService.charge(InvoiceService.java:88)",
        "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nValueError: why compare both?',
        "エラー: ファイルが見つかりません (コード 0x80070002)",
        "SELECT * FROM orders WHERE total > 100",
        "const total = orders.map(o => o.total);",
        "from os import path",
        "https://wiki.example.com/summary/overview",
        "C:\\temp\\summary.txt",
        "/var/log/overview/report.log",
        "someone@example.com",
    ],
)
def test_what_was_pasted_is_looked_up_as_it_stands(question: str) -> None:
    found = classify(question)
    assert found.type is LOCAL
    assert found.intent == "Find where this text is dealt with."


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Why do I get a TypeError?", RELATIONSHIP),
        ("import duties on steel", LOCAL),
        ("class sizes in the north", LOCAL),
        ("from Osaka to Nagoya by train", LOCAL),
    ],
)
def test_a_question_about_code_or_with_its_words_is_a_question(question: str, expected: QueryType) -> None:
    found = classify(question)
    assert found.type is expected
    assert found.intent != "Find where this text is dealt with."


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Kamakura", LOCAL),
        ("鎌倉", LOCAL),
        ("WHO IS THE HEAD OF PROCUREMENT", LOCAL),
        ("MAIN THEMES OF THE NOVEL", GLOBAL),
        ("waht is teh deadline for the grant aplication", LOCAL),
        ("where is the spare key kept", LOCAL),
        ("複合機のトナーの型番を教えていただけますか", LOCAL),
        ("ドキュメント全体の概要を教えていただけますか", GLOBAL),
        ("この project の overview を教えて", GLOBAL),
        ("How does 湿度 affect curing time?", RELATIONSHIP),
        ("Kubernetes vs ECS どっちが安い？", RELATIONSHIP),
        ("production の DB host はどこ？", LOCAL),
        ("ＲｅａｃｔとＶｕｅの違いは？", RELATIONSHIP),
    ],
)
def test_short_shouted_misspelt_polite_and_mixed_questions_are_read(question: str, expected: QueryType) -> None:
    assert classify(question).type is expected


def test_below_the_minimum_confidence_the_type_is_hybrid_with_its_weights_and_no_hint() -> None:
    sure = classify("Why did the launch slip?", min_confidence=0.5)
    unsure = classify("Why did the launch slip?", min_confidence=0.99)
    assert (sure.type, sure.suggested_weights) == (RELATIONSHIP, default_weights(RELATIONSHIP))
    assert (unsure.type, unsure.suggested_weights) == (HYBRID, default_weights(HYBRID))
    assert unsure.confidence == sure.confidence
    assert unsure.relation_hint is None


def test_rules_that_contradict_each_other_are_less_sure() -> None:
    plain = classify("What is the difference between plan A and plan B?")
    both = classify("What is the overall difference between plan A and plan B?")
    assert plain.type is both.type is RELATIONSHIP
    assert both.confidence < plain.confidence


def test_a_question_that_is_nearly_broad_is_hybrid_at_the_recommended_minimum() -> None:
    question = "What did people like and dislike about the festival?"
    assert classify(question).type is LOCAL
    assert classify(question, min_confidence=0.7).type is HYBRID


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Compare React, Vue and Svelte", "Compare React, Vue and Svelte."),
        ("東京と大阪の関係", "Find how 東京 and 大阪 relate."),
        ("気温が売上に与える影響", "Find what causes or changes what, with 気温 and 売上."),
        ("Why did Team Falcon leave?", "Find the reason, with Team Falcon."),
        ("When was the director of The Quiet Harbour born?", "Follow the relations from The Quiet Harbour."),
        ("Summarise the whole meeting", "Get an overview of the whole."),
        ("How have Microsoft's targets evolved?", "Get an overview that covers Microsoft."),
        ("Who is Ana Costa?", "Find a fact or detail about Ana Costa."),
        ("where is the spare key kept", "Find a fact or detail."),
        ("hmm", "Search in every way: what is wanted is not clear."),
        ("why was it postponed", "Find the reason."),
        ("What is the impact of the delay?", "Find what causes or changes what."),
    ],
)
def test_the_intention_is_one_english_sentence(question: str, intent: str) -> None:
    assert classify(question).intent == intent


def test_keywords_come_from_the_language_layer_and_expansion_is_left_to_the_caller() -> None:
    found = classify("ReactとVueの違いは何ですか")
    assert found.keywords == ("React", "Vue", "違い")
    assert found.expanded_queries == ()
    assert found.original_query == "ReactとVueの違いは何ですか"


def test_every_rule_that_decides_has_a_confidence() -> None:
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    rules = {decide(read_question(row["text"])).rule for row in rows}
    assert rules <= CONFIDENCE.keys()
    assert len(rules) > 15


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("split", ["tune", "held", "everyday", "ordinary"])
def test_nine_of_ten_written_down_questions_are_classified_as_their_author_did(language: str, split: str) -> None:
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if (row["language"], row["split"]) == (language, split)]
    right = Counter(classify(row["text"]).type == row["type"] for row in rows)
    assert right[True] >= 0.92 * len(rows)
