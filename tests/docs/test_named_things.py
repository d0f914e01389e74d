"""Commands, options, keys, variables and files that pages name in code spans exist."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from remora.bootstrap.operations import BUILT_IN
from remora.cli.app.lazy_group import TopGroup
from remora.config.messages import known_keys
from remora.config.schema import Config
from tests.docs.test_code_names import exists as is_in_code

ROOT = Path(__file__).parents[2]
BUILT = ("cli.md", "events-and-packets.md")
PAGES = [
    page
    for pattern in ("*.md", "docs/**/*.md", "plugin/**/*.md", "action/**/*.md", "examples/*.md")
    for page in sorted(ROOT.glob(pattern))
    if page.name not in BUILT
]
SPAN = re.compile(r"`([^`\n]+)`")
YAML = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"--[a-z][a-z-]+")
KEYS = {
    *known_keys(Config, entries=BUILT_IN.settings, where=()),
    *("model.api_key", "escalation.api_key"),  # never printed with the others
}
FILE = re.compile(r".*\.(py|md|yaml|json|pym)$|hub\.db|.*NAME")
GROUPS = ("hub", "trace", "database", "agents", "tools")
TOP = {key.partition(".")[0] for key in KEYS}
FOLDERS = ("src", "tests", "bench", "examples", "plugin", "action", "requirements", "docs")
FOREIGN = {
    "--doctest-modules", "--doctest-glob", "--fix", "--unsafe-fixes", "--select", "--plugin-dir",
    "--tool-call-parser", "--enable-auto-tool-choice", "--chat-template", "--require-hashes",
    "--no-deps", "--no-build-isolation", "--strict", "--safe", "--aggressive", "--preview",
    "--stdin-filename", "--with", "--max-model-len",
}  # fmt: skip
"""Options of other programs that pages name: pip, ruff, mypy, pytest, vLLM, uvx, autotyping."""


def commands(
    group: click.Group, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield words, group
    context = click.Context(group, info_name="remora")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command


TREE = dict(commands(TopGroup()))
OPTIONS = {
    words: {option for parameter in command.params for option in parameter.opts}
    | {option for parameter in command.params for option in parameter.secondary_opts}
    for words, command in TREE.items()
}
GLOBAL = OPTIONS[()] | {"--help", "-h"}


def wrong_in_command(span: str) -> str:
    """Return what a command line names that does not exist, or an empty string."""
    line = re.split(r"[|>;&]| -- ", span)[0].split()
    words: tuple[str, ...] = ()
    for word in line[1:]:
        if (*words, word) in TREE:
            words = (*words, word)
        elif isinstance(TREE[words], click.Group) and re.fullmatch(r"[a-z][a-z-]*", word):
            return f"{' '.join((*words, word))} is not a command"
        else:
            break
    known = OPTIONS[words] | GLOBAL
    for word in line[1:]:
        name = word.partition("=")[0].strip("[]…,")
        if OPTION.fullmatch(name) and name not in known:
            return f"{' '.join(words)} has no option {name}"
    return ""


def wrong_in_span(span: str) -> str:
    """Return what a code span names that does not exist, or an empty string."""
    first, _, rest = span.partition(" ")
    if first == "remora":
        return wrong_in_command(span)
    if first in GROUPS and re.match(r"[a-z]+\b", rest) and len(rest.split()) < 4:
        return wrong_in_command(f"remora {span}")
    if OPTION.fullmatch(span) and span not in FOREIGN:
        return "" if any(span in each for each in (*OPTIONS.values(), GLOBAL)) else "no such option"
    if re.fullmatch(r"[a-z]\w*(\.\w+)+", span) and span.partition(".")[0] in TOP:
        named = any(key == span or key.startswith(f"{span}.") for key in KEYS)
        return "" if named or FILE.match(span) or is_in_code(span) else "no such key"
    return ""


PROSE = {page: FENCE.sub("", page.read_text(encoding="utf-8")) for page in PAGES}


def place(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_commands_options_and_keys_of_code_spans_exist() -> None:
    wrong = {
        (place(page), span, why)
        for page, text in PROSE.items()
        for span in SPAN.findall(text)
        if (why := wrong_in_span(span))
    }
    assert wrong == set()


def leaves(settings: Any, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all values that are not mappings."""
    if not isinstance(settings, dict):
        yield prefix
        return
    for key, value in settings.items():
        yield from leaves(value, f"{prefix}.{key}" if prefix else str(key))


def test_keys_of_settings_in_blocks_exist() -> None:
    blocks = {
        (place(page), name)
        for page in PAGES
        for block in YAML.findall(page.read_text(encoding="utf-8"))
        if isinstance(settings := yaml.safe_load(block), dict) and settings.keys() <= TOP
        for name in leaves(settings)
    }
    assert len(blocks) > 10
    known = {*KEYS, "model", "python"}
    assert {(page, name) for page, name in blocks if name not in known} == set()


def test_environment_variables_exist() -> None:
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("plugin/**/*.sh")]
    )
    of_keys = {"REMORA_" + key.upper().replace(".", "__") for key in KEYS}
    wrong = {
        (place(page), name)
        for page in PAGES
        for name in re.findall(r"\bREMORA_[A-Z_]+[A-Z]\b", page.read_text(encoding="utf-8"))
        if name not in code and name not in of_keys
    }
    assert wrong == set()


def test_files_of_code_spans_exist() -> None:
    wrong = {
        (place(page), span)
        for page, text in PROSE.items()
        for span in SPAN.findall(text)
        if re.fullmatch(rf"(?:{'|'.join(FOLDERS)})/[\w./-]+(?:::\w+)?", span)
        and not (ROOT / span.partition("::")[0]).exists()
    }
    assert wrong == set()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if not place(page).startswith("docs/")], ids=place
)
def test_links_of_pages_outside_the_site_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize(
    ("span", "why"),
    [
        ("remora hub gc", "hub gc is not a command"),
        ("hub gc", "hub gc is not a command"),
        ("remora analyze --resum RUN", "analyze has no option --resum"),
        ("remora trace verify --all", ""),
        ("remora runs", ""),
        ("--no-such-option", "no such option"),
        ("runner.no_such_key", "no such key"),
        ("runner.max_turns", ""),
        ("runner.memory", ""),
    ],
)
def test_wrong_names_are_found(span: str, why: str) -> None:
    assert wrong_in_span(span) == why
