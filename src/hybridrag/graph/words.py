"""The closed lists of words that extraction and linking go by: function words, section names, titles, cues.

No list of people, companies or towns stands here: what a name is follows from how a text writes about it. Adjectives
of origin and countries are closed classes, like the months.
"""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a text, parted by white space.

    "of the de" -> {"of", "the", "de"}
    """
    return frozenset(text.split())


STRUCTURE_WORDS = word_set(
    """
    about abstract acknowledgements acknowledgments actions agenda annex answer answers api appendix article articles
    author authors background basics bibliography blog body book changelog changes chapter chapters code conclusion
    conclusions config configuration contact content contents context contributing copy copyright credits data date
    dates default definition definitions description design details discussion doc docs document documentation
    documents draft edit epilogue errata error errors example examples exercise exercises facts faq faqs features
    figure figures file files final following foreword form format functions general getting glossary goals guide help
    history home image images important index info information input install installation intro introduction issue
    issues items key keywords lesson letter license licence links list lists log logs main manual meeting memo menu
    message messages method methodology methods minutes misc miscellaneous module name names new next note notes
    number numbers objectives options output outline overview page pages paper part parts pdf plan plans preface
    problem problems process program project prologue purpose question questions quick quickstart readme reading
    reason reasons reference references related release remarks report reports requirement requirements research
    resources result results review schedule scope script section sections settings setup slide slides software
    solution solutions source start started status step steps study style summary support system table tables tags
    task tasks template term terms test testing tests text title todo toc tools topic topics troubleshooting tutorial
    tutorials type types unit unknown untitled update updates usage use user users using value values version versions
    week welcome january february march april june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday today
    """
)
EVERYDAY_WORDS = word_set(
    """
    a after all an and any are as at be before between but by can could day days did do does each every first for from
    get go had has have he her here him his how i if in into is it its last let make may me more my no not of off old
    on one only open or other others our out over people second see she should so some than that the their them then
    there these they things this those time to two under up us v was we were what when where which who why will with
    work works would year years you your
    """
)
GENERIC_JAPANESE = word_set(
    """
    はじめに おわりに まえがき あとがき 序文 序章 終章 序論 本論 結論 結言 緒言 目次 索引 概要 要約 要旨 要点 まとめ
    背景 目的 方法 手法 結果 考察 議論 課題 展望 今後 参考 参考文献 文献 付録 補足 補遺 注 注釈 注記 脚注 備考 例 使用例
    使い方 使用方法 手順 設定 導入 準備 説明 解説 紹介 基本 基礎 応用 実装 仕様 設計 構成 機能 特徴 変更履歴 更新履歴
    履歴 歴史 沿革 関連 関連項目 関連情報 外部リンク 出典 脚注 資料 報告 報告書 議事録 メモ 覚書 一覧 表 図 図表 凡例
    用語 用語集 よくある質問 質問 回答 問題 解答 問い合わせ お問い合わせ お知らせ 新着情報 ニュース 連絡先 連絡 日程
    予定 計画 経歴 略歴 人物 生涯 作品 受賞 評価 影響 内容 本文 題名 無題 タイトル ページ ファイル フォルダ データ
    テスト サンプル 新規 その他 全般 共通 年表 登場人物 あらすじ 目標 定義 詳細 注意 注意事項 前提 前提条件 対象
    範囲 期間 場所 時間 日本語 英語 日時 氏名 住所 電話番号 第一 第二 第三
    """
)
PERSON_TITLES = word_set(
    """
    mr mrs ms mx dr prof professor sir dame president chancellor senator sen rep gov gen col capt lt sgt rev hon
    ambassador secretary congressman congresswoman emeritus
    """
)
"""Stand before a whole name and say nothing about which person it is. Left out on purpose: General, Captain, King,
Lord, Lady, Miss, Doctor: General Motors Company and Lady Gaga are names with them."""
CONNECTORS = word_set("of the de du la le van von der den di da and for")
"""Small words inside names."""
LEGAL_FORMS = word_set(
    "inc incorporated ltd limited llc llp plc corp corporation company co gmbh ag sa spa nv bv kk pty"
)

SENTENCE_OPENERS = word_set(
    """
    dear hello hi hey thanks thank regards cheers welcome
    about above according across additionally after afterwards again against ago all almost along already also
    although altogether always among amongst an and another any anyone anything are aren't around as at away back
    based be because become before began being below beneath beside besides best better between beyond big both but by
    can can't cannot certainly clearly come consequently could currently despite did do does doing done down due
    during each earlier early either else eventually ever every everyone everything except few finally first following
    for former formerly fortunately from full further furthermore generally get given go good had half has have having
    he hence her here herself him himself his historically how however i i'll i'm i've if in including indeed
    initially inside instead into is isn't it it's its itself just last late later latter least less let let's like
    likewise little long made mainly make many may maybe me meanwhile might mine more moreover most mostly much must
    my named near nearby nearly neither never nevertheless new next no nobody none nonetheless nor not notably note
    nothing now nowadays occasionally of off often old on once one only onto opposite or originally other others
    otherwise our out outside over overall own part partly people per perhaps please plus possibly presumably
    previously probably prior quite rather recently regarding right said same second see seen several shall she should
    shortly similar similarly simply since so some somebody someone something sometimes somewhat soon still
    subsequently such sure take than that that's the their them themselves then there there's thereafter therefore
    these they they're thing things third this those though three through throughout thus to today together too toward
    towards traditionally two typically ultimately under underneath unfortunately unless unlike until up upon us use
    used using usually various very via was we we're well were what whatever when whenever where whereas wherever
    whether which whichever while who whoever whom whose why will with within without would yes yesterday yet you
    you're your yours
    """
)
"""Words that open sentences with a capital and are no names."""

DAYS = word_set("monday tuesday wednesday thursday friday saturday sunday")
MONTHS = word_set(
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec"
)

PARTICLES = word_set(
    """
    de da di do dos das du del della delle dello degli des van von der den het ter ten zu zum zur la le les el al ul
    il bin ibn bint y af av ap ab san
    """
)
"""Join the parts of a name in the languages that English borrows names from."""

OFFICES = word_set(
    """
    president vice prime minister premier chancellor secretary senator congressman congresswoman representative
    governor mayor judge justice ambassador professor dr doctor mr mrs ms mx miss prof rev reverend director ceo cfo
    cto chairman chairwoman chairperson coach manager commissioner councillor deputy chief inspector detective
    sergeant sgt lieutenant lt corporal private capt col gen maj agent actor actress singer author writer
    """
)
"""Stand before a name and are not part of it."""

MILITARY = word_set("general captain colonel major admiral commander marshal lieutenant")
"""Stand before a name, and inside other names: General Motors, Major League."""

STYLES = word_set(
    """
    king queen prince princess emperor empress duke duchess count countess earl baron baroness lord lady sir dame pope
    bishop archbishop cardinal saint st father sister brother sultan shah tsar khan archduke archduchess general
    captain colonel major admiral commander marshal infante infanta
    """
)
"""Stand before a name and are often taken for a part of it."""

ORGANISATION_HEADS = word_set(
    """
    academy administration agency airlines airways alliance army assembly associates association authority band bank
    board brigade bros brothers bureau cabinet capital center centre chamber choir church club co collective college
    command commission committee communications community companies company confederation conference congress
    consortium cooperative corp corporation corps council court crew department directorate division ensemble
    enterprises entertainment fc federation films firm force forces foundation fund government group guild high
    holdings house hospital inc incorporated industries institute institution international laboratories laboratory
    labs league legion library limited llc lodge ltd media ministry motors museum navy network networks nv office
    orchestra order organisation organization parliament partners party philharmonic pictures plc police press
    productions publishers publishing quartet radio records regiment school schools securities seminary senate service
    services society software solutions squad squadron studio studios symphony synod systems team technologies
    television theatre theater trio trust union united university ventures works workshop
    """
)
PLACE_HEADS = word_set(
    """
    airport alley alps archipelago area arena avenue barrage basin bay beach boulevard bridge building cape castle
    cathedral cave cemetery cities city coast county creek crossing dam delta desert district estate falls field
    fields forest fort fortress garden gardens gate glacier gulf hall harbor harbour highway hill hills hotel island
    islands isle isles junction kingdom lake lakes land mansion marsh mount mountain mountains municipality ocean
    oblast palace park parish pass peak peninsula place plain plateau plaza port prefecture province quarter railway
    range ranch reef region republic reserve reservoir ridge river road rock sea shire shore square stadium state
    states station strait street temple territory tower town township trail tunnel valley village volcano waterfall
    wilderness woods zoo east west north south
    """
)
EVENT_HEADS = word_set(
    """
    accident assassination attack attacks award awards battle campaign ceremony championship championships coup crisis
    crusade cup derby disaster earthquake election elections epidemic exhibition expedition expo famine fair festival
    fire flood games genocide hurricane invasion marathon massacre offensive olympics open operation pandemic parade
    premiership prix raid rally rebellion referendum revolt revolution riot riots scandal season series siege strike
    summit superbowl symposium tour tournament trial trials uprising war wars
    """
)
WORK_HEADS = word_set(
    """
    act album anthem bible code constitution convention declaration gazette herald journal law magazine manifesto
    novel opera protocol quarterly review sonata song songs soundtrack symphony treaty tribune
    """
)
PERSON_ROLES = word_set(
    """
    actor actress architect artist astronaut attorney author baron biologist bishop brother boxer chairman chef
    chemist chief choreographer cofounder co-founder colleague comedian commander composer conductor coach cousin
    critic cyclist dancer daughter designer director doctor drummer economist editor emperor engineer explorer father
    filmmaker footballer founder friend general goalkeeper governor granddaughter grandfather grandmother grandson
    guitarist historian husband inventor journalist judge king lawyer lecturer lyricist manager mathematician mayor
    mentor minister model mother musician nephew niece novelist officer owner painter philosopher photographer
    physician physicist pianist player playwright poet politician president priest prince princess producer professor
    programmer queen racer rapper researcher scholar scientist sculptor secretary senator singer sister soldier son
    songwriter soprano striker student surgeon swimmer teacher tenor theologian trainer uncle vocalist widow wife
    winger woman wrestler writer
    """
)
"""Lower-case words that stand before or after the name of a person."""
PERSON_VERBS = word_set(
    """
    acted admitted argued asked attended believed born commented competed composed conducted confirmed costarred
    danced declared died directed explained felt graduated grew insisted joked knew learned lived loved married noted
    painted plays portrayed recalled remarked remembered replied resigned retired said sang says scored spoke starred
    studied suggested talked taught tells thinks thought told wanted writes wrote
    """
)
PERSON_PRONOUNS = word_set("he she his her him who whose himself herself")
WORK_ROLES = word_set(
    """
    film movie novel book song single album series show sitcom play opera musical poem essay documentary comedy drama
    anime manga video game track episode magazine newspaper journal soundtrack ep lp sequel adaptation
    """
)
"""Lower-case words that stand beside the name of a work."""
ORGANISATION_ROLES = word_set(
    """
    company corporation firm band group organization organisation club team university school college institute agency
    newspaper party bank airline manufacturer publisher studio label charity federation union museum church brand
    startup subsidiary label network broadcaster retailer club
    """
)
PLACE_ROLES = word_set(
    """
    city town village river lake mountain island county country province state district region municipality suburb
    neighborhood neighbourhood commune parish township capital port bay borough area peninsula valley station airport
    stadium park road street building hamlet settlement prefecture
    """
)
EVENT_ROLES = word_set("war battle festival election tournament championship conference season competition event match")
PRODUCT_ROLES = word_set(
    """
    software library language framework browser system console phone smartphone car aircraft missile engine database
    tool platform application app plugin package model device robot processor camera operating
    """
)
PLACE_PREPOSITIONS = word_set("in at near from to through across around outside inside toward towards into via")

DEMONYMS = word_set(
    """
    afghan african albanian algerian american angolan arab arabian argentine argentinian armenian asian assyrian
    athenian australian austrian azerbaijani babylonian bangladeshi basque bavarian belarusian belgian bengali
    bolivian bosnian brazilian british bulgarian burmese byzantine californian cambodian canadian caribbean catalan
    celtic chilean chinese colombian congolese croatian cuban cypriot czech danish dutch ecuadorian egyptian english
    estonian ethiopian european filipino finnish flemish french georgian german ghanaian greek haitian hawaiian
    hungarian icelandic indian indonesian iranian iraqi irish israeli italian jamaican japanese javanese jewish
    jordanian kenyan korean kurdish latvian lebanese libyan lithuanian macedonian malay malaysian maltese
    mexican mongolian moroccan nepalese nigerian nordic norwegian ottoman pakistani palestinian persian peruvian
    philippine polish portuguese prussian roman romanian russian scandinavian scottish serbian siberian sicilian
    singaporean slovak slovenian somali soviet spanish sudanese swedish swiss syrian taiwanese thai tibetan turkish
    ukrainian venezuelan vietnamese welsh yugoslav zimbabwean
    """
)
"""Adjectives of origin: a closed class, capitalised without being a name on their own."""

COUNTRIES = word_set(
    """
    afghanistan africa albania algeria america andorra angola antarctica argentina armenia asia australia austria
    azerbaijan bahamas bahrain bangladesh barbados belarus belgium belize benin bhutan bolivia bosnia botswana brazil
    britain brunei bulgaria burma burundi cambodia cameroon canada chad chile china colombia congo croatia cuba cyprus
    czechia denmark djibouti ecuador egypt england eritrea estonia eswatini ethiopia europe eurasia fiji finland france
    gabon gambia germany ghana greece grenada guatemala guinea guyana haiti honduras hungary iceland india indonesia
    iran iraq ireland israel italy jamaica japan kazakhstan kenya kosovo kuwait kyrgyzstan laos latvia lebanon lesotho
    liberia libya liechtenstein lithuania luxembourg macedonia madagascar malawi malaysia maldives mali malta mauritania
    mauritius mexico moldova monaco mongolia montenegro morocco mozambique myanmar namibia nepal netherlands nicaragua
    niger nigeria norway oman pakistan palau palestine panama paraguay peru philippines poland portugal prussia qatar
    romania russia rwanda samoa scotland senegal serbia seychelles singapore slovakia slovenia somalia spain sudan
    suriname sweden switzerland syria taiwan tajikistan tanzania thailand togo tonga tunisia turkey turkmenistan uganda
    uk ukraine uruguay us usa ussr uzbekistan vanuatu venezuela vietnam wales yemen yugoslavia zambia zimbabwe
    """
)
"""Countries and continents of one word: a closed class, like the months."""
GENERIC_CAPITALS = word_set(
    """
    tv dvd cd phd mba ceo cfo cto vhs hd ep lp god gold silver bronze emperor government church state street order
    internet web earth bible heaven bc ad bce ce am pm ok id vs north south east west northern southern eastern western
    top best
    """
)
"""Capitalised words that name nothing in particular on their own."""
