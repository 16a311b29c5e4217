"""The closed lists of Japanese words that questions are read by. No list of names stands here."""

from __future__ import annotations

from hybridrag.language.roles import JAPANESE_ROLES


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


LOOSE = _words("メーカー オーナー 所有者 持ち主 仕入先 原作 脚本 演出")
"""Roles that everyday questions use without meaning one certain thing."""
BELONGING = _words(
    """
    在籍 所属 出身 運営 販売 製造 制作 製作 開発 主演 出演 設立 創設 設置 発売 配給
    """
)
"""Between a name and a thing: 佐伯一郎所属チーム."""
GENERIC_PEOPLE = _words("人 者 方 人々 人達 人たち 男性 女性 男 女")
ENTITIES = (
    JAPANESE_ROLES
    | GENERIC_PEOPLE
    | _words(
        """
        人物 作家 歌手 建築家 デザイナー 画家 彫刻家 芸術家 声優 俳優 女優 選手 教授 科学者 出演者 劇団 事業者
        鉄道会社 法人 惑星 会社 企業 組織 団体 機関 研究所 大学 学校 高校 小学校 中学校 学部 チーム クラブ グループ
        バンド ユニット ロックバンド 芸能事務所 事務所 球団 野球チーム プロ野球チーム サッカーチーム
        プロサッカーチーム 協会 政党 省庁 リーグ テレビ局 雑誌 新聞 書籍 本 小説 漫画 アニメ テレビアニメ
        テレビドラマ ドラマ 映画 作品 曲 楽曲 歌 アルバム シングル ゲーム 番組 キャラクター 国 県 州 都道府県 路線
        高等学校 星座 賞 映画祭 都市 市 町 村 区 島 川 山 湖 地域 地方 場所 土地 駅 城 寺 神社 建物 建築物 施設 戦い
        戦争 事件 大会 条約 王朝 王国 藩 軍 軍隊 企業グループ 養成所 企画 兵器 船 言語 宗教 博物館 美術館 病院
        """
    )
)
"""Things that have a name; a question may reach its answer over one that it does not name."""
TRANSPARENT = _words(
    """
    名前 名 名称 呼称 呼び名 氏名 題名 タイトル 正式名称 別名 通称 総称 種類 数 人数 一覧 一つ ひとつ 社名 国名
    フルネーム
    """
)
"""島の名前 is the island."""

