"""Analysis of reaching definitions, which are the bindings of a name that may reach a statement."""

from collections.abc import Sequence

from remora.code.ir.model import IN_TRY, LEAVES_FUNCTION, LOOP, Binding, Block, LoweredFile


class ReachingDefinitions:
    def __init__(self, lowered: LoweredFile) -> None:
        self._blocks: Sequence[Block] = lowered.blocks
        self._statements: Sequence[int] = lowered.statements
        self._ending_arms: dict[int, int] = {}
        for block in lowered.blocks:
            if block.flags & LEAVES_FUNCTION and not block.flags & LOOP:
                self._ending_arms[block.group] = self._ending_arms.get(block.group, 0) + 1

    def at_statement(self, binds: Sequence[Binding], scope: int, at: int) -> tuple[list[int], bool]:
        """Return the bindings that may reach a statement, and whether at least one certainly does.

        Bindings are returned as indexes into `binds`.
        """
        chain = self._chain(self._statements[at])
        found, killer = self._before(binds, scope, at, chain)
        found.extend(self._from_loops(binds, at, chain, killer))
        return sorted(set(found)), killer >= 0

    def at_end(self, binds: Sequence[Binding], scope: int, made_at: int) -> list[int]:
        """Return the bindings that may reach the end of the scope, as indexes into `binds`."""
        chain = self._chain(self._statements[made_at])
        found, _ = self._before(binds, scope, len(self._statements), chain)
        return sorted(found) or list(range(len(binds)))

    def _before(
        self, binds: Sequence[Binding], scope: int, at: int, chain: dict[int, int]
    ) -> tuple[list[int], int]:
        """Return the bindings before `at` that may reach it, and the block that hides earlier
        bindings.

        The block is -1 if no bindings are hidden.
        """
        found: list[int] = []
        arms_seen: dict[int, set[int]] = {}
        for index in range(len(binds) - 1, -1, -1):
            bind = binds[index]
            block = self._statements[bind.at]
            if bind.scope != scope:
                found.append(index)
            elif bind.at < at:
                if block in chain:
                    return [*found, index], block
                if self._passes(block, chain):
                    found.append(index)
                if self._binds_in_all_arms(block, arms_seen):
                    return found, self._blocks[block].parent
        return found, -1

    def _chain(self, block: int) -> dict[int, int]:
        """Map the block and each enclosing block to its group."""
        chain: dict[int, int] = {}
        while block >= 0:
            chain[block] = self._blocks[block].group
            block = self._blocks[block].parent
        return chain

    def _passes(self, block: int, chain: dict[int, int]) -> bool:
        """Return True if a binding in `block` can reach the innermost block of `chain`."""
        groups = chain.values()
        while block not in chain:
            found = self._blocks[block]
            if found.flags & LEAVES_FUNCTION:
                # an exception may leave the body of a `try` before it returns
                return bool(found.flags & IN_TRY) and found.group in groups
            if found.group in groups and not found.flags & IN_TRY:
                return False
            block = found.parent
        return True

    def _binds_in_all_arms(self, block: int, arms_seen: dict[int, set[int]]) -> bool:
        """Return True if every arm of a branch binds the name or leaves the function."""
        found = self._blocks[block]
        if not found.arms:
            return False
        if not found.flags & LEAVES_FUNCTION:
            arms_seen.setdefault(found.group, set()).add(block)
        seen = len(arms_seen.get(found.group, ()))
        return bool(seen) and seen + self._ending_arms.get(found.group, 0) >= found.arms

    def _from_loops(
        self, binds: Sequence[Binding], at: int, chain: dict[int, int], killer: int
    ) -> list[int]:
        """Return the later bindings that reach `at` in the next iteration of a loop."""
        later = [i for i, bind in enumerate(binds) if bind.at >= at]
        loops = [block for block in chain if self._blocks[block].flags & LOOP]
        if not later or not loops:
            return []
        inside = self._chain(killer) if killer >= 0 else {}
        open_loops = {loop for loop in loops if loop not in inside}
        return [
            i for i in later if open_loops.intersection(self._chain(self._statements[binds[i].at]))
        ]
