"""Many processes that multiply; here they stop at 300, so that no machine ends if nothing holds."""

import os
import time


def test_three_hundred_that_stay() -> None:
    alive = 0
    for _ in range(300):
        try:
            child = os.fork()
        except OSError:
            break
        if child == 0:
            if os.fork() == 0:
                os.setsid()
            time.sleep(600)
            os._exit(0)
        alive += 1
    assert alive > 50
