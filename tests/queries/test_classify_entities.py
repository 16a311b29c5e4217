"""The names in a question: whole, clean, in order, as written."""

from __future__ import annotations

import pytest

from hybridrag.queries.classify import classify
from hybridrag.queries.find_names import MAX_NAMES


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("compare React and Vue", ["React", "Vue"]),
        ("Compare React with Vue", ["React", "Vue"]),
        ("relationship between A and B", ["A", "B"]),
        ("compare kafka, rabbitmq and nats", ["kafka", "rabbitmq", "nats"]),
        ("pros and cons of kafka vs rabbitmq", ["kafka", "rabbitmq"]),
        ("How does humidity affect the curing time of the resin?", ["humidity", "curing time of the resin"]),
        ("what is the effect of coffee on sleep in adults?", ["coffee", "sleep"]),
        ("Is tea better than coffee?", ["tea", "coffee"]),
        ("How is Mara Lindqvist related to Jonas Hale?", ["Mara Lindqvist", "Jonas Hale"]),
        ("What connects the bakery fire with the bridge closure?", ["bakery fire", "bridge closure"]),
        ("Which of Lake Erwin and Lake Sora is deeper?", ["Lake Erwin", "Lake Sora"]),
    ],
)
def test_both_sides_of_an_english_comparison_come_out_clean(question: str, names: list[str]) -> None:
    assert list(classify(question).extracted_entities) == names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("ReactとVueの違いは何ですか", ["React", "Vue"]),
        ("reactとvueの違いを教えていただけますか", ["react", "vue"]),
        ("東京と大阪の関係", ["東京", "大阪"]),
        ("日報と週報はどう使い分けますか", ["日報", "週報"]),
        ("新制度と旧制度を比較してください", ["新制度", "旧制度"]),
        ("A社とB社の違い", ["A社", "B社"]),
        ("プランAとプランBのうち安いのはどっち", ["プランA", "プランB"]),
        ("気温が売上に与える影響を教えてください", ["気温", "売上"]),
        ("PythonはRubyより速いですか", ["Python", "Ruby"]),
        ("関ヶ原の戦いと赤壁の戦いはどちらが先ですか", ["関ヶ原の戦い", "赤壁の戦い"]),
        ("山田さんと鈴木さんは同じ部署ですか", ["山田", "鈴木"]),
        ("max_tokens と temperature の違い", ["max_tokens", "temperature"]),
        ("『静かな港。』と『夜汽車』の監督は同じですか", ["静かな港", "夜汽車"]),
    ],
)
def test_both_sides_of_a_japanese_comparison_come_without_particles_and_politeness(
    question: str, names: list[str]
) -> None:
    assert list(classify(question).extracted_entities) == names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who directed The Lord of the Rings?", ["The Lord of the Rings"]),
        ("Tell me about J. R. R. Tolkien's wife", ["J. R. R. Tolkien"]),
        ("Is Dr. Abe in St. Paul?", ["Dr. Abe", "St. Paul"]),
        ("When was the Institute for Advanced Study founded?", ["Institute for Advanced Study"]),
        ("What is the capital of the United States of America?", ["United States of America"]),
        ("Where was Martin Luther King Jr.'s church?", ["Martin Luther King Jr."]),
        ("when did Bank of America buy Simon & Sons", ["Bank of America", "Simon & Sons"]),
        ("The owner of Owl's Nest", ["Owl's Nest"]),
        ("iPhone 15 release date", ["iPhone 15"]),
        ("Kamakura", ["Kamakura"]),
        ("Kamakura temples", ["Kamakura"]),
        ("Microsoft's revenue in Q3", ["Microsoft"]),
        ("In March, who approved the budget?", []),
        ("WHO IS THE HEAD OF PROCUREMENT", []),
        ("What Is The Deadline For The Grant?", []),
        ("I think I'm lost", []),
        ("Please explain what C++ and .NET have to do with max_tokens", ["C++", ".NET", "max_tokens"]),
        ("what does os.path.join() return", ["os.path.join()"]),
        ("error E-4012 on the K-200", ["E-4012", "K-200"]),
        ("e.g. the U.S. office", ["U.S."]),
    ],
)
def test_english_names_are_found_whole_and_small_words_are_not(question: str, names: list[str]) -> None:
    assert list(classify(question).extracted_entities) == names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("ジョン・スミスはどこで生まれましたか", ["ジョン・スミス"]),
        ("宮本健さんの内線番号", ["宮本健"]),
        ("株式会社ミナト商会の代表者は誰ですか", ["株式会社ミナト商会"]),
        ("北浜研究所の住所", ["北浜研究所"]),
        ("Wi-Fiのパスワード", ["Wi-Fi"]),
        ("K-200ポンプの重さは", ["K-200ポンプ"]),
        ("映画ゴジラの公開年は", ["ゴジラ"]),
        ("経費精算の締め切りはいつ？", []),
        ("サーバーの再起動手順が知りたい", []),
        ("東京以外で開かれた会議", ["東京"]),
        ("事件・事故の件数", []),
    ],
)
def test_japanese_names_are_found_without_honorifics_titles_and_common_words(question: str, names: list[str]) -> None:
    assert list(classify(question).extracted_entities) == names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("who wrote 'Quiet Harbours,' and \"Miller's Crossing\"?", ["Quiet Harbours", "Miller's Crossing"]),
        ("「となりのトトロ」の監督は誰ですか", ["となりのトトロ"]),
        ("『静かな港』が出版されたのは何年？", ["静かな港"]),
        ("what is `retry` in “job queue”", ["retry", "job queue"]),
        ("don't, won't, it's 5 o'clock", []),
        ('""', []),
        ("「」", []),
    ],
)
def test_what_is_quoted_is_one_name_without_its_marks(question: str, names: list[str]) -> None:
    assert list(classify(question).extracted_entities) == names


