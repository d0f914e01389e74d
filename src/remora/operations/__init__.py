"""Operations: each folder holds everything of one kind of work.

Only `bootstrap` imports a concrete operation; everything else knows `operations.base`.
"""
