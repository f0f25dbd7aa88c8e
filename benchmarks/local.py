"""`python -m benchmarks.local`: what a local decision costs in Python, beside a dictionary lookup.

Prints a table and writes nothing. A decision of 10 arms, by kind, in blocks of 1,000: the median
over blocks, and its ratio to the lookup, block by block in the same run. `--blocks` says how many.
"""

import argparse
import importlib.util
import math
import sys
import time
from statistics import median

from benchmarks.timing import in_turns, ratio
from tests.client.local_service import LocalService
from tests.serve.processes import ROOT

BLOCK = 1_000  # calls
UNITS = [f"user-{at}" for at in range(BLOCK)]
CONTEXTS = [{"country": ("NL", "BE")[at % 2]} for at in range(BLOCK)]
ARMS = {"arms": list("abcdefghij"), "probabilities": [0.1] * 10}
CELLS = {
    "features": ["country"],
    "values": [["NL", "BE", "other"]],
    "probabilities": [ARMS["probabilities"]] * 3,
}


def load_client():
    """The module clients/python/varts_client.py."""
    spec = importlib.util.spec_from_file_location(
        "varts_client", ROOT / "clients" / "python" / "varts_client.py"
    )
    sys.modules[spec.name] = made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def blocks_of(client, service):
    """By kind of decision, a function that makes a block of them and returns the seconds."""

    def opened(**fields):
        service.change(1, **ARMS, **fields)
        exp = client.LocalExperiment("price", service.address, wait=30, flush_every=3600)
        exp._crowd = math.inf  # the thread must not send meanwhile: it would take its turns
        return exp

    plain, held = opened(), opened(holdout=0.1)
    sticky, by_country = opened(sticky=True), opened(cells=CELLS, context=["country"])
    table = dict.fromkeys(UNITS, 1)

    def lookup():
        began = time.perf_counter()
        for unit in UNITS:
            table[unit]
        return time.perf_counter() - began

    def without_unit():
        began = time.perf_counter()
        for _ in UNITS:
            plain.decide()
        return finish(plain, began)

    def with_unit(exp):
        def block():
            began = time.perf_counter()
            for unit in UNITS:
                exp.decide(unit)
            return finish(exp, began)

        return block

    def with_context():
        began = time.perf_counter()
        for unit, context in zip(UNITS, CONTEXTS, strict=True):
            by_country.decide(unit, context)
        return finish(by_country, began)

    def rewards():
        began = time.perf_counter()
        for unit in UNITS:
            plain.reward(unit, 1.5)
        return finish(plain, began)

    return {
        "a dictionary lookup": lookup,
        "a decision": without_unit,
        "with a unit": with_unit(plain),
        "with a unit and a holdout": with_unit(held),
        "of a sticky unit that has its arm": with_unit(sticky),
        "with a unit and a context": with_context,
        "a reward": rewards,
    }


def finish(exp, began):
    """The seconds since then; forget what waits, or it would fill the memory."""
    seconds = time.perf_counter() - began
    exp._queue.clear()
    return seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=1_000)
    blocks = parser.parse_args().blocks
    client = load_client()
    with LocalService() as service:
        times = in_turns(blocks_of(client, service), blocks)
    below = times["a dictionary lookup"]
    print(f"{'':36}{'µs':>8}{'lookups':>10}")
    for name, took in times.items():
        print(f"{name:36}{1e6 * median(took) / BLOCK:8.3f}{ratio(took, below):10.1f}")


if __name__ == "__main__":
    main()
