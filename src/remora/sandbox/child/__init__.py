"""What runs around one command, in a bare interpreter: it starts, confines, watches and ends it.

Nothing in here imports anything of Remora's but its neighbours, and as little as can be of the
standard library: every subprocess waits for it. Only once all is over does `removal` come in.
"""
