"""The module that an import loads, where a project has several roots."""

import pytest

from remora.code.callgraph.module_lookup import ModuleLookup


@pytest.mark.parametrize(
    ("importer", "dotted", "others"),
    [
        # two services with the same package: the nearest root comes first
        ("b/tests/test_x.py", "app.main", "b/app/main.py a/app/main.py b/app/__init__.py a/app/__init__.py"),
        ("b/app/x.py", "app.main", "b/app/main.py a/app/main.py b/app/__init__.py a/app/__init__.py"),
        # a namespace without `__init__.py` in several roots, with and without `src`
        ("web/src/acme/web/app.py", "acme.core.db", "core/src/acme/core/db.py"),
        ("web/acme/web/app.py", "acme.core.db", "core/acme/core/db.py"),
        ("one/foo/bar/x.py", "foo.test.helpers", "two/foo/test/helpers.py two/foo/test/__init__.py one/foo/bar/__init__.py"),
        # folders of a `conftest.py`, of `pythonpath` or of `package-dir`
        ("tests/unit/deep/test_x.py", "helpers", "tests/helpers.py"),
        ("tests/unit/test_x.py", "helpers", "tests/unit/helpers.py tests/helpers.py helpers.py"),
        ("tests/test_x.py", "single", "python/single.py"),
        ("tests/test_x.py", "single", "some/folder/single.py"),
        ("tests/test_x.py", "package", "root_1/package/__init__.py"),
        ("tests/test_x.py", "shop", "src/shop/__init__.py examples/shop/__init__.py"),
        # an application that runs in `src`, though that is a package, too
        ("src/routers/index.py", "query", "src/query.py src/__init__.py src/routers/__init__.py"),
        # a file's own folder comes before the standard library
        ("scripts/run.py", "types", "scripts/types.py"),
    ],
)  # fmt: skip
def test_a_module_is_found_at_the_nearest_root(importer: str, dotted: str, others: str) -> None:
    paths = others.split()
    assert ModuleLookup([importer, *paths]).absolute(importer, dotted) == ("module", paths[0])


@pytest.mark.parametrize(
    ("importer", "dotted", "others"),
    [
        # several modules are equally near
        ("tools/run.py", "app.main", "a/app/main.py a/app/__init__.py b/app/main.py b/app/__init__.py"),
        ("tests/test_x.py", "single", "some/single.py other/single.py"),
        # modules of packages, of the standard library, of documentation, folders of data
        ("shop/django/models.py", "django.utils", "shop/__init__.py shop/django/__init__.py shop/django/utils.py"),
        ("tests/unit/test_x.py", "types", "tests/types.py"),
        ("src/routers/index.py", "types", "src/types.py src/__init__.py src/routers/__init__.py"),
        ("tests/test_x.py", "conf", "docs/conf.py"),
        ("shop/app.py", "yaml", "tests/configs/yaml/a.py"),
    ],
)  # fmt: skip
def test_a_module_that_may_be_another_is_unknown(importer: str, dotted: str, others: str) -> None:
    assert ModuleLookup([importer, *others.split()]).absolute(importer, dotted) is None


def test_parts_of_a_namespace_are_found_in_all_roots() -> None:
    lookup = ModuleLookup(
        ["a/src/acme/web/app.py", "b/src/acme/core/db.py", "b/src/acme/core/x.py"]
    )
    acme = lookup.absolute("a/src/acme/web/app.py", "acme")
    assert acme is not None
    core = lookup.submodule(acme, "core")
    assert core is not None
    assert lookup.submodule(core, "db") == ("module", "b/src/acme/core/db.py")
