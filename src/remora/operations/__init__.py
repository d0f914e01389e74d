"""Operations. Each folder contains everything that belongs to one kind of work.

Only `bootstrap` imports concrete operations. All other modules use `operations.base`.
"""
