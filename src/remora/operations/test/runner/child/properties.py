"""Property tests, given as source code. Hypothesis runs each test in a child process."""

from __future__ import annotations

import contextlib
from typing import Any

from .fork import Order, in_child, line_of, read, write
from .tracer import Effects


def prepare() -> bool:
    """Import Hypothesis once for all children. Return False if it is not installed."""
    try:
        import hypothesis
        from hypothesis import strategies
    except ImportError:
        return False

    @hypothesis.settings(max_examples=5, derandomize=True, deadline=None)
    @hypothesis.given(strategies.text(), strategies.floats(), strategies.binary())
    def anything(*_: object) -> None:
        """Fill the caches of Hypothesis, which all children inherit."""

    with contextlib.suppress(hypothesis.errors.HypothesisException):
        anything()
    return True


def run_properties(asked: Order, name: str, order: Order, module: Any) -> None:
    """Try the properties of each group in turn, until a property holds or times out.

    Stop after `patience` timeouts.
    """
    late = 0
    for number, group in enumerate(order["properties"]):
        if late >= order["patience"]:
            return
        for member, (test, text) in enumerate(group):
            place = f"{name}-p{number}-{member}"

            def work(test: str = test, text: str = text, place: str = place) -> None:
                write(asked["out"], place, tried(asked, module, test, text, order["examples"]))

            if not in_child(work, order["each_property"]):
                write(asked["out"], place, {"how": "late"})
                late += 1
                break
            if read(asked["out"], place).get("how") == "held":
                break


def tried(asked: Order, module: Any, test: str, text: str, examples: int) -> Order:
    """Run a property test and return its result.

    `text` defines the test as a function called `test`.
    """
    import hypothesis
    from hypothesis import strategies

    hypothesis.settings.register_profile(
        "remora",
        max_examples=examples,
        database=None,
        phases=[hypothesis.Phase.generate],
        # a busy machine is not a fault
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
    hypothesis.settings.load_profile("remora")
    words = {"given": hypothesis.given, "settings": hypothesis.settings, "st": strategies}
    names = {**vars(module), **words}
    exec(compile(text, "<property>", "exec"), names)
    watched = Effects(asked["root"], asked["scratch"])
    try:
        with watched:
            names[test]()
    except BaseException as error:
        return {"how": "failed", "type": type(error).__name__, "text": line_of(error)}
    return {"how": "effect", "effect": watched.seen[0]} if watched.seen else {"how": "held"}
