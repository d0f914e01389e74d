"""What is secret: assignments, private keys, values of the environment, the user's own rules."""

import base64
import json
import random
import re
import textwrap
from itertools import pairwise, product
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml

from remora.trace.redact.builtin_rules import BUILTIN, environment_secrets
from remora.trace.redact.redactor import Redactor, placeholders
from remora.trace.redact.rule import UserRule

SECRET = "a1B2c3D4e5F6g7H8"
OTHER = "Zz9Yy8Xx7Ww6Vv5U"
REDACTOR = Redactor(bytes(32))

FORMS = (
    # stars
    "(api_key, *rest) = [S, 1]",
    "(api_key, *rest) = (S, 1)",
    "api_key, *rest = S, 1",
    "[api_key, *rest] = [S, 1]",
    "*rest, api_key = 1, 2, 3, S",
    "(*rest, api_key) = [1, 2, S]",
    "a, *api_keys, b = 1, 2, S, 3",
    "api_key, *_ = [S, *others]",
    # nested and single targets
    "user, (api_key, x) = 'a', (S, 2)",
    "(a, (b, api_key)), c = (1, (2, S)), 3",
    "((api_key, x), y) = ((S, 2), 3)",
    "[(api_key, x)] = [(S, 2)]",
    "api_key, = S,",
    "api_key = \\\n    S",
    "api_key \\\n    = S",
    "user, \\\n    api_key = 'a', S",
    "user, \\\r\n    api_key = 'a', \\\r\n    S",
    "(api_key,) = (S,)",
    "[api_key] = [S]",
    "(\n    user,\n    api_key,\n) = 'a', S",
    "user, api_key = (\n    'a',  # the name\n    S,\n)",
    # other targets and values
    "d['user'], d['api_key'] = 'a', S",
    "self.api_key, self.x = S, 1",
    "user, api_key = f('a', 3), S",
    "user, api_key = [1, 2], S",
    "user, api_key = {'a': 1}, S",
    "user, api_key = x['a'], S",
    "user, api_key = a + b, S",
    "user, api_key = 'a' 'b', S",
    "user, api_key = x = 'a', S",
    "api_key = x = S",
    "api_key = [S]",
    "api_key = (S,)",
    "api_key = {S}",
    "api_keys = ['a', S]",
    "api_key += S",
    "api_key = os.getenv('X') or S",
    "api_key = x if y else S",
    # walrus, annotations, arguments, fields
    "if (api_key := S): pass",
    "if (api_key := (S)): pass",
    "api_key: str = S",
    "api_key: 'str | None' = S",
    "api_key: Optional['str'] = S",
    "api_key: Annotated[str, Field(min_length=1)] = S",
    "api_key: dict[str, str] = S",
    "f(x, api_key=S)",
    "f(x, api_key=(S))",
    "f(x, api_key=[S], y=1)",
    "d = {'api_key': S}",
    "d = {'api_key': (S)}",
    "d = {'api_key': [S]}",
    "def f(a, *, api_key: str | None = S): pass",
    "lambda api_key=S: 1",
    "class A:\n    api_key: str = field(default=S)",
    "class A:\n    api_key: str = Field(S)",
    "class A:\n    api_key: str = dataclasses.field(default_factory=lambda: S)",
    "api_key = SecretStr(S)",
    "api_key = str(S)",
    # dictionaries, copies and other parts
    "api_keys = {'prod': S}",
    "api_keys = {\n    'dev': None,\n    'prod': S,\n}",
    "api_keys: dict[str, str] = {'prod': S}",
    "api_keys = {'prod': {'a': 1, 'b': [S]}, 'x': 2}",
    "api_keys = {ENV:S}",
    "api_keys = {S: ENV}",
    "api_keys = dict(prod=S)",
    "d = {'api_keys': {'prod': S}}",
    "api_keys = list([S])",
    "api_keys = tuple([S])",
    "api_keys = set([S])",
    "api_keys = frozenset({S})",
    "api_keys = x or [S]",
    "api_keys = [] or [S]",
    "api_keys = [*[S], 1]",
    "api_keys = {**{'prod': S}}",
    "é, api_key = 1, S",
    "user, api_key = x or 'a', S",
    # loops, comparisons and patterns
    "for api_key in [S]: pass",
    "for api_key in S, 'b': pass",
    "for user, api_key in [('a', S)]: pass",
    "for (user, api_key) in (('a', 'b'), ('c', S)): pass",
    "[f(api_key) for api_key in ['a', S]]",
    "assert api_key in ('a', S)",
    "match x:\n    case {'api_key': S}: pass",
    "match x:\n    case Config(api_key=S): pass",
    # defaults
    "x = os.getenv('API_KEY', S)",
    "x = os.getenv(key='API_KEY', default=S)",
    "x = os.getenv('API_KEY') or S",
    "x = os.environ['API_KEY'] or S",
    "x = env.str('API_KEY',\n    default=S,\n)",
    "parser.add_argument('--api-key', help='a (b', default=S)",
    "x = config.get('auth', 'api_key', fallback=S)",
    "x = os.getenv(\n    'API_KEY', 'no' + 'ne'\n) or S",
    "x = os.environ.get('API_KEY', None) or S",
    "x = os.environ.get('API_KEY') if y else S",
    "x = process.env.API_KEY ?? S",
    "api_key = os.environ.get('X', S)",
    "api_key = os.getenv(\n    'X',\n    S,\n)",
    "api_key: str = env.str('X', default=S).strip()",
    "api_key = str(config('X', cast=str, default=S))",
    "f(api_key=getattr(settings, 'X', S))",
    # other names
    "def f(host, *, pw: Annotated[str, Doc('x')] = S): pass",
    "f(db_pw=S, pass_=1)",
    "f(pass_=S, passphrase_=1)",
    "f(auth=('a', S))",
    "lambda pswd=S: 1",
    # tables of test cases
    "@pytest.mark.parametrize('api_key', [S])",
    "@pytest.mark.parametrize('user, api_key', [('a', 1), ('b', S)])",
    "@parametrize(('user', 'api_key'), [pytest.param('a', S, id='b')])",
    "@parametrize(\n    'user,api_key',\n    [\n        ('a', S),  # b\n    ],\n)",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_found(form: str) -> None:
    source = form.replace("S", f"'{SECRET}'", 1)
    for text in (source, source.replace("'", '"'), json.dumps(source), json.dumps([source])):
        assert SECRET not in REDACTOR.text(text), text


@pytest.mark.parametrize(
    "form",
    [
        "x = A B",
        "x = (\n    A  # gh\n    fB\n)",
        "x = (\n    A\n    + B\n)",
        "x = A \\\n    B",
        "x = (A) + '' + (rB)",
        "12| x = (A\n13|      B)",
        "+x = (A +\n+     B)",
        "x = ''.join([A, B])",
        "x = ''.join(\n    (\n        A,\n        B,\n    )\n)",
    ],
)
def test_a_split_token_is_found(form: str) -> None:
    token = "gh" + "p_" + "aB3dE6gH9" * 4
    parts = (range(41), (0, 20, 40), (0, 4, 40))
    for cuts in parts:
        texts = [f"'{token[a:b]}'" for a, b in pairwise(cuts)]
        gap = form[form.index("A") + 1 : form.index("B")]
        code = form[: form.index("A")] + gap.join(texts) + form[form.index("B") + 1 :]
        for text in (code, code.replace("'", '"'), json.dumps(code), json.dumps([code])):
            clean = REDACTOR.text(text)
            assert not any(part in clean for part in texts), text
            assert REDACTOR.may_contain_secret(text)
            assert len(placeholders(clean)) == 1
        lines = [n for n, line in enumerate(code.split("\n"), 1) if texts[0] in line]
        assert set(lines) <= set(REDACTOR.lines_with_secrets(code))


@pytest.mark.parametrize(
    "text",
    [
        f'x = ["ghp_", "{SECRET * 3}"]',
        f'x = "ghp_"\n"""{SECRET * 3}"""',
        f'x = "-".join(["ghp_", "{SECRET * 3}"])',
        f'digest = os.environ.get("X", "{SECRET}")',
        f'next_page_tokens = ["{SECRET}"]',
        f'if token:\n    digest("{SECRET}")',
        f'token = tokenize("{SECRET}")',
        'tokens = ["NUMBER_12", "x^2+y1", "hello world1"]',
        'for token in ("utf8_decoder", "a1b2=c3"): pass',
        f'f("--token"), f("--digest", default="{SECRET}")',
        f'@parametrize("digest", ["{SECRET}"]), f("token")',
    ],
)
def test_what_belongs_to_other_names_is_kept(text: str) -> None:
    assert REDACTOR.text(text) == text


def test_each_of_several_assignments_is_read() -> None:
    text = f'[token], y = ["{SECRET}"], 1; (a, token) = 1, "{OTHER}"'
    clean = REDACTOR.text(text)
    assert SECRET not in clean
    assert OTHER not in clean


def test_targets_that_are_nested_deeply_are_read() -> None:
    text = f'api_key, {"[" * 1000}a{"]" * 1000} = "{SECRET}", 1'
    assert SECRET not in REDACTOR.text(text)


LONG = 3_000
LONG_FORMS = {
    "a list": ("api_keys = [\n", '    "S",\n', "]\n"),
    "a dictionary": ("api_keys = {\n", '    "a": "S",\n', "}\n"),
    "a text": ('api_keys = """\n', "S\n", '"""\n'),
    "a block in YAML": ("api_keys: |\n", "  S\n", "x: 1\n"),
    "a list in YAML": ("api_keys:\n", "  - S\n", "x: 1\n"),
}


@pytest.mark.parametrize("form", LONG_FORMS)
def test_a_long_value_is_read_to_its_end(form: str) -> None:
    start, line, end = LONG_FORMS[form]
    long_secret = SECRET * 4  # longer than its placeholder
    source = start + line.replace("S", long_secret) * LONG + end
    for text in (source, json.dumps(source)):
        clean = REDACTOR.text(text)
        assert SECRET not in clean
        assert clean.startswith(text[:8])  # not replaced as a whole
        assert "<secret:assignment:" in clean


@pytest.mark.parametrize(
    "form",
    [
        "password: | # comment\n  S",
        "password: |2\n  S",
        "password: |-2\n  S",
        "password: >2- # comment\n  S",
        "passwords:   # my list\n  - S",
        "passwords:\n  # comment\n  - S",
        "passwords:\n- S\n# comment\n- S",
        "password:\n  S",
        "password: # comment\n  # comment\n  S",
        "password:\n  'S'",
        "+password:\n+  S",
    ],
)
def test_a_secret_in_yaml_is_found(form: str) -> None:
    source = form.replace("S", SECRET)
    for text in (source, source.replace("\n", "\r\n"), json.dumps(source)):
        assert SECRET not in REDACTOR.text(text), text


@pytest.mark.parametrize(
    "text",
    [
        f"password:\n{SECRET}",
        f"password:\n  x y z\n  {SECRET}",
        "if password:\n    self.retries2+=1",
        "if not password:\n    password=default1",
        "if password:\n    return",
        "else password:\n    raise ValueError2\n",
        "Enter the password:\n    https://example.org/login2\n",
        "case Token:\n    self.tokens2[3].parse_it()\n",
    ],
)
def test_a_line_that_is_not_the_value_is_kept(text: str) -> None:
    assert REDACTOR.text(text) == text


EDGE = "-" * 5
PICK = random.Random(11)
LINES = [base64.b64encode(PICK.randbytes(48)).decode() for _ in range(6)]
LAST = base64.b64encode(PICK.randbytes(20)).decode()
HEAD, END = f"{EDGE}BEGIN EC PRIVATE KEY{EDGE}", f"{EDGE}END EC PRIVATE KEY{EDGE}"
BLOCK = "\n".join([HEAD, *LINES, LAST, END])


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(b"k" * 32)


@pytest.mark.parametrize(
    "text",
    [
        BLOCK,
        BLOCK.replace("\n", "\r\n"),
        BLOCK.replace("\n", "\\n"),
        BLOCK.replace("\n", ""),
        BLOCK.replace("\n", "\n    "),
        BLOCK.replace("\n", '\\n"\n    "'),
        BLOCK.replace("\n", "\n+"),
        BLOCK.replace("\n", "\n- "),
        BLOCK.replace("\n", "\n> "),
        json.dumps({"key": json.dumps(BLOCK)}),
        "\n".join(f"{number:6}\t{line}" for number, line in enumerate(BLOCK.split("\n"))),
        "\n".join(f"{number}: {line}" for number, line in enumerate(BLOCK.split("\n"))),
        BLOCK.replace(HEAD, HEAD + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n"),
        BLOCK.replace("EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK").replace(HEAD, HEAD + "\n\n"),
        BLOCK.partition(END)[0],
        BLOCK[: len(HEAD) + 300],
        f"{HEAD}\n{LINES[0]}\n{BLOCK}",
    ],
)
def test_no_line_of_the_body_is_left(redactor: Redactor, text: str) -> None:
    clean = redactor.text(f"before\n{text}\nafter")
    assert clean.startswith("before\n")
    assert clean.endswith("after")
    assert "<secret:private-key:" in clean
    assert [line for line in [*LINES, LAST] if line in clean] == []
    assert redactor.text(clean) == clean


def test_in_base64(redactor: Redactor) -> None:
    hidden = base64.b64encode(BLOCK.encode()).decode()
    assert redactor.text(f"data:\n  tls.key: {hidden}\n").count("<secret:private-key:") == 1
    account = base64.b64encode(json.dumps({"a": 1, "private_key": BLOCK}).encode()).decode()
    for width, between in product((44, 64, 76), ("\n", "\r\n  ", '\\n"\n    "', "\n+", '", "')):
        for text in (hidden, account):
            lines = textwrap.wrap(text, width)
            clean = redactor.text(between.join(lines) + "\nafter")
            assert [line for line in lines[5:-1] if line in clean] == []
            assert clean.endswith("after")
    public = base64.b64encode(BLOCK.replace("EC PRIVATE KEY", "CERTIFICATE").encode()).decode()
    assert redactor.text(public) is public


def test_public_keys_stay(redactor: Redactor) -> None:
    for text in (BLOCK.replace("EC PRIVATE KEY", "CERTIFICATE"), f"{HEAD}\n...\n{END}", HEAD, END):
        assert redactor.text(text) is text


KEY = b"k" * 32


@pytest.mark.parametrize(
    "name",
    [
        "API_KEY",
        "github_token",
        "SHOP_SECRET",
        "DB_PASSWORD",
        "PGPASSWORD",
        "AWS_CREDENTIALS",
        "NPM_AUTH",
        "MYSQL_PWD",
        "DB_PASS",
        "SENTRY_DSN",
        "SSH_PASSPHRASE",
        "DATABASE_URL_KEY",
    ],
)
def test_telling_names(name: str) -> None:
    value = "zebra" + "17quux"
    clean = Redactor(KEY, environ={name: value}).text(f"it says {value}, twice: {value}{value}")
    assert value not in clean
    (mark,) = placeholders(clean)
    assert mark.startswith(f"<secret:env-{name.lower().replace('_', '-')}:")


@pytest.mark.parametrize(
    "name", ["HOME", "GIT_AUTHOR_NAME", "PWD", "OLDPWD", "KEYBOARD", "LC_ALL", "EDITOR", "MONKEY"]
)
def test_other_names(name: str) -> None:
    assert environment_secrets({name: "zebra17quux"}) == {}


@pytest.mark.parametrize(
    "value",
    [
        "",
        "a1b2c3",
        "password",
        "development",
        "Shop Orders Production",
        "keyring-service",
        "basic,digest",
        "us-east-1",
        "python3.11".replace("3", "-3"),
        "1234567890",
        "2026-01-31",
        "1.20.300",
        "true",
        "/run/user/1000/keyring/ssh",
        "~/.ssh/id_ed25519.pub",
        "C:\\Users\\shop\\key.pem",
        "https://auth.example.org/v2/token",
        "--------------------",
        "aaaaaaaaaaaa",
    ],
)
def test_ordinary_values(value: str) -> None:
    assert environment_secrets({"SHOP_KEY": value}) == {}


@pytest.mark.parametrize(
    "value",
    [
        "horse12!staple",
        "hunter22",
        "correcthorsebatterystaple",
        "aBcXyZqWeRtY",
        "0123456789abcdef",
        "p@ss word 99",
        "pässwörd🦀1",
        'quote"and\\slash99',
        "a/b+c9==/xyz",
        "8f14e45f-ceea-467f-a0e6-2b1a7b1c9d2e",
    ],
)
def test_secret_values_in_any_spelling(value: str) -> None:
    redactor = Redactor(KEY, environ={"SHOP_KEY": value})
    for text in (
        value,
        f"x{value}y",
        f"({value})\n",
        json.dumps([value]),
        json.dumps([value], ensure_ascii=False),
        f"https://example.org/?q={quote(value, safe='')}&page=2",
    ):
        clean = redactor.text(text)
        assert "<secret:env-shop-key:" in clean
        assert value not in clean
        assert json.dumps(value)[1:-1] not in clean
        assert redactor.text(clean) == clean
    assert value.encode() not in redactor.clean(b"\xff" + value.encode() + b"\xff")


def test_bytes_that_are_not_utf8() -> None:
    raw = b"\xff\xfe-9zebra17"
    redactor = Redactor(KEY, environ={"SHOP_KEY": raw.decode(errors="surrogateescape")})
    assert raw not in redactor.clean(b"say " + raw)
    assert "zebra17" not in redactor.text("say " + raw.decode(errors="surrogateescape"))


def test_lines_of_a_long_value_count_for_themselves() -> None:
    pick = random.Random(3)
    lines = [base64.b64encode(pick.randbytes(30)).decode() for _ in range(3)]
    value = "\n".join(["-----BEGIN ODD THING-----", *lines, "-----END ODD THING-----"])
    redactor = Redactor(KEY, environ={"SHOP_KEY": value + "\n"})
    for line in lines:
        assert line not in redactor.text(f"{line} # and no more of it")
    assert len(placeholders(redactor.text(f"all: {value}"))) == 1
    assert redactor.text("-----BEGIN ODD THING-----") == "-----BEGIN ODD THING-----"


def test_a_url_counts_with_its_password() -> None:
    redactor = Redactor(KEY, environ={"DATABASE_URL": "postgres://shop:zebra17quux@db/orders"})
    assert "zebra17quux" not in redactor.text("the password was zebra17quux then")
    assert "zebra17quux" not in redactor.text("postgres://shop:zebra17quux@db/orders")


def test_overlapping_values_leave_nothing() -> None:
    first, second = "zebra17quuxab", "quuxab99lemur"
    redactor = Redactor(KEY, environ={"A_KEY": first, "B_KEY": second, "C_KEY": first[2:-2]})
    clean = redactor.text(f"glued: {first}{second[6:]} end, apart: {first} {second} {first[2:-2]}")
    assert clean.startswith("glued: <secret:env-a-key:")
    assert "> end, apart: <" in clean
    assert "99lemur" not in clean
    assert "bra17" not in clean


def test_values_inside_lookalikes() -> None:
    """A mark that tells the secret as its fingerprint hides nothing."""
    redactor = Redactor(KEY, environ={"A_KEY": "abcdef012345", "B_KEY": "zebra-17-quux-x1"})
    assert "abcdef012345" not in redactor.text("<secret:jwt:abcdef012345>")
    assert "zebra" not in redactor.text("<secret:zebra-17-quux-x1:0123456789ab>")


def test_values_that_placeholders_are_made_of() -> None:
    """`secret:env-a-key` is no secret: every placeholder says it."""
    redactor = Redactor(KEY, environ={"A_KEY": "zebra17quux", "B_KEY": "secret:env-a-key"})
    clean = redactor.text("zebra17quux")
    assert clean.startswith("<secret:env-a-key:")
    assert redactor.text(clean) is clean


def test_odd_variable_names_make_proper_rules() -> None:
    for name in ("ÄPI_KEY", "__TOKEN__", "A" * 200 + "_KEY", "key.with-dots", "ключ_KEY"):
        redactor = Redactor(KEY, environ={name: "zebra17quux"})
        assert len(placeholders(redactor.text("zebra17quux"))) == 1


def clean(pattern: str, text: str) -> str:
    return Redactor(KEY, own=[UserRule("shop", pattern)]).text(text)


def test_the_whole_match_goes() -> None:
    assert clean(r"SHOP-\d{4}", "id SHOP-1234.").startswith("id <secret:shop:")


def test_the_first_group_goes() -> None:
    assert clean(r"id=(\d+) (\w+)", "id=77 bob").startswith("id=<secret:shop:")
    assert clean(r"id=(\d+) (\w+)", "id=77 bob").endswith("> bob")


def test_the_group_named_secret_goes() -> None:
    text = clean(r"id=(\d+) (?P<secret>\w+)", "id=77 bob")
    assert text.startswith("id=77 <secret:shop:")


def test_a_group_that_took_no_part() -> None:
    assert clean(r"id(=\d+)?", "id") == "id"


def test_short_and_foreign_text() -> None:
    assert "é" not in clean("é", "café")
    assert clean("ключ|🦀", "🦀").startswith("<secret:shop:")
    assert clean(".", "\ud800a\x00").count("<secret:shop:") == 3


def test_twice_is_once() -> None:
    for pattern in (".+", r"[a-z0-9:<>]{3}", "secret", r"\d+", "[a-f0-9]{12}"):
        redactor = Redactor(KEY, own=[UserRule("shop", pattern)])
        once = redactor.text("the secret is 1234567890ab and password='aB3dE6gH9jK2'")
        assert redactor.text(once) == once


def test_builtin_rules_stay() -> None:
    assert "aB3" not in clean("SHOP", 'api_key = "' + "aB3dE6gH9" * 3 + '"')


@pytest.mark.parametrize("name", ["", "Shop", "shop rule", "shop_rule", "-shop", "a--b", "a" * 41])
def test_bad_names(name: str) -> None:
    with pytest.raises(ValueError, match="lower-case letters, digits and single hyphens"):
        Redactor(KEY, own=[UserRule(name, "x")])


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)", "a{2000}", "[", "\ud800"])
def test_bad_patterns(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"^redaction rule 'shop': ") as caught:
        Redactor(KEY, own=[UserRule("shop", pattern)])
    assert repr(pattern) in str(caught.value)


@pytest.mark.parametrize("pattern", ["", "a*", "(a)?"])
def test_patterns_that_match_nothing_at_all(pattern: str) -> None:
    with pytest.raises(ValueError, match="matches the empty string"):
        Redactor(KEY, own=[UserRule("shop", pattern)])


def test_the_version_knows_them() -> None:
    one, two = (Redactor(KEY, own=[UserRule("shop", pattern)]).version for pattern in ("a", "b"))
    assert one != two
    assert one.startswith("redact/4+")


PAGE = Path(__file__).parents[3] / "docs/reference/redaction.md"
EXAMPLE = PAGE.read_text().split("```text\n")[1].split("```")[0]
FORMS_ON_PAGE = [form for form in re.split(r"\n(?![ …]|\"\"\"|$)", EXAMPLE) if form.strip()]


def test_every_rule_is_on_the_page() -> None:
    page = PAGE.read_text()
    assert [rule.name for rule in BUILTIN if f"`{rule.name}`" not in page] == []


def test_the_example_of_own_rules() -> None:
    block = PAGE.read_text().split("```yaml\n")[1].split("```")[0]
    rules = [UserRule(**rule) for rule in yaml.safe_load(block)["redaction"]["rules"]]
    clean = Redactor(b"k" * 32, own=rules).text("B-12345678 has pin: 4711")
    assert clean.startswith("<secret:badge:")
    assert "> has pin: <secret:order-pin:" in clean


def test_the_version_on_the_page() -> None:
    assert f"`{Redactor(b'k').version}`" in PAGE.read_text()


@pytest.mark.parametrize("name", ["password", "secret", "api_key"])
@pytest.mark.parametrize("form", FORMS_ON_PAGE)
def test_the_forms_of_assignment_on_the_page(form: str, name: str) -> None:
    named = form.replace("password", name).replace("PASSWORD", name.upper())
    is_literal = name == "password" or '"' in form or form == "PASSWORD=…"
    secret = "horse12!staple" if is_literal else "a1B2c3D4e5F6g7H8"
    for quoted in (named, named.replace('"', "'")):
        clean = Redactor(b"k" * 32).text(quoted.replace("…", secret))
        assert clean.count("<secret:assignment:") == form.count("…"), clean
        assert secret not in clean
