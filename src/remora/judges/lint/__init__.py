"""Judges of lint fixes: findings whose fixes would remove something that is needed."""
