"""The benchmark of the page: it runs, with short streams."""

import shutil

import pytest


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_all_figures_of_the_page_are_measured() -> None:
    import viewer

    from tests.browser import chromium_path

    chromium_path()
    if shutil.which("npm") is None:
        pytest.skip("needs npm")
    found = viewer.main(viewer.QUICK)
    assert found.keys() == viewer.LIMITS.keys()
    assert all(value > 0 for value in found.values())
    assert found["seen_p95_ms"] < 1000
