"""Characters that are written in two ways and meant as one: which spelling an index keeps.

Each pair is the rare form and then the form that the dictionary knows best.
"""

from __future__ import annotations

_OLD_AND_RARE = """
    亞亜 惡悪 壓圧 圍囲 爲為 醫医 壹壱 稻稲 飮飲 隱隠 營営 榮栄 衞衛 驛駅 圓円 鹽塩 緣縁 艷艶 應応 歐欧 毆殴 櫻桜
    奧奥 橫横 溫温 穩穏 假仮 價価 畫画 會会 囘回 壞壊 懷懐 繪絵 槪概 擴拡 殼殻 覺覚 學学 樂楽 渴渇 勸勧 卷巻 寬寛
    歡歓 罐缶 觀観 關関 陷陥 顏顔 旣既 歸帰 氣気 龜亀 僞偽 戲戯 犧犠 卻却 舊旧 據拠 擧挙 虛虚 峽峡 敎教 强強 狹狭
    鄕郷 堯尭 曉暁 勳勲 薰薫 羣群 徑径 惠恵 揭掲 攜携 經経 繼継 莖茎 螢蛍 輕軽 鷄鶏 藝芸 擊撃 缺欠 儉倹 劍剣 圈圏
    檢検 權権 獻献 硏研 縣県 險険 顯顕 驗験 嚴厳 效効 恆恒 廣広 鑛鉱 號号 國国 黑黒 碎砕 濟済 齋斎 劑剤 册冊 雜雑
    參参 慘惨 棧桟 蠶蚕 贊賛 殘残 絲糸 齒歯 兒児 辭辞 濕湿 實実 舍舎 寫写 釋釈 壽寿 收収 從従 澁渋 獸獣 縱縦 肅粛
    處処 緖緒 敍叙 奬奨 將将 燒焼 稱称 證証 乘乗 剩剰 壤壌 孃嬢 淨浄 狀状 疊畳 讓譲 釀醸 囑嘱 觸触 寢寝 愼慎 眞真
    盡尽 圖図 粹粋 醉酔 隨随 髓髄 數数 樞枢 瀨瀬 聲声 靜静 齊斉 攝摂 竊窃 專専 戰戦 淺浅 潛潜 纖繊 踐践 錢銭 禪禅
    搜捜 插挿 巢巣 爭争 瘦痩 總総 聰聡 莊荘 裝装 騷騒 增増 臟臓 藏蔵 卽即 屬属 續続 墮堕 對対 體体 帶帯 滯滞 臺台
    擇択 單単 擔担 膽胆 團団 彈弾 斷断 癡痴 遲遅 晝昼 蟲虫 鑄鋳 廳庁 徵徴 聽聴 敕勅 鎭鎮 遞逓 鐵鉄 轉転 點点 傳伝
    黨党 盜盗 當当 鬭闘 德徳 獨独 讀読 屆届 繩縄 貳弐 惱悩 腦脳 霸覇 廢廃 拜拝 賣売 麥麦 發発 髮髪 拔抜 晚晩 蠻蛮
    祕秘 甁瓶 拂払 佛仏 倂併 竝並 變変 邊辺 辨弁 瓣弁 辯弁 舖舗 步歩 穗穂 寶宝 豐豊 沒没 飜翻 每毎 滿満 麵麺 默黙
    餠餅 戾戻 彌弥 藥薬 譯訳 豫予 餘余 與与 譽誉 搖揺 樣様 謠謡 遙遥 瑤瑶 慾欲 來来 賴頼 亂乱 覽覧 兩両 獵猟 綠緑
    淚涙 壘塁 勵励 禮礼 隸隷 靈霊 齡齢 曆暦 歷歴 戀恋 鍊錬 爐炉 勞労 樓楼 郞郎 祿禄 錄録 灣湾 髙高 﨑崎 嵜崎 邉辺
    濵浜 桒桑 𠮷吉 栁柳 圡土 𣘺橋 靑青 淸清 逹達 冝宜 尙尚 黃黄 內内 戶戸 吳呉 吞呑 姬姫 娛娯 悅悦 稅税 說説 脫脱
    銳鋭 閱閲 巖巌 穰穣 頰頬 剝剥 塡填 噓嘘 𠮟叱 鷗鴎 蠟蝋 摑掴 攪撹 瀆涜 禱祷 簞箪 繡繍 萊莱 蔣蒋 軀躯 醬醤 醱醗
    顚顛 驒騨 麴麹 鹼鹸 囊嚢 嚙噛 屛屏 幷并 搔掻 潑溌 焰焔
"""
"""Old (kyūjitai) and printed-form ideographs whose modern form makes the same dictionary words."""

_IN_NAMES = """
    嶽岳 挾挟 溪渓 條条 曾曽 瀧滝 澤沢 燈灯 濱浜 槇槙 萬万 龍竜 嶋島 冨富 舘館 鈎鉤
"""
"""Old forms that live on in names of people and places, which the dictionary lists under the old form
(坂本龍馬, 五條市, 宮澤): folding them before the analysis would hide those words from it."""

_RADICALS = """
    ⺠民 ⺩王 ⺝月 ⺟母 ⺪疋 ⺬示 ⺯糸 ⺷羊 ⺼肉 ⻁虎 ⻄西 ⻆角 ⻑長 ⻗雨 ⻘青 ⻝食 ⻡首 ⻣骨 ⻤鬼
    ⻨麦 ⻩黄 ⻫斉 ⻭歯 ⻯竜 ⻱亀 ⻲亀
    ⻅见 ⻉贝 ⻋车 ⻓长 ⻔门 ⻙韦 ⻚页 ⻛风 ⻜飞 ⻢马 ⻥鱼 ⻦鸟 ⻬齐 ⻮齿 ⻰龙
"""
"""Radical signs that text extracted from PDF files holds in place of the ideograph; NFKC leaves these alone."""


def _pairs(table: str) -> dict[str, str]:
    return {pair[0]: pair[1] for pair in table.split()}


IDEOGRAPHS = _pairs(_OLD_AND_RARE) | _pairs(_RADICALS)
"""Folded in every normalised text: 國 -> 国, 髙 -> 高, 邊 -> 辺, 𠮷 -> 吉."""

NAME_IDEOGRAPHS = _pairs(_IN_NAMES)
"""Folded in index terms only, after the words are known: 澤 -> 沢, 龍 -> 竜."""

LETTERS = {
    "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "ł": "l", "ø": "o", "ŧ": "t", "æ": "ae", "œ": "oe", "þ": "th",
}  # fmt: skip
"""Latin letters that no decomposition takes apart."""
