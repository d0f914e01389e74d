"""Words that begin the names of functions, and what goes with each of them."""

# ruff: noqa: SIM905 - a text of words is easier to read than a list of quoted ones

_PLAIN = frozenset(
    "abort accept acknowledge activate adapt adjust advance align allocate allow amend analyse "
    "analyze animate annotate append apply approve archive arrange assemble assert assign "
    "attach authenticate authorize await backup balance bind block book boot broadcast browse "
    "bump bundle cache calculate call cancel capture cast center change charge check choose "
    "clamp clean cleanup clear clip clone close collapse collect combine commit compact compare "
    "compile complete compose compress compute concat concatenate configure confirm connect "
    "consume contract convert copy count crop deactivate debug decode decompress decorate "
    "decrease decrement decrypt deduplicate define delegate delete deliver deny deploy dequeue "
    "derive describe deserialize destroy detach detect determine disable discard disconnect "
    "discover dispatch display divide download draw drop dump edit eject emit enable encode "
    "encrypt end enqueue ensure enter enumerate erase escape establish estimate evaluate evict "
    "exclude execute exit expand expect explain export extend extract fail fetch fill filter "
    "finalize find finish fire fit fix flag flatten flip flush fold follow force forget format "
    "forward freeze generate get give go grab grant group guess halt handle hash hide highlight hold "
    "identify ignore import include increase increment indent index infer inform ingest init "
    "initialise initialize inject insert inspect install instantiate interpolate intersect "
    "invalidate invert invoke isolate issue iterate join keep kill launch leave link list "
    "listen load locate lock log lookup lower make map mark mask match measure merge migrate "
    "minimize mix modify monitor mount move multiply mute navigate negate normalise normalize "
    "notify observe obtain open optimize order pack pad parse partition paste patch pause peek "
    "perform permute pick pin ping place plot poll pop populate post prefetch prepare prepend "
    "preprocess preserve pretty prevent print probe proceed process produce project promote "
    "prompt propagate protect provide prune publish pull purge push put query quit quote raise "
    "randomize read rebuild receive recompute record recover redirect reduce refresh register "
    "reindex reject release reload relabel remove rename render reopen repair repeat replace "
    "replay reply report request require reserve reset reshape resize resolve restart restore "
    "resume retrieve retry return reveal reverse revert review revoke rewind rewrite roll "
    "rotate route run sample sanitize save scale scan schedule search seek select send separate "
    "serialize serve set settle setup share ship show shrink shuffle shut shutdown sign "
    "simplify simulate skip sleep slice solve sort spawn split spread stack stage start step "
    "stop store stream strip submit subscribe subtract suggest sum summarise summarize suppress "
    "suspend swap switch sync synchronize tag take teardown terminate test throttle throw "
    "toggle tokenize touch trace track train transfer transform translate transpose traverse "
    "trigger trim truncate try tune unbind uncompress undo unescape uninstall unlink unload "
    "unlock unpack unregister unset unsubscribe unwrap update upgrade upload use validate "
    "verify visit wait wake walk warn watch weigh wrap write yield zip zoom".split()
)
# such a word may as well name the thing that comes out, where it stands alone or last
_NOUNS_TOO = frozenset(
    "index map order hash list count sum sample scale project stack request record query log "
    "match format filter group book block end step test sort trace track value slice mask view range "
    "report  balance change charge flag label link offset patch place plot position post "
    "process product return route schedule share sign stage start state stream switch tag type".split()
)
MAKING = frozenset("add append build create draw generate insert make new open register".split())
FROM = frozenset(
    "collect decode delete discard download drop extract fetch get grab import load parse "
    "pick pop read receive remove retrieve select take".split()
)
TO = frozenset(
    "add append apply assign attach bind dump export save send submit upload write".split()
)
OF = frozenset("calculate compute count determine estimate evaluate infer list measure".split())
ASKING = {
    "is": "is",
    "are": "are",
    "was": "was",
    "has": "has",
    "have": "have",
    "can": "can",
    "should": "should",
    "needs": "needs",
    "supports": "supports",
    "contains": "contains",
    "exists": "exists",
    "allows": "allows",
}
_SPLIT = {
    "setup": "set up", "cleanup": "clean up", "shutdown": "shut down", "teardown": "tear down",
    "lookup": "look up", "init": "initialize", "concat": "concatenate", "iter": "iterate over",
    "calc": "calculate", "del": "delete", "sync": "synchronize", "new": "create",
}  # fmt: skip


