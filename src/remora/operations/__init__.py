"""Operations: each folder holds everything that belongs to one kind of work.

Only `bootstrap` imports a concrete operation; all other modules use `operations.base`.
"""
