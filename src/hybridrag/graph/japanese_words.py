"""The closed lists that Japanese extraction goes by: endings of names, roles beside them, what is no part of one."""

from __future__ import annotations

from hybridrag.graph.words import word_set
from hybridrag.types.graph import EntityType

ORGANISATION_ENDINGS = word_set(
    """
    株式会社 有限会社 合同会社 会社 本社 公社 銀行 信用金庫 証券 生命 保険 大学 大学院 短期大学 高校 高等学校 中学校
    中学 小学校 学校 学院 学園 幼稚園 専門学校 研究所 研究会 研究室 研究センター 協会 連盟 連合 連合会 組合 委員会
    財団 社団 法人 機構 機関 省 庁 党 軍 部隊 艦隊 師団 旅団 連隊 大隊 軍団 隊 自衛隊 楽団 合唱団 交響楽団 管弦楽団
    劇団 球団 団 団体 局 支局 放送局 署 警察署 クラブ チーム グループ ユニット バンド 事務所 プロダクション 製作所
    工業 産業 電機 電器 電工 電力 電鉄 鉄道 航空 海運 建設 製薬 製鉄 製鋼 自動車 重工業 化学 食品 酒造 商会 商店 商事
    物産 放送 テレビ 新聞 新聞社 通信社 出版 出版社 書店 書房 文庫 百貨店 ホールディングス コーポレーション カンパニー
    インク エンターテインメント エンタテインメント レコード レコーズ ピクチャーズ スタジオ スタジオズ システムズ
    エレクトロニクス モーターズ エアラインズ バンク 議会 国会 議院 参議院 衆議院 政府 内閣 政権 王朝 裁判所 警察
    警視庁 消防 検察庁 教団 教会 宗 派 会 部 科 学部 学科 リーグ ディビジョン アソシエーション ファミリー 一家 一族
    代表 代表チーム ユナイテッド イーグルス ライオンズ タイガース ジャイアンツ センター 連邦軍 陸軍 海軍 空軍 司令部
    本部 支部 労組 労働組合 同盟 結社 公団 公庫 学会 社 集団 日報 新報 時報 タイムズ 幕府 交通 汽車 汽船 製紙 紡績
    染色 精機 機械 ガス 水産 不動産 映画社 公司 塾 室 所 支店 店 友の会 FC SC
    """
)
PLACE_ENDINGS = word_set(
    """
    市 県 都 府 道 区 町 村 郡 州 国 王国 帝国 共和国 連邦 公国 藩 島 諸島 列島 半島 大陸 山 岳 山脈 山地 高原 川 河
    江 湖 沼 池 海 洋 湾 海峡 灘 滝 平野 盆地 岬 峠 谷 砂漠 森 森林 駅 停留所 空港 飛行場 港 橋 大橋 トンネル 通り
    街道 街 国道 県道 都道 高速道路 自動車道 道路 線 本線 支線 鉄道線 新幹線 公園 広場 城 城跡 寺 神社 神宮 宮 大社
    寺院 大聖堂 聖堂 塔 ビル ビルディング タワー ホール 劇場 映画館 シアター スタジアム アリーナ ドーム 球場 野球場
    競技場 競馬場 競輪場 体育館 会館 公民館 館 美術館 博物館 図書館 記念館 水族館 動物園 植物園 庭園 遊園地 病院 医院
    ホテル 旅館 温泉 地方 地区 地域 地帯 圏 エリア 発電所 工場 造船所 ダム 遺跡 古墳 墓地 霊園 キャンパス 校舎 庁舎
    要塞 基地 駐屯地 収容所 刑務所 宮殿 邸 御所 門 井戸 牧場 農場 丁目 番地 インターチェンジ ジャンクション 団地 場 園
    交差点 海岸 東海岸 西海岸 高校跡
    """
)
EVENT_ENDINGS = word_set(
    """
    戦争 内戦 海戦 空戦 戦線 戦役 合戦 会戦 戦い 乱 変 陣 事件 事変 事故 大会 選手権 選手権大会 オリンピック
    パラリンピック 五輪 ワールドカップ カップ 杯 祭 祭り フェスティバル フェス 選挙 総選挙 大震災 震災 地震 津波 噴火
    台風 革命 運動 会議 会談 サミット 博覧会 万博 エキスポ ツアー コンサート ライブ 公演 競走 ステークス グランプリ
    オープン トーナメント 予選 決勝 リサイタル 展 展覧会 フォーラム シンポジウム 作戦 攻防戦 包囲戦 侵攻 虐殺 暴動
    デモ 危機 ショック 恐慌 大賞 コンクール コンテスト アワード ゲームズ 国体 場所 ダービー マラソン 駅伝 まつり
    レース ショー モーターショー 派兵 見本市 花火大会
    """
)
WORK_ENDINGS = word_set(
    """
    物語 交響曲 協奏曲 組曲 条約 憲法 法 法律 条例 宣言 協定 憲章 聖書 経典 白書 辞典 事典 シリーズ
    """
)
PRODUCT_ENDINGS = word_set(
    """
    号 型 機 エンジン システム エディション OS ソフト ソフトウェア
    """
)

