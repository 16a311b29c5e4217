"""What someone or something is to another: the mother of, the director of, 監督. Closed lists of nouns, no names."""

from __future__ import annotations


def words(listed: str) -> frozenset[str]:
    """A list of words as a set.

    "a b" -> {"a", "b"}
    """
    return frozenset(listed.split())


KIN = words(
    """
    ancestor aunt brother child children cousin daughter father fiance fiancee grandchild grandchildren
    granddaughter grandfather grandmother grandson half-brother half-sister husband mother nephew niece parent
    parents sibling siblings sister son spouse stepfather stepmother twin uncle widow widower wife
    """
)
DISTANT_KIN = words(
    """
    aunt brother-in-law cousin daughter-in-law father-in-law grandchild grandchildren granddaughter grandfather
    grandmother grandparents grandson mother-in-law nephew niece sister-in-law son-in-law stepbrother stepfather
    stepmother stepsister uncle
    """
)
"""Relatives over another relative: who is meant depends on someone who is not named."""
MAKERS = words(
    """
    architect author builder co-founder co-writer cofounder composer conductor creator designer developer director
    discoverer distributer distributor drummer editor filmmaker founder guitarist illustrator inventor lyricist
    maker manufacturer narrator novelist owner painter performer playwright poet presenter producer programmer
    proposer publisher screenwriter scriptwriter sculptor singer singer-songwriter songwriter star stars translator
    vocalist writer
    """
)
HOLDERS = words(
    """
    actor actress artist artiste athlete boss captain ceo cfo chairman chairperson chairwoman champion chief coach
    colleague commander cto emperor employee employer governor guardian head headmaster heir holder host hostess
    king landlord leader manager mayor member members mentor minister musician operator opponent partner player
    predecessor president principal professor prophet pupil queen receiver recipient representative ruler runner-up
    secretary sponsor student successor supervisor supplier teacher tenant vendor victim winner
    """
)
ATTACHED = words(
    """
    alma-mater birthplace broadcaster capital company headquarters hometown label mater network residence studio
    subsidiary team
    """
)
"""Things that are named by whom or what they belong to: the record label of X."""
ROLES = KIN | DISTANT_KIN | MAKERS | HOLDERS | ATTACHED

JAPANESE_KIN = words(
    """
    父 母 父親 母親 お父さん お母さん 両親 親 兄 姉 弟 妹 兄弟 姉妹 夫 妻 配偶者 奥さん 旦那 嫁 息子 娘 長男 次男
    三男 長女 次女 子 子供 子ども 孫 祖父 祖母 祖父母 叔父 伯父 叔母 伯母 おじ おば 甥 姪 従兄弟 いとこ 義父 義母
    義弟 義兄 義妹 義姉 先祖 子孫 恋人 婚約者 側室 正室 相方 親友 友人 師匠 弟子 恩師 同級生 先輩 後輩 ライバル 元夫
    元妻 結婚相手 再婚相手 従弟 従妹 従姉 従兄
    """
)
JAPANESE_MAKERS = words(
    """
    作者 著者 筆者 原作者 監督 脚本家 脚本 原作 作曲者 作曲家 作詞者 作詞家 編曲者 主演 主演者 演出家 演出
    プロデューサー 制作者 製作者 制作会社 製作会社 配給会社 発売元 販売元 製造元 配給元 開発元 開発者 開発会社
    開発メーカー 製造会社 販売会社 メーカー 設計者 発明者 発見者 考案者 提唱者 翻訳者 訳者 編集者 出版社 発行元
    発行者 創業者 創設者 創立者 設立者 発起人 運営会社 運営母体 運営元 親会社 子会社 所有者 オーナー 持ち主
    スポンサー 供給元 仕入先
    """
)
JAPANESE_HOLDERS = words(
    """
    社長 会長 代表 代表者 代表取締役 最高経営責任者 上司 部下 同僚 部長 課長 責任者 担当者 主将 キャプテン 主演俳優
    主人公 ヒロイン コーチ 大統領 首相 国王 皇帝 天皇 将軍 藩主 城主 知事 市長 町長 村長 首長 議長 総裁 総長 学長
    校長 指揮者 司会者 司会 ボーカル ギタリスト ドラマー リーダー メンバー 優勝者 受賞者 後継者 前任者 後任 前任
    雇用主 所属事務所 所属チーム 所属グループ 所属球団 レコード会社 所属レーベル レーベル
    """
)
JAPANESE_ATTACHED = words(
    """
    出身地 出生地 生誕地 出身校 出身大学 出身高校 母校 卒業校 勤務先 就職先 所属先 本拠地 本拠 本社 首都 県庁所在地
    本拠地球場 ホームスタジアム ホームタウン 収録アルバム 放送局 代表作 デビュー作 デビュー曲 先代モデル 後継機 先代
    掲載誌 連載誌 所属組織 管理会社 主宰者 主催者 出身国 母国 前作 続編 所属会社 上部組織
    """
)
JAPANESE_ROLES = JAPANESE_KIN | JAPANESE_MAKERS | JAPANESE_HOLDERS | JAPANESE_ATTACHED
