"""The type checker that a project is configured for has a say, too."""

import sys
from contextlib import closing, suppress
from pathlib import Path
from shutil import rmtree

import msgspec
import pytest

from remora.errors import HostError
from remora.judges.types.type_checker import TypeChecker
from remora.operations.types.inference import Inference
from remora.sandbox.interpreters import ProjectPython
from remora.tools.host.declared_type_checker import (
    DeclaredChecker,
    Diagnostic,
    declared_checker,
    find_checker,
)
from remora.tools.tree import ToolTree
from tests.cli.conftest import write
from tests.isolation_levels import need

PRE_COMMIT = """\
- repo: https://github.com/pre-commit/mirrors-mypy
  rev: v1.18.2
"""
WITH_ARGS = "  hooks:\n  - id: mypy\n    args: [--pretty]\n"
FILES = {
    "shop.py": "def half(n=1):\n    return n / 2\n",
    "use.py": "from shop import half\n\n\ndef use(n: int) -> int:\n    return half(n)\n",
}


@pytest.mark.parametrize(
    ("path", "text", "declared"),
    [
        ("setup.py", "setup()", None),
        ("pyproject.toml", 'exclude = [".mypy_cache"]', None),
        ("tox.ini", "deps =\n  mypy==1.12\ncommands =\n  mypy . --strict", ("mypy", "1.12")),
        ("mypy.ini", "[mypy]\n# pyright is not used", ("mypy", "")),
        (".pre-commit-config.yaml", f"{PRE_COMMIT}{WITH_ARGS}", ("mypy", "1.18.2")),
        (".pre-commit-config.yaml", f"{PRE_COMMIT}- repo: ..\n{WITH_ARGS}", ("mypy", "1.18.2")),
        (".github/workflows/test.yml", "run: uvx basedpyright@1.31", ("pyright", "1.31")),
        ("tox.ini", "commands = ty check", ("ty", "")),
        ("requirements.txt", "mypy-extensions==1.1\n", None),
        (".github/workflows/test.yml", "uses: jakebailey/pyright-action@v2", ("pyright", "")),
    ],
)
def test_the_checker_of_a_project_is_known(
    tmp_path: Path, path: str, text: str, declared: tuple[str, str] | None
) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text)
    found = declared_checker(ToolTree(tmp_path))
    assert (found and found[:2]) == declared
    options = {"--strict": "--strict", "--ignore-missing-imports": "- repo: .."}
    assert found is None or found.options == tuple(n for n, said in options.items() if said in text)


@pytest.mark.slow
def test_a_checker_that_is_not_installed_is_replaced_by_mypy(tmp_path: Path) -> None:
    """It also checks files whose names it would read as options."""
    settings = {"pyproject.toml": b"[tool.mypy]\nstrict_equality = true\n"}
    names = ["shop.py", "-x.py", "--strict.py", "@x.py"]
    checker = find_checker(DeclaredChecker("mypy", "1.2"), settings, None, names)
    assert checker is not None
    assert checker.label.endswith("with the project's settings (the project uses mypy 1.2)")
    for name in names:
        (tmp_path / name).write_text("n: int = 'text'\n")
    errors = {each[:3] for each in checker.check(tmp_path, 60)}
    assert errors == {(name, "assignment", 1) for name in names}
    assert find_checker(DeclaredChecker("pyright"), {}, None, ["shop.py"]) is None


@pytest.mark.slow
def test_mypy_without_options_judges_where_no_checker_is_named(tmp_path: Path) -> None:
    """A result would make it read the body, which needs another annotation."""
    text = "class Shop:\n    def __init__(self):\n        self.shelf = {}\n"
    checker = find_checker(None, {"setup.cfg": b"[mypy]\nstrict = True\n"}, None, ["shop.py"])
    assert checker is not None
    assert checker.config == ("remora-mypy.ini", "[mypy]\n")
    (tmp_path / "shop.py").write_text(text)
    assert checker.check(tmp_path, 60) == []
    (tmp_path / "shop.py").write_text(text.replace("(self)", "(self) -> None"))
    assert [each[:3] for each in checker.check(tmp_path, 60)] == [("shop.py", "var-annotated", 3)]


def test_a_run_that_is_too_long_names_its_limit() -> None:
    with closing(TypeChecker(FILES, {}, minor=11)) as ty:
        ty.left = lambda: 0.002
        with pytest.raises(HostError, match=r"within 0\.002 seconds"):
            ty.check({})


@pytest.mark.parametrize(
    "settings",
    [
        {"pyproject.toml": b"[tool.ty]\nof_tomorrow = 1\n"},
        {"pyproject.toml": b"[tool.ty.environment]\npython-version = '2.7'\n"},
        {"ty.toml": b"[rules]\nunresolved-import = 'fatal'\n"},
    ],
)
def test_settings_that_ty_refuses_do_not_end_it(settings: dict[str, bytes]) -> None:
    files = {"shop.py": "def half(n: int) -> str:\n    return n\n"}
    with closing(TypeChecker(files, settings, minor=11)) as ty:
        assert [found.path for found in ty.check({})] == ["shop.py"]
        assert ty.refuses_settings


