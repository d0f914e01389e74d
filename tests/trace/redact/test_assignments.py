"""Secrets are found in every form of assignment of Python with a name that tells."""

import json

import pytest

from remora.trace.redact.redactor import Redactor

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
)


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_found(form: str) -> None:
    source = form.replace("S", f"'{SECRET}'", 1)
    for text in (source, source.replace("'", '"'), json.dumps(source), json.dumps([source])):
        assert SECRET not in REDACTOR.text(text), text


@pytest.mark.parametrize(
    "text",
    [
        f'next_page_tokens = ["{SECRET}"]',
        f'if token:\n    digest("{SECRET}")',
        f'token = tokenize("{SECRET}")',
        'tokens = ["NUMBER_12", "x^2+y1", "hello world1"]',
        'for token in ("utf8_decoder", "a1b2=c3"): pass',
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
