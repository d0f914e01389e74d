"""The rules of projects that pin an older ruff, or do not select rules."""

from pathlib import Path

import pytest

from remora.tools.file_tree import FileTree
from remora.tools.host.ruff.ruff import Ruff
from remora.tools.host.ruff.ruff_versions import ruff_use
from remora.tools.host.ruff.rule_choice import SelectedRules, rule_choice, selectors_in
from remora.tools.tree import ToolTree

SOURCE = """import os

def first(pairs, l=None):
    if l == None:
        return dict([(key, 1) for key in pairs])
    return {key: 1 for key in l}
"""
"""F401, E741, E711, C404, C420, and I001 of newer defaults."""
HOOK = "repos:\n- repo: https://github.com/pycqa/ruff\n  rev: {}\n  hooks: []\n"


def _ruff(tree: Path, *selected: str) -> Ruff:
    return Ruff(ToolTree(tree), selected=selected)


def _codes(tree: Path, files: dict[str, str], *selected: str) -> set[str]:
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    (tree / "a.py").write_text(SOURCE)
    return {finding["code"] for finding in _ruff(tree, *selected).check(["a.py"], unsafe=True)}


def test_an_older_ruff_checks_its_own_default_rules(tmp_path: Path) -> None:
    found = _codes(tmp_path, {".pre-commit-config.yaml": HOOK.format("v0.14.2")})
    assert found == {"F401", "E711", "E741"}
    text = "E4, E7, E9, F, because the project uses ruff 0.14.2"
    assert _ruff(tmp_path).options.rules("a.py").text == text


def test_what_a_project_adds_is_added_to_those(tmp_path: Path) -> None:
    settings = '[tool.ruff]\nextend-select = ["C4"]\n[tool.ruff.lint]\nignore = ["E711", "C420"]\n'
    group = '[dependency-groups]\ndev = ["ruff==0.1.8"]\n'
    assert _codes(tmp_path, {"pyproject.toml": settings + group}) == {"F401", "E741", "C404"}


def test_rules_that_the_pinned_ruff_does_not_have_are_left_out(tmp_path: Path) -> None:
    settings = 'lint.select = ["C4", "RUF", "E711"]\n'
    locked = {"uv.lock": '[[package]]\nname = "ruff"\nversion = "0.9.7"\n'}
    assert _codes(tmp_path, {"ruff.toml": settings}) == {"C404", "C420", "E711"}
    assert _codes(tmp_path, locked) == {"C404", "E711"}  # C420 is stable since 0.10
    by_name = {"ruff.toml": 'lint.select = ["C4", "C420", "E711"]\n'}
    assert _codes(tmp_path, by_name) == {"C404", "C420", "E711"}


def test_other_projects_get_the_defaults_of_ruff_without_taste(tmp_path: Path) -> None:
    assert _codes(tmp_path, {"requirements-dev.txt": "flake8\n"}) == {"C404", "F401"}
    assert _codes(tmp_path, {"noxfile.py": "# ruff: noqa: ANN001\n"}) == {"C404", "F401"}
    assert _ruff(tmp_path).options.rules("").text.endswith("--select default adds them")
    assert _codes(tmp_path, {}, "default") == {"C404", "F401", "I001"}


@pytest.mark.parametrize(
    ("name", "text", "codes"),
    [
        (".pre-commit-config.yaml", "repos:\n- hooks:\n  - id: flake8\n", {"F401", "E711", "E741"}),
        ("setup.cfg", "[flake8]\nextend-ignore = E203, E741\n", {"F401", "E711"}),
        (".flake8", "[flake8]\nexclude =\n    .git,\n    ./a.py  # old\n", set()),
        ("tox.ini", "[flake8]\nexclude = **.py,*b.py,[,.,./\n", {"F401", "E711", "E741"}),
    ],
)
def test_a_project_that_uses_flake8_gets_what_flake8_checks(
    tmp_path: Path, name: str, text: str, codes: set[str]
) -> None:
    assert _codes(tmp_path, {name: text}) == codes
    assert _ruff(tmp_path).options.rules("a.py").text.startswith("E4, E7, E9, F, because")


@pytest.mark.parametrize(
    ("name", "text", "has_order"),
    [
        ("requirements-dev.txt", "ruff>=0.3\n", False),
        ("tox.ini", "[testenv:lint]\ncommands = ruff check\n", False),
        ("ruff.toml", "line-length = 100\n", False),
        ("ruff.toml", 'lint.extend-select = ["I"]\n', True),
        (".pre-commit-config.yaml", HOOK.format("v0.16.1"), True),
    ],
)
def test_rules_of_taste_are_for_projects_that_add_them_or_pin_a_ruff_that_has_them(
    tmp_path: Path, name: str, text: str, has_order: bool
) -> None:
    found = {"C404", "F401"}
    assert _codes(tmp_path, {name: text}) == (found | {"I001"} if has_order else found)


