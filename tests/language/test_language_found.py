"""What a person writes in the search box, and the text in which it must be found."""

from __future__ import annotations

import pytest

from hybridrag.language.tokenise import index_terms, phrase_terms, prefix_form, query_terms

JAPANESE = [
    ("標準化", "国際標準化機構（ISO）"),
    ("国際標準化機構", "国際標準化機構（ISO）"),
    ("機構", "国際標準化機構（ISO）"),
    ("ＩＳＯ", "国際標準化機構（ISO）"),
    ("国際 標準", "国際標準化機構（ISO）"),
    ("ｺﾝﾋﾟｭｰﾀ", "コンピューターの歴史"),
    ("コンピューター", "量子コンピュータ入門"),
    ("コンピュ－タ", "コンピュータの部品"),
    ("サ―バ", "サーバーを再起動する"),
    ("ＡＰＩ", "公開APIの一覧"),
    ("API", "公開ＡＰＩの一覧"),
    ("髙橋", "高橋さんの発表"),
    ("高橋", "髙橋さんの発表"),
    ("髙島屋", "高島屋の本店"),
    ("山﨑", "山崎の合戦"),
    ("渡邊", "渡辺の報告"),
    ("渡邉", "渡辺の報告"),
    ("渡辺", "渡邉の報告"),
    ("𠮷野家", "吉野家の牛丼"),
    ("宮澤", "宮沢の詩集"),
    ("坂本竜馬", "坂本龍馬の手紙"),
    ("國際", "国際会議の日程"),
    ("引越し", "引っ越しの手続き"),
    ("引っ越し", "引越の手続き"),
    ("打合せ", "打ち合わせの記録"),
    ("お問い合わせ", "問合せ先はこちら"),
    ("売上", "売り上げが伸びた"),
    ("申込", "申し込みの方法"),
    ("走る", "彼は毎朝走った"),
    ("走った", "毎朝走るのが習慣だ"),
    ("食べる", "まだ食べられていない"),
    ("美しい", "景色は美しかった"),
    ("わかる", "分からないことを聞く"),
    ("子ども", "子供の権利"),
    ("東京都", "東京都庁の展望台"),
    ("東京", "東京都庁の展望台"),
    ("都庁", "東京都庁の展望台"),
    ("横浜市", "横浜市立図書館"),
    ("京都市", "京都市役所の窓口"),
    ("大阪府", "大阪府警察"),
    ("ﾃﾞｰﾀﾍﾞｰｽ", "データベースの設計"),
    ("データベース", "ﾃﾞｰﾀﾍﾞｰｽの設計"),
    ("令和元年", "令和元年度の予算"),
    ("第3四半期", "第３四半期の決算"),
    ("第三四半期", "第3四半期の決算"),
    ("四半期", "第３四半期の決算"),
    ("①", "①準備 ②実行"),
    ("2", "①②③"),
    ("㈱", "(株)山田商店"),
    ("㍿", "株式会社山田商店"),
    ("株式会社", "㍿山田商店"),
    ("㌔", "時速100キロ"),
    ("キロ", "100㌔走る"),
    ("10~20", "10〜20人"),
    ("東京～大阪", "東京〜大阪"),
    ("か\u3099く\u3099", "がぐの音"),
    ("データ", "テ\u3099ータ"),
    ("ハ\u309aン", "パンを焼く"),
    ("ﾊﾟﾝ", "パンを焼く"),
    ("葛城市", "葛\U000e0100城市の地図"),
    ("⻑い", "長い文書"),
    ("Python", "Python入門"),
    ("入門", "Python入門"),
    ("iPhone", "iPhone15の発売日"),
    ("iphone15", "iPhone15の発売日"),
    ("発売日", "iPhone15の発売日"),
    ("シャツ", "Tシャツの在庫"),
    ("Tシャツ", "Ｔシャツの在庫"),
    ("三菱UFJ銀行", "三菱ＵＦＪ銀行の支店"),
    ("UFJ", "三菱UFJ銀行の支店"),
    ("3000円", "会費は3千円です"),
    ("2024-03-15", "2024年3月15日に発売"),
    ("2024年3月15日", "発売日: 2024/3/15"),
    ("1か月", "1ヶ月の期間"),
    ("ヴァイオリン", "バイオリンの弦"),
    ("インターフェイス", "インタフェースの定義"),
    ("アブラカダブラー", "アブラカダブラの呪文"),
    ("涼真", "鈴木涼真の記録"),
    ("機械学習", "これは機械学\u200b習の本"),
    ("とは", "とは"),
]

