"""Which of the places that bind a name can be seen from a statement."""

from collections.abc import Sequence

from remora.code.ir.model import IN_TRY, LEAVES_FUNCTION, LOOP, Binding, Block, LoweredFile


class Flow:
    """The blocks of one file."""

    def __init__(self, lowered: LoweredFile) -> None:
        self._blocks: Sequence[Block] = lowered.blocks
        self._statements: Sequence[int] = lowered.statements
        self._ending: dict[int, int] = {}
        for block in lowered.blocks:
            if block.flags & LEAVES_FUNCTION and not block.flags & LOOP:
                self._ending[block.group] = self._ending.get(block.group, 0) + 1

    def reaching(self, binds: Sequence[Binding], scope: int, at: int) -> tuple[list[int], bool]:
        """Indexes of the `binds` that may hold at statement `at`, and whether one surely does.

        A bind from another scope (`global`, `nonlocal`) may always hold.
        """
        chain = self._chain(self._statements[at])
        found, killer = self._back(binds, scope, at, chain)
        found.extend(self._around(binds, at, chain, killer))
        return sorted(set(found)), killer >= 0

    def at_end(self, binds: Sequence[Binding], scope: int, made_at: int) -> list[int]:
        """Indexes of the `binds` that may hold when all of a scope has run.

        `made_at` is the statement that makes the scope.
        """
        chain = self._chain(self._statements[made_at])
        found, _ = self._back(binds, scope, len(self._statements), chain)
        return sorted(found) or list(range(len(binds)))

    def _back(
        self, binds: Sequence[Binding], scope: int, at: int, chain: dict[int, int]
    ) -> tuple[list[int], int]:
        """What is seen looking back from `at`, and the block in which that ends, or -1."""
        found: list[int] = []
        taken: dict[int, set[int]] = {}
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
                if self._complete(block, taken):
                    return found, self._blocks[block].parent
        return found, -1

    def _chain(self, block: int) -> dict[int, int]:
        """The block and all around it, each with its group."""
        chain: dict[int, int] = {}
        while block >= 0:
            chain[block] = self._blocks[block].group
            block = self._blocks[block].parent
        return chain

    def _passes(self, block: int, chain: dict[int, int]) -> bool:
        """Whether what happened in `block` can be seen where `chain` stands."""
        groups = chain.values()
        while block not in chain:
            found = self._blocks[block]
            if found.flags & LEAVES_FUNCTION:
                # an exception leaves a try's body before it returns
                return bool(found.flags & IN_TRY) and found.group in groups
            if found.group in groups and not found.flags & IN_TRY:
                return False
            block = found.parent
        return True

    def _complete(self, block: int, taken: dict[int, set[int]]) -> bool:
        """Whether now every way through the branches of `block` has been seen to bind."""
        found = self._blocks[block]
        if not found.arms:
            return False
        if not found.flags & LEAVES_FUNCTION:
            taken.setdefault(found.group, set()).add(block)
        seen = len(taken.get(found.group, ()))
        return bool(seen) and seen + self._ending.get(found.group, 0) >= found.arms

    def _around(
        self, binds: Sequence[Binding], at: int, chain: dict[int, int], killer: int
    ) -> list[int]:
        """Later binds that a loop brings back."""
        later = [i for i, bind in enumerate(binds) if bind.at >= at]
        loops = [block for block in chain if self._blocks[block].flags & LOOP]
        if not later or not loops:
            return []
        inside = self._chain(killer) if killer >= 0 else {}
        open_loops = {loop for loop in loops if loop not in inside}
        return [
            i for i in later if open_loops.intersection(self._chain(self._statements[binds[i].at]))
        ]