@pytest.mark.parametrize(
    ("selected", "found"),
    [
        (["F", "C420"], {"F401", "C420"}),
        (["default", "C408"], {"F401", "E741"}),
        (["ALL"], {"F401", "E741", "E711", "C404", "C420", "D100"}),
    ],
)
def test_a_selection_of_the_user_comes_first(
    tmp_path: Path, selected: list[str], found: set[str]
) -> None:
    codes = _codes(tmp_path, {"ruff.toml": 'lint.select = ["F", "E741"]\n'}, *selected)
    chosen = SelectedRules(FileTree(tmp_path), selected)
    assert codes >= found
    assert "ALL" in selected or codes == found
    assert all(chosen.contain("a.py", code) for code in found)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("ruff.toml", 'lint.extend-ignore = ["E711"]\n'),
        ("ruff.toml", 'preview = true\nlint.ignore = ["none-comparison"]\n'),
        (".flake8", "[flake8]\nextend-ignore =\n    W503,  # an operator\n    E711\n"),
        ("pyproject.toml", '[tool.flake8]\nignore = ["E711"]\n'),
    ],
)
def test_a_prefix_does_not_select_what_the_project_ignores(
    tmp_path: Path, name: str, settings: str
) -> None:
    assert _codes(tmp_path, {name: settings}, "E7") == {"E741"}
    assert (
        "without E711 (of taste, or ignored by the project"
        in _ruff(tmp_path, "E7").options.rules("").text
    )
    assert _codes(tmp_path, {name: settings}, "E711") == {"E711"}


def test_a_prefix_selects_the_order_of_imports_only_if_the_project_selects_it(
    tmp_path: Path,
) -> None:
    assert _codes(tmp_path, {}, "I") == set()
    assert _codes(tmp_path, {}, "I001") == {"I001"}
    assert _codes(tmp_path, {"ruff.toml": 'lint.extend-select = ["I"]\n'}, "I") == {"I001"}


def test_the_defaults_leave_the_order_of_imports_to_isort(tmp_path: Path) -> None:
    assert "I001" in _codes(tmp_path, {}, "default")
    settings = {".isort.cfg": "[settings]\n"}
    assert "I001" not in _codes(tmp_path, settings, "default") | _codes(tmp_path, settings, "I")


POETRY = "[tool.poetry.dependencies]\npython = '^3.8'\n\n"


@pytest.mark.parametrize(
    ("settings", "is_newer"), [("", False), ("target-version = 'py311'\n", True)]
)
def test_what_poetry_requires_is_the_target_if_the_configuration_of_ruff_has_none(
    tmp_path: Path, settings: str, is_newer: bool
) -> None:
    (tmp_path / "pyproject.toml").write_text(f"{POETRY}[tool.ruff]\n{settings}")
    (tmp_path / "a.py").write_text("import datetime as dt\n\nNOW = dt.timezone.utc\n")
    found = {finding["code"] for finding in _ruff(tmp_path, "UP017").check_file("a.py")}
    assert found == ({"UP017"} if is_newer else set())


HELD_BACK = "B904 RET501 RET502 RET503 RUF010 RUF021 RUF022 RUF023 RUF100 SIM905 T201"


@pytest.mark.parametrize("code", HELD_BACK.split())
def test_a_prefix_does_not_select_orders_comments_calls_and_habits(
    tmp_path: Path, code: str
) -> None:
    def ignored(*selected: str) -> list[str]:
        options = rule_choice(FileTree(tmp_path), "a.py", selected).options
        return " ".join(options).partition("--ignore ")[2].split(",")

    prefix = code.rstrip("0123456789")
    assert code in ignored(prefix)
    assert code not in ignored(prefix, code)


@pytest.mark.parametrize(
    ("name", "text", "ending"),
    [
        ("setup.cfg", "[options]\npython_requires = >=3.7\n", "; target: 3.7 from setup.cfg"),
        ("tox.ini", "[tox]\nenvlist = py38,py311\n", "; target: 3.8 from tox or workflows"),
        ("setup.cfg", "[options]\npython_requires = >=3.10\n", "--select default adds them"),
        ("pyproject.toml", f"{POETRY}[tool.ruff]\n", "; target: 3.8 from pyproject.toml"),
        ("pyproject.toml", f"{POETRY}[tool.ruff]\ntarget-version = 'py38'\n", "adds them"),
    ],
)
def test_a_target_that_is_not_the_default_of_ruff_is_named(
    tmp_path: Path, name: str, text: str, ending: str
) -> None:
    (tmp_path / name).write_text(text)
    assert _ruff(tmp_path).options.described_rules().endswith(ending)


def test_an_unknown_rule_is_named() -> None:
    assert selectors_in(["F,UP", "default , ALL"]) == ["F", "UP", "default", "ALL"]
    with pytest.raises(ValueError, match=r"such as F401, UP, ALL or default, not 'QQ9'"):
        selectors_in(["F", "QQ9"])


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (".pre-commit-config.yaml", HOOK.format('"0c5d8f2"  # frozen: v0.15.5'), (0, 15, 5)),
        ("pyproject.toml", '[tool.poetry.group.dev.dependencies]\nruff = "^0.4.1"\n', (0, 4, 1)),
        ("pyproject.toml", '[project.optional-dependencies]\ndev = ["ruff>=0.5,<1"]\n', None),
        ("requirements/lint.txt", "black\nruff~=0.11.0\n", (0, 11, 0)),
        (".github/workflows/ci.yml", "steps:\n- run: pip install ruff==0.6\n", (0, 6, 0)),
        ("tox.ini", "[testenv:lint]\ndeps = ruff >= 0.3\n", None),
        ("tox.ini", "[testenv:lint]\ndeps = pytest-ruff==0.3\n", None),
    ],
)
def test_the_version_is_read_from(
    tmp_path: Path, name: str, text: str, found: tuple[int, ...] | None
) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text)
    assert ruff_use(ToolTree(tmp_path)).version == found