LATIN = [
    ("running", "He runs every day"),
    ("run", "She was running"),
    ("Tokens", "max_tokens=5"),
    ("max_tokens", "set max_tokens to 5"),
    ("max tokens", "set max_tokens to 5"),
    ("state-of-the-art", "a state-of-the-art model"),
    ("state of the art", "a state-of-the-art model"),
    ("art", "a state-of-the-art model"),
    ("email", "send an e-mail"),
    ("e-mail", "send an email"),
    ("getUserName", "calls getUserName()"),
    ("user name", "calls getUserName()"),
    ("getusername", "calls getUserName()"),
    ("server", "HTTPServer2 started"),
    ("HTTPServer2", "HTTPServer2 started"),
    ("http", "HTTPServer2 started"),
    ("v2.3.1", "released v2.3.1 today"),
    ("2.3.1", "released v2.3.1 today"),
    ("v2", "released v2.3.1 today"),
    ("foo.bar.baz", "import foo.bar.baz"),
    ("bar", "import foo.bar.baz"),
    ("C++", "written in C++."),
    ("c#", "written in C#, not F#"),
    ("C++", "C/C++ compiler"),
    (".NET", "the .NET runtime"),
    ("net", "the .NET runtime"),
    ("node.js", "Node.js server"),
    ("nodejs", "Node.js server"),
    ("user@example.com", "mail user@example.com now"),
    ("example.com", "mail user@example.com now"),
    ("https://example.com/docs/index.html", "see https://example.com/docs/index.html."),
    ("index.html", "see https://example.com/docs/index.html."),
    ("/usr/local/bin", "in /usr/local/bin/python"),
    ("file.txt", r"C:\Users\me\file.txt"),
    ("E-1234", "error E-1234 occurred"),
    ("1234", "error E-1234 occurred"),
    ("1000.5", "costs 1,000.5 dollars"),
    ("1,000", "costs 1000 dollars"),
    ("2024-3-5", "on 2024/03/05"),
    ("GPT4", "GPT-4 model"),
    ("GPT-4", "GPT4 model"),
    ("dog", "the dog's tail"),
    ("don’t", "I don't know"),
    ("O'Brien", "Mr. O’Brien"),
    ("brien", "Mr. O'Brien"),
    ("USA", "in the U.S.A. today"),
    ("R&D", "the R&D department"),
    ("resume", "my résumé"),
    ("café", "a cafe"),
    ("PDF", "all PDFs"),
    ("finance", "ﬁnance report"),
    ("Windows", "Windows™ 11"),
    ("cooperate", "they co\u00adoperate"),
    ("to be or not to be", "To be, or not to be"),
]

OTHER = [
    ("서울", "서울에서 만나요"),
    ("ПРИВЕТ", "привет, мир"),
    ("ΑΘΗΝΑ", "αθηνα"),
    ("مرحبا", "مَرْحَبًا"),
    ("สวัสดี", "สวัสดีครับ"),
    ("हिन्दी", "यह हिन्दी है"),
    ("👍", "Good 👍🏽"),
    ("🇯🇵", "from 🇯🇵🇺🇸"),
    ("人工智能", "人工智能技术"),
]


def is_found(query: str, text: str) -> bool:
    indexed = {term for position in index_terms(text) for term in position}
    asked = query_terms(query)
    return bool(asked) and all(
        not indexed.isdisjoint((it.term, *it.others)) or (bool(it.parts) and indexed.issuperset(it.parts))
        for it in asked
    )


@pytest.mark.parametrize(("query", "text"), JAPANESE + LATIN + OTHER)
def test_a_query_finds_the_text_that_a_person_expects(query: str, text: str) -> None:
    assert is_found(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("京都", "東京都の人口"),
        ("人参", "外国人参政権"),
        ("java", "JavaScript engine"),
        ("北海道", "東京都の人口"),
        ("C", "written in C++"),
        ("斉藤", "斎藤の報告"),
        ("12", "①②③"),
        ("windowstm", "Windows™ 11"),
    ],
)
def test_a_query_does_not_find_a_word_that_only_looks_like_it(query: str, text: str) -> None:
    assert not is_found(query, text)


def holds_phrase(phrase: str, text: str) -> bool:
    wanted, positions = phrase_terms(phrase), index_terms(text)
    return any(
        all(term in positions[at + step] for step, term in enumerate(wanted))
        for at in range(len(positions) - len(wanted) + 1)
    )


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("国際標準化機構の規格", "これは国際標準化機構の規格である。"),
        ("標準化機構", "国際標準化機構の規格"),
        ("第３四半期の売上高", "今期（第3四半期の売上高）は"),
        ("the state of the art", "It is the state of the art."),
        ("state of the art", "a state-of-the-art system"),
        ("Running shoes", "He bought running shoes."),
        ("user name", "getUserName"),
        ("iPhone 15 Pro", "the iPhone 15 Pro case"),
        ("東京都庁", "昨日、東京都庁へ行った"),
        ("2024年の計画", "二千二十四年の計画"),
        ("渡辺太郎", "渡邊 太郎"),
        ("to be or not to be", "whether to be or not to be"),
    ],
)
def test_a_phrase_is_found_where_it_stands(phrase: str, text: str) -> None:
    assert holds_phrase(phrase, text)


def test_a_phrase_is_not_found_in_another_order() -> None:
    assert not holds_phrase("art of the state", "state of the art")


@pytest.mark.parametrize(
    ("beginning", "text"),
    [
        ("runn", "She was running"),
        ("Happi", "true happiness"),
        ("ｺﾝﾋﾟｭ", "コンピューターの歴史"),
        ("国際標", "国際標準化機構"),
        ("引越", "引越しの手続き"),
        ("わか", "わかること"),
        ("state-of", "a state-of-the-art model"),
        ("getUs", "getUserName"),
    ],
)
def test_a_prefix_finds_whole_words_and_not_only_stems(beginning: str, text: str) -> None:
    form = prefix_form(beginning)
    assert any(term.startswith(form) for position in index_terms(text) for term in position)
