"""The closed lists of English words that questions are read by. No list of names stands here."""

from __future__ import annotations

from hybridrag.language.roles import ROLES, words

QUESTION_WORDS = words(
    """
    how how's what what's when when's where where's which who who's whom whose why
    """
)
AUXILIARIES = words(
    """
    am are aren't be been being can can't could couldn't did didn't do does doesn't don't had has hasn't have
    haven't is isn't may might must shall should shouldn't was wasn't were weren't will won't would wouldn't
    """
)
COPULAS = words("'s are be been is was were")
COMMANDS = words(
    """
    answer ask boil calculate check clarify classify cluster compare contrast convert count define describe
    determine differentiate discuss distinguish elaborate enumerate evaluate examine explain extract fetch find get
    give group help identify illustrate investigate let list locate look make name note open outline please provide
    read recall recap report return review run search send show sort state suggest sum summarise summarize talk tell
    think translate try use using verify walk write
    """
)
OPENERS = (
    QUESTION_WORDS
    | AUXILIARIES
    | COMMANDS
    | words(
        """
        a about above according across after again against all also although am among an and another any anyone
        anything around as at based because before behind below beneath beside besides between beyond both broadly
        but by considering despite different due during each either else ever every except few first following for
        from further general generally given hello hey hi however i i'd i'll i'm i've if in inside instead into it
        it's its just key last later least less like main many maximum maybe me minimum more moreover most mostly
        much my near neither new next no none not now of off ok okay on once one only onto or other others our out
        outside over overall own part per perhaps pros regarding same second several she similarly since so some
        someone something still such than thanks that that's the their them then there there's these they thing this
        those though through throughout to together too top towards two under unlike until up upon us using various
        versus very via we well when whether while with within without yes yet you your
        """
    )
)
"""Words that open a question with a capital and are no names."""

INSIDE_NAMES = words("al bin da de del della den der di dos du el ibn la le of the van von y")
"""Small words that join the parts of a name."""
BODIES = words(
    """
    academy act agency alliance association board bureau campaign center centre commission committee conference
    convention council department foundation fund institute league ministry movement museum office organisation
    organization party program programme school society treaty union university
    """
)
"""A name may go on with `for` or `on` after these: Institute for Advanced Study."""
CALENDAR = words(
    """
    april august december february friday january july june march may monday november october q1 q2 q3 q4 saturday
    september sunday thursday tuesday wednesday
    """
)
ABBREVIATED = words(
    """
    capt co col corp dr gen gov hon inc jr lt ltd mr mrs ms no prof rep rev sen sgt sr st vol
    """
)
"""May be followed by a full stop inside a name."""

PEOPLE = words(
    """
    band boy character couple duo family girl group individual king lady man men nobleman one people person
    philosopher politician queen scientist somebody someone tribe trio woman women wrestler
    """
)
GROUPS = words(
    """
    academy agency airline army association authority bank body brand broadcaster business channel church club
    college committee company corporation council court department empire firm force foundation franchise government
    institute institution label league manufacturer military ministry movement museum navy network newspaper
    orchestra organisation organization party publisher religion school station studio team union university
    """
)
PLACES = words(
    """
    airport area battlefield building campus capital castle church city continent country county district island
    lake mountain municipality nation palace park place planet province region river sea stadium state street
    territory theatre town venue village water
    """
)
WORKS = words(
    """
    album animation battle book cartoon ceremony championship comic competition conflict election episode event
    festival fight film franchise game gathering journal magazine movie musical novel opera painting party play poem
    program programme race scandal season series show sitcom song sport story tournament video war work
    """
)
ENTITIES = ROLES | PEOPLE | GROUPS | PLACES | WORKS
"""Nouns for things that have a name; a question may reach its answer over one that it does not name."""

DETERMINERS = words("a an her his its that the their this")
PREPOSITIONS = words("about after at behind by for from in into of on through to under with")
VERBS_TOO = words(
    """
    book coach couple fight film force head host label place play race show star state
    """
)
"""Nouns that are verbs behind a name: did the N state that ..."""
PREDICATES = words(
    """
    based called created directed established formed founded located named produced published released situated used
    """
)
"""Participles that end a question about a thing named before them: where is the band N based?"""
RELATIVES = words("having that where which who whom whose")
TRANSPARENT = words("identity kind list name names number one part some sort title titles type")
"""`the name of the city` is the city."""

