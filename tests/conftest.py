"""How hard Hypothesis tries: `make test` asks for `fast`, `make test-all` for `thorough`."""

from hypothesis import HealthCheck, settings

SHARED = settings(
    # a machine that others use too says nothing about the speed of an example
    deadline=None,
    # a folder that examples share is one in which each makes its own
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# the same examples each time: what passed yesterday passes today
settings.register_profile("fast", SHARED, max_examples=30, derandomize=True)
settings.register_profile("thorough", SHARED, max_examples=100)
settings.load_profile("fast")