ENDING_TYPES: dict[str, EntityType] = (
    dict.fromkeys(PRODUCT_ENDINGS, EntityType.PRODUCT)
    | dict.fromkeys(WORK_ENDINGS, EntityType.WORK)
    | dict.fromkeys(EVENT_ENDINGS, EntityType.EVENT)
    | dict.fromkeys(PLACE_ENDINGS, EntityType.PLACE)
    | dict.fromkeys(ORGANISATION_ENDINGS, EntityType.ORGANISATION)
)
"""The last word of a name -> what it names."""

HONORIFICS = word_set(
    """
    氏 さん 様 さま 君 くん ちゃん 殿 先生 選手 監督 教授 准教授 助教授 博士 首相 大統領 総理 総理大臣 大臣 議員 知事
    市長 町長 村長 区長 社長 会長 副社長 専務 常務 部長 課長 係長 室長 所長 院長 校長 学長 総長 師 容疑者 被告 投手
    捕手 騎手 棋士 力士 弁護士 記者 アナウンサー 女史 夫人 夫妻 親方 元帥 大将 中将 少将 大佐 将軍 提督 卿 公 伯爵
    男爵 侯爵 公爵 子爵 王 女王 国王 皇帝 天皇 皇后 皇太子 王子 王女 王妃 教皇 法王 司教 牧師 神父 キャスター コーチ
    マネージャー 巡査 警部 刑事
    """
)
"""Stand after the name of a person and are no part of it."""
PLAIN_HONORIFICS = word_set("氏 さん 様 さま 君 くん ちゃん 殿 師 公 卿 王 夫妻 夫人")
"""Honorifics that say nothing of what someone does."""
ROYAL = word_set("天皇 皇后 王 女王 皇帝 親王 内親王 法皇 上皇 院")
"""Stand after a name and are part of it: 孝明天皇."""

PERSON_ROLES = word_set(
    """
    俳優 女優 歌手 作家 小説家 監督 選手 声優 漫画家 画家 詩人 作曲家 作詞家 脚本家 プロデューサー ディレクター
    アナウンサー タレント 芸人 落語家 歌人 俳人 学者 教授 博士 政治家 社長 会長 首相 大統領 議員 弁護士 医師 記者
    ピアニスト ギタリスト ドラマー ボーカル ボーカリスト ベーシスト デザイナー 建築家 実業家 哲学者 物理学者 数学者
    歴史家 医学者 法学者 経済学者 化学者 軍人 武将 大名 将軍 天皇 皇帝 国王 妻 夫 息子 娘 長男 次男 長女 次女 弟 兄 姉
    妹 父 母 祖父 祖母 師匠 弟子 ライター 評論家 写真家 彫刻家 演出家 振付師 モデル アイドル 監修者 創業者 創設者
    設立者 棋士 力士 騎手 投手 捕手 内野手 外野手 ミュージシャン 翻訳家 ジャーナリスト コメディアン 三女 四女 三男
    四男 MF FW DF GK 主君 作者 著者 主人公
    """
)
WORK_ROLES = word_set(
    """
    映画 小説 曲 楽曲 シングル アルバム 漫画 マンガ アニメ テレビアニメ ドラマ テレビドラマ 番組 ゲーム ソフト 雑誌
    著書 著作 作品 詩 絵本 舞台 ミュージカル オペラ 歌 主題歌 挿入歌 絵画 論文 連載 短編 長編 写真集 書籍 新聞
    ラジオ番組 テレビ番組 配信曲 楽譜 童話 戯曲
    """
)
ORGANISATION_ROLES = word_set(
    """
    会社 企業 バンド グループ ユニット 団体 組織 政党 大学 学校 チーム クラブ 劇団 レーベル 事務所 メーカー 銀行
    ストア チェーン スタジオ 法人 財団 子会社 親会社
    """
)
PLACE_ROLES = word_set("都市 町 村 国 首都 駅 川 山 島 湖 施設 城 寺院 神社 公園 建物 ビル 地区")
PRODUCT_ROLES = word_set(
    """
    製品 商品 機種 車種 端末 ソフトウェア アプリ ライブラリ 言語 プログラミング言語 ブランド 兵器 戦闘機 戦車 列車 船
    戦艦 潜水艦
    """
)

ROLE_TYPES: dict[str, EntityType] = (
    dict.fromkeys(PRODUCT_ROLES, EntityType.PRODUCT)
    | dict.fromkeys(PLACE_ROLES, EntityType.PLACE)
    | dict.fromkeys(ORGANISATION_ROLES, EntityType.ORGANISATION)
    | dict.fromkeys(WORK_ROLES, EntityType.WORK)
    | dict.fromkeys(PERSON_ROLES, EntityType.PERSON)
)
"""A common noun beside a name -> what the name is."""

