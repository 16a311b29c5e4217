"""Words that say little about what a text is about; queries leave them out unless nothing else remains."""

from __future__ import annotations


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


ENGLISH = _words(
    """
    a about above after again against all also am an and any are aren't as at be because been before being below
    between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each eg etc
    few for from further get had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself
    him himself his how how's i i'd i'll i'm i've ie if in into is isn't it it's its itself just let's me more most
    mustn't my myself no nor not of off on once only or other ought our ours ourselves out over own please same shall
    shan't she she'd she'll she's should shouldn't so some such tell than that that's the their theirs them themselves
    then there there's these they they'd they'll they're they've this those through to too under until up us very via
    was wasn't we we'd we'll we're we've were weren't what what's when when's where where's which while who who's whom
    whose why why's will with won't would wouldn't you you'd you'll you're you've your yours yourself yourselves
    """
)
"""Case-folded, unstemmed."""

JAPANESE = _words(
    """
    為る 居る 有る 在る 成る 出来る 下さる 呉れる 貰う 頂く 戴く 遣る 言う 行う 致す 御座る 仕舞う 因る 依る
    よる つく 就く 於く おく 置く 関する 対する とる 無い ない 良い 宜しい 教える 知る 思う 考える こと 事 物
    もの 為 ため 時 とき 所 ところ 様 よう 方 ほう 訳 わけ 筈 はず うち 中 際 上 等 など とおり 通り 此れ 其れ
    彼れ あれ これ それ どれ 何れ 此処 其処 どこ 何処 あそこ いつ 何時 誰 何 なに 何故 なぜ どう 如何 いかが
    どの 何の どんな こんな そんな 此の 其の 此の様 其の様 この その あの そう こう 幾つ 幾ら 何方 どちら どなた
    どういう どうして 又 及び 且つ 或いは 若しくは 但し 然し 更に 尚 猶 即ち 例えば 従って 因みに そして そこで
    だから では でも さん 氏 さま 御 的
    """
)
"""In Sudachi's normalised form."""

UNSPLIT = _words(
    """
    airbnb airpods chatgpt clickhouse deepmind deepseek devops dynamodb ebay facebook fastapi fedex firefox
    freebsd github gitlab graphql huggingface icloud imac imessage instagram ios ipad iphone ipod itunes
    javascript json jquery jupyter langchain latex linkedin macbook macos mariadb mongodb mysql netbsd nosql
    nuget numpy oauth onedrive onenote openai openbsd opencv openssl paypal phpmyadmin pinterest playstation
    postgresql powerpoint powershell pubmed pytorch rabbitmq redhat restful scipy sharepoint snapchat soundcloud
    spacex sqlite stackoverflow tensorflow tiktok typescript vmware vscode wechat whatsapp wordpress worldcom
    xbox yolo youtube
    """
)
"""Names written with capitals inside that are one word: "java" must not find JavaScript."""