def test_a_name_known_to_the_graph_is_kept_whole_with_its_particles() -> None:
    known = ["となりのトトロ", "宮崎駿"]
    found = classify("となりのトトロの監督の母親は誰ですか", known_names=lambda _: known)
    assert found.extracted_entities == ("となりのトトロ",)


def test_a_known_name_is_found_whatever_its_case_and_width_and_only_as_a_whole_word() -> None:
    def known(question: str) -> list[str]:
        assert question == "ＫＡＦＫＡ consumers and catapults"
        return ["kafka", "cat", "", "  "]

    assert classify("ＫＡＦＫＡ consumers and catapults", known_names=known).extracted_entities == ("ＫＡＦＫＡ",)


def test_a_known_name_inside_a_longer_one_does_not_break_it() -> None:
    longer = classify("Where was Paris Hilton born?", known_names=lambda _: ["Paris"])
    assert longer.extracted_entities == ("Paris Hilton",)
    owner = classify("Where is Acme's Falcon kept?", known_names=lambda _: ["Falcon"])
    assert owner.extracted_entities == ("Falcon",)


def test_what_the_source_of_known_names_raises_passes_through() -> None:
    def broken(_: str) -> list[str]:
        raise LookupError

    with pytest.raises(LookupError):
        classify("Where is the key?", known_names=broken)


def test_each_name_comes_once_in_the_order_of_the_question() -> None:
    found = classify("Did Ana Costa meet Ben Okoro before ANA COSTA met Ben Okoro?")
    assert found.extracted_entities == ("Ana Costa", "Ben Okoro")


def test_there_are_at_most_sixteen_names() -> None:
    text = "\n".join(f"    at com.acme.Part{number}.run(Part{number}.java:1)" for number in range(60))
    assert len(classify(text).extracted_entities) == MAX_NAMES == 16


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Which came first, Quiet Harbour (Film) or Night Train?", ["Quiet Harbour", "Night Train"]),
        ("Was Quiet Harbour (1946 Film) made before Night Train (Tv Series)?", ["Quiet Harbour", "Night Train"]),
        ("Do Ada Berg (Illustrator) and Jon Falk share a nationality?", ["Ada Berg", "Jon Falk"]),
        ("Where was the director of film Littlewood (Film) born?", ["Littlewood"]),
        ("『静かな港』(Film)と『夜汽車』(Novel)の違い", ["静かな港", "夜汽車"]),
    ],
)
def test_what_brackets_say_of_a_name_is_no_name_of_its_own(question: str, names: list[str]) -> None:
    assert list(classify(question).extracted_entities) == names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Did Quiet Harbour (painted by Ada Berg) win a prize?", ["Quiet Harbour", "Ada Berg"]),
        ("why does billing.charge(InvoiceService.java) fail?", ["billing.charge", "InvoiceService.java"]),
    ],
)
def test_brackets_that_tell_something_keep_their_names(question: str, names: list[str]) -> None:
    assert list(classify(question).extracted_entities) == names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("『静かな港』を書いた人は何年に生まれましたか", ["静かな港"]),
        ("K-200の開発メーカーは何年に設立されましたか", ["K-200"]),
        ("『静かな港』と『夜汽車』は何年に出ましたか。違いは何年ですか", ["静かな港", "夜汽車"]),
    ],
)
def test_persons_and_years_that_are_asked_for_are_no_sides(question: str, names: list[str]) -> None:
    assert list(classify(question).extracted_entities) == names


def test_words_that_the_graph_knows_as_names_stay_words_of_the_question() -> None:
    known = ["静かな港", "作者", "先"]
    found = classify("『静かな港』の作者の在住地は何市ですか", known_names=lambda _: known)
    assert (found.type.value, found.extracted_entities) == ("relationship", ("静かな港",))
    english = classify("Where was the director of Quiet Harbour born?", known_names=lambda _: ["director"])
    assert (english.type.value, english.extracted_entities) == ("relationship", ("Quiet Harbour",))
    assert classify("作者", known_names=lambda _: known).extracted_entities == ("作者",)


def test_a_known_name_in_quotation_marks_takes_them_along() -> None:
    found = classify("『静かな港』と『夜汽車』、先に出たのはどちらですか", known_names=lambda _: ["静かな港", "夜汽車"])
    assert (found.type.value, found.extracted_entities) == ("relationship", ("静かな港", "夜汽車"))