PRONOUNS = _words(
    """
    件 やつ 例 何 誰 どこ いつ なに なん だれ どなた どちら どっち どれ いくら いくつ これ それ あれ ここ そこ
    あそこ こちら 私 僕 あなた 彼 彼女
    """
)
DEPENDENT = _words("うち ほう 方 こと もの ため とき の よう はず わけ ところ 場合")
"""Nouns that stand for nothing by themselves."""
HONORIFICS = _words("さん 様 さま 氏 くん 君 ちゃん 先生 殿 選手 たち 達 ら")
NO_NAME = _words(
    """
    以外 以上 以下 以内 以来 以降 以前 以後 人 初 内 外 中 用 系 側 別 後 前 時 間 製 式 風 的 性 化 等 など 対 毎
    頃 生まれ 在住 出身 所属 関連 関係 全体 全般 同士 自体 自身 本人 両方 双方 それぞれ 一覧 最大 最古 最初 最後
    最高
    """
)
"""A name ends before these: 東京以外で, 宮本健出身の."""
CATEGORIES = _words(
    """
    映画 小説 漫画 アニメ テレビアニメ ドラマ テレビドラマ 楽曲 曲 書籍 本 雑誌 番組 作品 ゲーム 歌手 俳優 女優 作家
    画家 企業 会社 プロ野球選手 サッカー選手 選手 フリーアナウンサー アナウンサー 政治家 監督 グループ バンド
    """
)
"""Stand before a name and say what it is: 映画 静かな港."""
GENERIC_KATAKANA = _words(
    """
    データ テーマ トピック サマリー サマリ ポイント ドキュメント ファイル フォルダ レポート メモ ページ パターン
    トレンド グループ チーム メンバー プロジェクト タイトル システム サーバー サーバ エラー ログ メール パスワード
    アカウント ユーザー インストール ダウンロード アップロード メリット デメリット コスト スケジュール ミーティング
    リスク アンケート インタビュー レビュー ブログ ニュース ジャンル アイデア サポート チケット テスト コード ボタン
    メニュー リスト ルール マニュアル サービス ソフト アプリ セット タイプ サイズ カラー イベント ドラマ アニメ
    ゲーム キャラクター シリーズ シングル アルバム デビュー センター クラブ リーグ スタッフ コメント ナレッジベース
    ナレッジ ベース データセット プラン プラットフォーム テレビ ホームページ ドメイン メーカー エネルギー
    """
)
"""Katakana that is no name of anything."""
CORPUS = _words(
    """
    資料 文書 文献 ドキュメント 議事録 会議録 会議 議会 審議 討論 座談会 説明会 記事 論文 報告書 報告 レポート
    ファイル フォルダ 書籍 小説 物語 作品 日記 手紙 メール ログ レビュー アンケート インタビュー ブログ データ
    チケット 問い合わせ ノート 講演録 規程 契約書 マニュアル 説明書 ナレッジベース ナレッジ コーパス 社史 企画書
    提案書 教科書 やりとり 手記 文集 論文集 記録 投稿 コメント メモ 調査 口コミ クレーム 苦情 投書 感想文 昔話
    ニュース チャット レター フィードバック 自由記述 議事 指摘 シリーズ リポジトリ 古文書 聞き取り 書評 書き込み
    掲示板 証言 発言 判例 事例 提案 エッセイ コラム スレッド ツイート 旅行記 挨拶文 回覧板 講演 演説 対話 会話 通信
    新聞 雑誌 絵本 教材 プレゼン スライド 発表
    """
)
"""What a question about the whole calls the whole."""
CORPUS_ENDINGS = tuple(
    sorted(
        _words(
            """
            集 録 誌 日報 月報 週報 会報 年報 だより 群 一式 資料 文書 報告 記録 調査 規程 論文 日記 行記 文集 評
            証言 投稿 ノート メモ アンケート レビュー 記事 新聞
            """
        )
    )
)
"""What the names of collections end in: 詩集, 講演録."""
BROAD = _words(
    """
    話題 論点 トピック テーマ 議題 課題 ポイント 内容 意見 論調 懸念 問題 問題点 悩み 不満 要望 声 リスク 主張 結論
    教訓 出来事 取り組み 変化 登場人物 議論 提言 動き 成果 注意点 発見 共通点 アイデア ジャンル 争点 関心 関心事
    不安 価値観 思い 教え 印象 雰囲気 感想 困りごと 不備 指摘 指摘事項 特徴 方針 背景 モチーフ 思想 カテゴリ
    カテゴリー 内訳 感情 反応 評価 評判 姿勢 考え方 暮らし 様子 状況 結果 要所 狙い 気分 空気 魅力 改善点 構成 立場
    言葉 メッセージ 分野
    """
)
"""What a question about the whole asks for."""
BODIES = _words("出版社 放送局 首都 本社 レーベル メーカー")
"""Roles that end the names of bodies: 北浜出版社."""
NO_SIDE = _words(
    """
    違い 相違 差 比較 関係 関連 影響 原因 要因 理由 メリット デメリット 概要 要約 まとめ 連絡先 前回 今回 二つ
    ふたつ 両者 双方 点 部分 件 やつ 例 話 先 後 ため 場合 意味 全体 結論
    """
)
"""What a comparison is about is not what it compares."""
COUNTED = _words("年 月 日 時 分 秒 週 回 度 個 件 円 歳 才 代 番 台 本 枚 冊 名 位 倍 割 階 号 点 世紀 年代 時間")
"""What 何 asks the number of: 何年, 何回."""
LIGHT_VERBS = _words(
    """
    なっ なる なり し する ある あり あっ いる い つい いう 言う よる おけ おける くれ ください 教え 知り わかり
    分かり 見
    """
)
"""Verbs that say nothing about what a question is about."""
LEGAL_FORMS = _words(
    """
    株式会社 有限会社 合同会社 合資会社 一般社団法人 一般財団法人 公益社団法人 公益財団法人 独立行政法人
    国立大学法人 学校法人 医療法人
    """
)
NAME_ENDINGS = _words(
    """
    大学 大学院 高校 高等学校 中学校 小学校 病院 研究所 研究会 商会 商店 協会 財団 銀行 神社 神宮 美術館 博物館
    図書館 公園
    """
)
"""What makes a name of the nouns before it: 北浜研究所."""
PLAIN = (
    ENTITIES | CATEGORIES | NO_SIDE | TRANSPARENT | PRONOUNS | DEPENDENT | GENERIC_KATAKANA | BROAD | COUNTED | NO_NAME
)
"""Words that name nothing by themselves."""