NAME_ENDS_BEFORE = word_set(
    """
    的 性 化 風 式 系 用 製 産 側 級 時 中 内 外 間 後 前 上 下 初 目 以外 以内 以上 以下 以降 以前 以来 当時 時代
    自身 本人 同士 向け 行き 発 着 出身 在住 所属 在籍 在学 卒業 卒 生まれ 育ち 出演 主演 原作 制作 製作 監修 監督
    脚本 作曲 作詞 編曲 演出 作 著 編 訳 主催 開催 発売 発表 公開 優勝 出場 入団 入社 移籍 加入 就任 勝利 参加 設立
    創業 創設 開業 開始 運営 販売 提供 担当 専属 専用 公認 推薦 支配 統治 占領 侵略 経由 方面 周辺 近郊 沖 付近 一帯
    各地 全域 全土 全国 人 語 語版 人口 国内 国外 国民 国籍 市民 住民 初代 歴代 現 元 旧 版 編集 事業 戦 間 初演 主義
    主義者 教徒 信者 ファン 役 殿下 陛下
    """
)
"""A name ends before these."""

GENERIC_ALONE = word_set(
    """
    日 月 年 時 分 秒 曜日 世紀 前 後 上 下 中 内 外 間 方 者 物 事 所 人 名 数 点 回 度 番 号 本 社 市 県 都 府 区 町
    村 国 州 島 山 川 海 駅 党 軍 省 庁 局 会 部 隊 団 大学 学校 会社 政府 国会 議会 委員会 協会 研究所 センター
    チーム クラブ グループ リーグ バンド メンバー テレビ ラジオ ドラマ アニメ ゲーム シリーズ シングル アルバム ライブ
    ツアー ホール ビル ホテル スタジオ オリンピック カップ タイトル デビュー ソロ プロ ファン コーチ ボーカル ギター
    ピアノ ベース ドラム シーズン スタート アメリカ人 メートル キロ トン ドル ユーロ ポンド パーセント インターネット
    ホームページ ウェブサイト サイト コンピュータ コンピューター メディア ニュース スポーツ サッカー バレーボール
    バスケットボール ゴルフ テニス ラグビー ボクシング フィギュアスケート ロック ポップ ジャズ クラシック キャラクター
    ストーリー モデル タイプ エンジン システム サービス デザイン プロジェクト イベント キャンペーン バージョン CD DVD
    TV CM PV OVA LP EP PC ID OK AM PM NG IT AI DJ MC FM II III IV VI VII SF RPG FPS HQ GDP NPO OB 地方銀行 都市銀行
    投資銀行 中央銀行 商業銀行 信託銀行
    """
)
"""Common words that are written like names."""

LEGAL_FORMS = word_set(
    """
    株式会社 有限会社 合同会社 合資会社 一般社団法人 一般財団法人 公益社団法人 公益財団法人 社団法人 財団法人
    独立行政法人 国立大学法人 学校法人 医療法人 社会福祉法人 宗教法人 特定非営利活動法人
    """
)
"""Open the name of a body; whatever nouns follow are its name: 株式会社青空."""
KATAKANA_ENDINGS = word_set("社 発電所 銀行 大学 駅 空港 ホール 城 島 川 山 州 市 公園 大会 財団 学園 派 号 家")
"""Make a name of any katakana before them: ユーロコプター社."""
STRONG_ENDINGS = word_set(
    """
    省 庁 党 軍 軍団 連隊 師団 艦隊 公団 公社 公庫 裁判所 議院 内閣 総選挙 選手権 戦争 内戦 事変 事件 大震災 革命 条約
    憲法 大戦 神社 神宮 部隊 司令部 海軍 陸軍 空軍 集団 幕府 国鉄 法院 商事 物産 製作所 製薬 電機 重工業 新聞社 通信社
    ホールディングス 銀行
    """
)
"""Make a name of common nouns: 国防省, 保守党. Behind other endings common nouns are just that: 寄宿制学校."""
UNITS = word_set(
    "mm cm km mg kg ml mL cl dl kl ha kW kWh MW Wh Hz kHz MHz GHz KB MB GB TB kB px dpi rpm ppm hPa kPa MPa dB"
)
"""Signs of units, which stand behind numbers: a closed class."""
FORMAL_NOUNS = word_set(
    "こと もの ところ とおり ため うち ほか まま はず わけ つもり よう ごと たび あと とき さい かた ほう"
)
"""Mean nothing by themselves: a closed class."""
DEICTIC = word_set("同 当 各 両 本 諸 全 某 他 該 毎")
"""Make any name before which they stand a reference to something said before: 同大学."""
