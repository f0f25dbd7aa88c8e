"""What `varts serve` is compared with: the library behind Starlette, a thread for each request, no
batches. `python thread_pool.py STORE PORT` serves decisions and rewards of one experiment."""

import sys

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

import varts


def make_app(experiment):
    """An application with the two requests that matter."""

    async def decide(request):
        made = await run_in_threadpool(experiment.decide, id=request.path_params["id"])
        return answer(made._asdict())

    async def reward(request):
        id = request.path_params["id"]
        value = msgspec.json.decode(await request.body())["value"]
        applied = await run_in_threadpool(experiment.reward, id, value)
        return answer({"id": id, "status": "applied" if applied else "duplicate"})

    path = f"/v1/experiments/{experiment.name}/decisions/{{id}}"
    return Starlette(
        routes=[
            Route(path, decide, methods=["PUT"]),
            Route(f"{path}/reward", reward, methods=["PUT"]),
        ]
    )


def answer(body):
    return Response(msgspec.json.encode(body), media_type="application/json")


if __name__ == "__main__":
    store, port = sys.argv[1:]
    with varts.open("bench", store=store) as opened:
        uvicorn.run(make_app(opened), port=int(port), http="httptools", log_level="error")
