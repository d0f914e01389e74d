"""A process that asks a model as often as it is told, with limits in a database."""

import asyncio
import sys
from pathlib import Path

from remora.bootstrap.model_slots import ModelSlots
from remora.chat import Message
from remora.config.schema import ModelConfig
from remora.models.model_settings import request_limits
from remora.models.protocol import Decoding, Request
from remora.models.provider import open_model
from remora.trace.postgres.database import Database


async def ask(dsn: str, address: str, limit: int, times: int) -> None:
    settings = ModelConfig(base_url=address, max_concurrency=limit)
    shared = ModelSlots(Database(dsn), request_limits(settings))
    model = open_model(settings, cache=Path("/nonexistent"), api_key=None, shared=shared)
    message = Message(role="user", content="question")
    request = Request(messages=(message,), decoding=Decoding(strategy="rules"))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    left = iter(range(times))

    async def job() -> None:
        for _ in left:
            await model.ask(request)

    await asyncio.gather(*(job() for _ in range(6)))
    await model.aclose()


if __name__ == "__main__":
    asyncio.run(ask(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