def is_verb(word: str, *, alone: bool, gives: bool) -> bool:
    """Whether a name that begins with `word` says what is done, and not what comes out."""
    if word in _NOUNS_TOO and gives and alone:
        return False
    return word in _PLAIN or word in MAKING or word in _SPLIT


def spoken(word: str) -> str:
    """The verb as a sentence has it."""
    return _SPLIT.get(word, word)


VAGUE = frozenset(
    "arg args cls data dct found item kwargs lst new obj other out output res response ret "
    "result results rv self tmp val vals value values".split()
)
"""What names of variables say nothing with."""
WORDS = frozenset(
    "absolute account action active address alive amount argument attribute author available "
    "average balance batch best body bound box branch bucket buffer busy byte cart catalog "
    "category cell chain channel character cheap child children city class client clock closed "
    "code collection color colour column command comment company complete condition config "
    "configuration connected connection content context cookie cost count country coupon course "
    "currency current customer data database date day default degree delay deleted density "
    "dependency depth description destination device dictionary difference digit dimension "
    "direction directory dirty disabled discount distance document domain done duration edge "
    "element email empty enabled end entry equal error event example expired expression "
    "extension factor feature field file filename finished first folder font form format frame "
    "free fresh full function game goods grid group handler header height hidden history hour "
    "id idle image index information input instance integer interval invalid invoice item job "
    "key keyword known label language large last layer leaf length level library limit line "
    "link list loaded local location lock locked log long loop mail map maximum mean median "
    "member memory message metadata method minimum minute missing mode model module money month "
    "move name negative neighbor neighbour network next node note notice null number object "
    "offset old open option optional order origin output overdue owner package page paid pair "
    "parameter parent part password path pattern payment pending percentage period permission "
    "person phone picture piece pixel place plan player point policy pool port position "
    "positive prefix previous price priority private probability problem process product "
    "profile program progress project property protocol public purchase quantity query question "
    "queue quote range rank rate ratio ready real reason receipt record region relative report "
    "request required resource response result revenue role root route row rule running safe "
    "sale sample schedule schema score script season second section segment sender sequence "
    "series server service session set settings shape share shipment shop short side signal "
    "signature size slot small sorted source space speed square stack stage stale start started "
    "state statement station status step stock stopped store stream string style subject "
    "subtotal suffix sum supplier symbol table tag target task tax team template temporary term "
    "test text theme thread threshold ticket time timeout timestamp title token tool total "
    "track transaction translation tree trip type unit user username valid value variable "
    "variance vector version vertex view visible visitor volume warning week weight width "
    "window word worker writable year zone".split()
)
"""Nouns and adjectives that mean in prose what they mean in names."""
ADJECTIVES = frozenset(
    "absolute active alive available best busy cheap closed complete connected current deleted "
    "dirty disabled done due empty enabled equal expired finished first free fresh full hidden "
    "idle invalid known large last left loaded local locked missing negative new next old open "
    "optional overdue paid pending positive previous private public ready readable real relative "
    "required right running safe seekable short small sorted stale started stopped temporary "
    "unique valid visible writable".split()
)
"""Words that say how a thing is, and name none."""
_HOW_ENDINGS = tuple("able al ant ary ean ed ent ful ible ic ive less ous".split())
_NOUN_ENDINGS = (
    "tion",
    "sion",
    "ment",
    "ness",
    "ity",
    "ance",
    "ence",
    "ship",
    "ism",
    "ing",
    "er",
    "or",
)


def is_either(word: str) -> bool:
    """Whether a name of that one word may say what is done as well as what comes out."""
    return word in _NOUNS_TOO


def how(word: str) -> bool:
    """Whether the word surely says how a thing is."""
    low = word.lower()
    return low in ADJECTIVES or (low.endswith(_HOW_ENDINGS) and low not in WORDS)


def names_nothing(word: str) -> bool:
    """Whether the word, at the end of several, is one that says how or what is done."""
    low = word.lower()
    return low in ADJECTIVES or (low in _PLAIN and low not in _NOUNS_TOO | WORDS)


def is_noun(word: str) -> bool:
    """Whether the word surely names a thing: alone, or at the end of several."""
    low = word.lower()
    if names_nothing(word):
        return False
    forms = (low, low.removesuffix("s"), low.removesuffix("es"), f"{low.removesuffix('ies')}y")
    return not word.islower() or any(
        each in WORDS or each in _NOUNS_TOO or each.endswith(_NOUN_ENDINGS) for each in forms
    )