def test_a_checker_of_the_project_needs_safe_isolation_or_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its plug-ins are code of the project. Remora's mypy runs without them."""
    monkeypatch.setattr("remora.sandbox.isolation.best_level", lambda: 1)
    python = ProjectPython(python=Path(sys.executable), root=tmp_path)
    settings = {"mypy.ini": b"[mypy]\nplugins = hostile\nstrict = True\n"}
    found = find_checker(DeclaredChecker("mypy"), settings, python, [])
    assert found is not None
    assert "--no-site-packages" in found.command
    assert found.config == ("remora-mypy.ini", "[mypy]\n\nstrict = True\n")
    trusted = msgspec.structs.replace(python, trusted=True)
    allowed = find_checker(DeclaredChecker("mypy"), settings, trusted, [])
    assert allowed is not None
    assert allowed.label.startswith("the project's mypy")


@pytest.mark.slow
def test_a_checker_imports_nothing_from_the_project(tmp_path: Path) -> None:
    python = ProjectPython(python=Path(sys.executable), root=tmp_path, trusted=True)
    for name in ("mypy", "pathspec", "json", "importlib"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    (tmp_path / "shop.py").write_text("half: int = 'half'\n")
    for declared in (None, DeclaredChecker("mypy")):
        checker = find_checker(declared, {"mypy.ini": b"[mypy]\n"}, python, ["shop.py"])
        assert checker is not None
        (error,) = checker.check(tmp_path, 60)
        assert error[:3] == ("shop.py", "assignment", 1)


@pytest.mark.slow
def test_annotations_that_mypy_refuses_are_removed(tmp_path: Path) -> None:
    """Here mypy knows the result of a division, and ty is not asked."""
    settings = {"mypy.ini": b"[mypy]\n"}
    python = ProjectPython(python=Path(sys.executable), root=tmp_path, trusted=True)
    checker = find_checker(DeclaredChecker("mypy"), settings, python, sorted(FILES))
    assert checker is not None
    with closing(TypeChecker(FILES, settings, minor=11)) as ty:
        inference = Inference(FILES, ty, 11)
        parameter, result = inference.slots(["shop.py"])
        inference.annotations = {parameter: "int", result: "float"}
        inference.settle_with(inference.project.adding(checker.check, checker.question))
    assert inference.annotations == {}, "use() would return a float, and a signature is whole"


REPLACES = """
import os
for name in ("shop.py", "remora-mypy.ini"):
    try:
        os.remove(name)
    except FileNotFoundError:
        pass
    os.symlink({outside!r}, name)
"""


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("name", ["shop.py", "remora-mypy.ini", "package/cart.py"])
def test_a_link_that_a_plug_in_leaves_behind_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: int, name: str
) -> None:
    """Below level 2, the checked copy keeps what the project's code has written to it."""
    monkeypatch.setattr("remora.sandbox.process.best_level", lambda: need(level))
    outside = tmp_path / "outside"
    for path in ("shop.py", "remora-mypy.ini", "cart.py"):
        write(outside, {path: "mine"})
    link = name.partition("/")[0]
    target = outside if link == "package" else outside / link
    files = {"shop.py": "n = 1\n", "package/cart.py": "n = 1\n"}
    mypy = find_checker(None, {}, None, files)
    assert mypy is not None

    def plug_in(folder: Path, seconds: float) -> list[Diagnostic]:
        rmtree(folder / link, ignore_errors=True)
        (folder / link).unlink(missing_ok=True)
        (folder / link).symlink_to(target)
        return []

    with closing(TypeChecker(files, {}, minor=11)) as ty:
        ty.ask(plug_in, {}, "plug-in", list[Diagnostic])
        assert (ty.folder / link).is_symlink()
        changed = {name: "n = 2\n"} if name.endswith(".py") else {}
        with pytest.raises(HostError, match=r"already exists|symbolic link"):
            ty.ask(mypy.check, changed, mypy.question, list[Diagnostic])
    assert {path.read_text() for path in outside.iterdir()} == {"mine"}


@pytest.mark.slow
def test_a_plug_in_cannot_either(tmp_path: Path) -> None:
    need(2)
    outside, folder = tmp_path / "outside", tmp_path / "project"
    outside.write_text("mine")
    plugin = REPLACES.format(outside=str(outside)) + (
        "from mypy.plugin import Plugin\n\n\ndef plugin(version):\n    return Plugin\n"
    )
    settings = "[mypy]\nplugins = evil.py\n"
    write(folder, {"shop.py": "n: int = 'n'\n", "evil.py": plugin, "mypy.ini": settings})
    python = ProjectPython(python=Path(sys.executable), root=tmp_path, trusted=True)
    checker = find_checker(
        DeclaredChecker("mypy"), {"mypy.ini": settings.encode()}, python, ["shop.py"]
    )
    assert checker is not None
    assert checker.label.startswith("the project's mypy")
    for _ in range(2):
        with suppress(HostError):  # it replaces a file that is checked
            checker.check(folder, 60)
    assert not any(path.is_symlink() for path in folder.iterdir())
    assert outside.read_text() == "mine"


@pytest.mark.slow
def test_the_cache_of_a_checker_is_beside_the_folder(tmp_path: Path) -> None:
    write(tmp_path / "project", {"shop.py": "n: int = 'n'\n"})
    python = ProjectPython(python=Path(sys.executable), root=tmp_path, trusted=True)
    checker = find_checker(None, {}, python, ["shop.py"])
    assert checker is not None
    assert len(checker.check(tmp_path / "project", 60)) == 1
    names = {path.name for path in (tmp_path / "project").iterdir()}
    assert names == {"shop.py", "remora-mypy.ini"}
    assert any((tmp_path / "project-cache").iterdir())
