"""Number of lint findings in each node, from a single ruff run over all planned files."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from remora.code.syntax.nodes import Module, Node, node_at_line
from remora.errors import ConfigError, HostError
from remora.judges.lint.left_alone import kept_findings
from remora.operations.base import KEPT, NEEDS_UNSAFE, NO_FIX, DescribedAmount
from remora.tools.host.ruff.finding import Finding, Place, has_fix, place_of
from remora.tools.host.ruff.processes import RuffStoppedError
from remora.tools.tree import ToolTree

_SMALL = 64 * 1024
"""Bytes of a file on which ruff is not likely to crash or hang."""
_ALONE_S = 10.0
"""Seconds for a part of the files, when ruff did not finish all of them. One second is usual."""
_MOST_UNCHECKED = 10


def all_findings(
    place: ToolTree, modules: Sequence[Module], _options: Mapping[str, Any]
) -> DescribedAmount:
    """Return a function that counts the findings on the lines that belong to a node itself.

    Raises ConfigError if ruff fails, which is usually caused by the project's ruff settings.
    """
    found, unchecked = _ruff_findings(place, modules)
    return DescribedAmount(amount=_counts(found), unchecked=unchecked)


def fixable_findings(
    place: ToolTree, modules: Sequence[Module], options: Mapping[str, Any]
) -> DescribedAmount:
    """Return a function that counts a node's findings that can be fixed.

    A finding can be fixed if ruff has a fix. Unsafe fixes count only if the
    option `unsafe_fixes` is set. Findings without a fix count if the option `open` is True, because
    a model can write lines. Findings of generated files cannot be fixed. Raises ConfigError if ruff
    fails.
    """
    is_unsafe = bool(options.get("unsafe_fixes"))
    every, unchecked = _ruff_findings(place, modules)
    kept = _kept(place, every)
    found = [finding for finding in every if place_of(finding) not in kept]
    fixable = [finding for finding in found if has_fix(finding, unsafe=is_unsafe)]
    place.ruff.find_formatted(sorted({finding["path"] for finding in fixable}))
    if options.get("open"):
        known = {place_of(finding) for finding in fixable}
        others = [finding for finding in found if place_of(finding) not in known]
        fixable += [finding for finding in others if _reason(finding) == NO_FIX]
    return DescribedAmount(
        amount=_counts(fixable),
        left=_left(every, Counter(map(_known, fixable)), kept),
        rules=place.ruff.options.described_rules(),
        unchecked=unchecked,
    )


def _left(
    findings: Sequence[Finding], fixable: Counter[tuple[Place, str]], kept: Mapping[Place, str]
) -> Callable[[Module, Node], Mapping[str, Sequence[str]]]:
    """Return a function that returns the findings of a node that are left, by reason."""
    by_path: dict[str, list[tuple[int, str, str]]] = {}
    for finding in findings:
        if fixable[_known(finding)]:
            fixable[_known(finding)] -= 1
            continue
        why = kept.get(place_of(finding))
        reason = _reason(finding) if why is None else KEPT
        text = f"{finding['path']}:{finding['line']} {finding['code']}: {why or finding['message']}"
        by_path.setdefault(finding["path"], []).append((int(finding["line"]), reason, text))

    by_node: dict[str, dict[str, list[str]]] = {}

    def of_node(module: Module, node: Node) -> Mapping[str, Sequence[str]]:
        for line, reason, text in by_path.pop(module.path, ()):
            reasons = by_node.setdefault(node_at_line(module, line), {})
            reasons.setdefault(reason, []).append(text)
        return by_node.get(node.key, {})

    return of_node


def _known(finding: Finding) -> tuple[Place, str]:
    """Return the place and message of a finding, as one import may have several at one place."""
    return place_of(finding), finding["message"]


def _reason(finding: Finding) -> str:
    """Return why a finding is left that is not kept on purpose."""
    fix = finding["fix"]
    return NEEDS_UNSAFE if fix and fix["applicability"] == "unsafe" else NO_FIX


def _kept(place: ToolTree, findings: Sequence[Finding]) -> dict[Place, str]:
    """Return the findings that the fixes leave alone, with the reasons."""
    found: dict[Place, str] = {}
    for path, here in _by_path(findings).items():
        try:
            found |= kept_findings(place, path, place.read(path), here)
        except HostError as error:  # a file that is not UTF-8, or too large
            found |= dict.fromkeys(map(place_of, here), error.message)
    return found


def _by_path(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    by_path: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_path[finding["path"]].append(finding)
    return by_path


def _ruff_findings(
    place: ToolTree, modules: Sequence[Module]
) -> tuple[list[Finding], dict[str, str]]:
    """Return the findings of files, and those on which ruff crashes or hangs with the reasons.

    Ruff crashes on expressions that are nested deeply, and takes minutes for a literal of 100,000
    items. Raises ConfigError if ruff fails in another way.
    """
    paths = [module.path for module in modules]
    try:
        return place.ruff.check(paths, unsafe=True) if paths else [], {}
    except RuffStoppedError:
        return _findings_in_parts(place, paths)
    except HostError as error:  # most likely caused by the project's ruff settings
        hint = "correct the project's ruff settings"
        raise ConfigError(error.message, hint=hint) from error


def _findings_in_parts(
    place: ToolTree, paths: Sequence[str]
) -> tuple[list[Finding], dict[str, str]]:
    """Check each large file alone, and divide groups of others that ruff does not finish."""
    sizes = {path: (place.tree / path).lstat().st_size for path in paths}
    small = [path for path in paths if sizes[path] <= _SMALL]
    groups = [[path] for path in paths if sizes[path] > _SMALL] + ([small] if small else [])
    found, unchecked = list[Finding](), dict[str, str]()
    while groups:
        group = groups.pop()
        half = len(group) // 2
        try:
            with place.within(_ALONE_S):
                found += place.ruff.check(group, unsafe=True)
        except HostError as error:
            if half:
                groups += [group[half:], group[:half]]
                continue
            unchecked[group[0]] = error.message
            if len(unchecked) > _MOST_UNCHECKED:
                hint = f"exclude {', '.join(sorted(unchecked))}"
                raise ConfigError(error.message, hint=hint) from error
    return found, unchecked


def _counts(found: Sequence[Finding]) -> Callable[[Module, Node], int]:
    by_path = _by_path(found)
    counts: Counter[str] = Counter()

    def amount(module: Module, node: Node) -> int:
        here = by_path.pop(module.path, ())
        counts.update(node_at_line(module, int(finding["line"])) for finding in here)
        return counts[node.key]

    return amount