COMPARATIVES = words(
    """
    better bigger biggest brighter broader busier cheaper cheapest cleaner closer closest colder cooler darker
    deeper deepest earlier earliest easier farther faster fastest fewer first further greater greatest harder
    heavier heaviest higher highest hotter larger largest last later latest least less lighter longer longest louder
    lower lowest more most narrower nearer nearest newer newest older oldest poorer quicker quieter richer safer
    shorter shortest simpler slower slowest smaller smallest sooner stronger taller tallest thicker thinner warmer
    weaker wider worse younger youngest
    """
)

CORPUS = words(
    """
    answers archive articles blog book books chapters collection comments complaints contracts conversation
    conversations corpus correspondence dataset diaries diary discussion discussions doc docs document documents
    email emails essay essays everything fables feedback file files filing filings folder guide handbook interviews
    journals knowledge-base lectures letters library log logs magazine manual manuals material materials meeting
    meetings memo memos messages minutes narrative newsletters note notes novel paper papers poems policies post
    post-mortems postmortems posts presentation presentations proposals publications quotes report reports responses
    review reviews session sessions slides speeches stories story suggestions survey surveys syllabus tales
    testimonies text texts thread threads tickets transcript transcripts tweets wiki
    """
)
"""What a question about the whole calls the whole."""
CORPUS_MANY = frozenset(word for word in CORPUS if word.endswith("s") and word not in {"minutes", "responses"}) | words(
    "feedback literature minutes responses"
)
GROUPS_MANY = CORPUS_MANY | words(
    """
    branches clients companies countries customers departments divisions firms industries markets offices products
    projects regions sites stores suppliers teams units users years
    """
)
BROAD = words(
    """
    advantages aims areas argument arguments aspects benefits challenges changes changing complaints concerns
    conclusion conclusions debates decisions developments differences discussion discussions drawbacks emphases
    events feedback findings focus goals highlights idea ideas initiatives insights issues items lessons message
    messages metrics mood motifs objectives obstacles opinions opportunities outcomes patterns plot point points
    positions preoccupations priorities problems projects questions reasons recommendations risks sentiment
    storyline strands strategies subject subjects suggestions takeaway takeaways theme themes tone topic topics
    trend trends values views weaknesses worries
    """
)
"""What a question about the whole asks for."""
BROAD_SINGULAR = words(
    """
    argument conclusion focus idea message mood plot sentiment storyline subject theme tone topic trend
    """
)
WIDE = words(
    """
    biggest central chief common core dominant frequent general key main major notable overall overarching
    prevailing primary principal recurrent recurring top underlying
    """
)
REPORTED = words(
    """
    addressed cited covered debated described discussed emphasised emphasized expressed featured highlighted
    identified mentioned noted outlined portrayed presented projected proposed provided raised reported shared
    stressed suggested voiced
    """
)
"""How a text deals with something."""
CHANGED = words(
    """
    changed declined developed evolve evolved fluctuated grown improved moved progressed shifted transformed varied
    """
)
CROWD = words(
    """
    authors citizens clients colleagues critics customers employees everybody everyone experts guests members
    parents participants passengers patients people readers residents respondents reviewers speakers staff students
    users visitors volunteers voters witnesses workers
    """
)
"""Whose views a question about the whole gathers."""
FILLERS = (
    OPENERS
    | PREPOSITIONS
    | words(
        """
        ah anything bye er hm hmm oh ok something sorry stuff tell test testing thank thanks thing things uh um
        """
    )
)
"""Words that say nothing about what a question is about."""
RELATION_WORDS = words(
    """
    affect cause causes compare comparison connection difference differences effect impact influence reason reasons
    related relation relationship similarities versus vs why
    """
)
"""A question of these alone does not say what it relates."""
COMMON = (
    OPENERS
    | CORPUS
    | BROAD
    | WIDE
    | ENTITIES
    | words(
        """
        api app bug build code config data database db deadline demo design error feature flow gap host http https
        id info issue job key link login mail map memo menu model module name new node office overview package page
        password path plan policy port process product production project release request retrospective role sample
        schedule script server service sprint staging status step summary support system table task team template
        test token tool url user value version vs web
        """
    )
)
"""English words that a Japanese question uses as words: no names."""
