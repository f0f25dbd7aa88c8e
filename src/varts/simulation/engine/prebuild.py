"""Compile the kernels of the built-in policies, once, when varts is installed.

    python -m varts.simulation.engine.prebuild

writes them into the folder `prebuilt` of this package, so a first study compiles nothing. It is
machine code for any processor of this kind, or with `--native` for those as capable as this one.
It calls nothing but the C library. Files are named after a hash of the sources: after an edit they
are no longer used.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from varts.policies import (
    BayesUCB,
    EvenSplit,
    LinearPolicy,
    Policy,
    VarTS,
    known,
    make,
)
from varts.policies.best_arm import T3C, TTEI
from varts.policies.registry import options_of
from varts.priors import LinearNormalGamma, NormalGamma
from varts.problems import GaussianBandit, LinearBandit, Problem, Steps
from varts.simulation.engine import kernel_cache
from varts.simulation.engine.kernel import MIN_ARMS_GROWING, Kernel, kernel_of
from varts.simulation.engine.machine import file_name, levels
from varts.stopping import StopAtError

PYTHON_PARTS = ("varts_average", "varts_pay", "varts_normal", "varts_uniform", "varts_is_certain")


def built_in_kernels(labels: list[str] | None = None) -> list[Kernel]:
    """Return the kernels to compile: every policy, and the common ones with stopping and drift.

    Args:
        labels: Policies, to compile these alone: for a few fixed arms, with a prior if they take
            one.
    """
    if labels is not None:
        prior = {"prior": NormalGamma(0, 1, 1, 1)}
        takers = {label for label, kind in known().items() if "prior" in options_of(kind)}
        policies = [make(label, **(prior if label in takers else {})) for label in labels]
        return [kernel for policy in policies for kernel in _of(policy, _problem(3))]
    return list(dict.fromkeys(_kernels()))


def _kernels() -> Iterator[Kernel]:
    few, many = _problem(3), _problem(MIN_ARMS_GROWING)
    policies = _policies()
    for policy in policies:
        for problem in (few, many):
            yield from _of(policy, problem)
    by_prior = VarTS(NormalGamma(0, 1, 1, 1))
    for policy in (VarTS(), by_prior, T3C(), make("EB-TCI"), EvenSplit()):
        yield from _of(policy, few, StopAtError())
    drift = Steps(_problem(3), every=100)
    for policy in (VarTS(), by_prior, make("UCB1")):
        yield from _of(policy, drift)
    context = LinearBandit(K=3, d=2)
    for policy in (*policies, *_linear_policies()):
        if isinstance(policy, (LinearPolicy, VarTS)):
            yield from _of(policy, context)


def _problem(K: int) -> Problem:
    return GaussianBandit(NormalGamma(0, 1, 1, 1), K=K)


def _policies() -> list[Policy]:
    """Return every registered policy, and those that have another formula with a prior."""
    prior = NormalGamma(0, 1, 1, 1)
    return [
        *map(_default, known().values()),
        VarTS(prior),
        VarTS(prior, tails=True),
        VarTS(tails=True),
        T3C(prior),
        TTEI(prior),
        BayesUCB(prior),
    ]


def _linear_policies() -> list[Policy]:
    prior = LinearNormalGamma(mu=0, kappa=1, alpha=1, beta=1, slopes=[0, 0], precision=[1, 1])
    return [kind(prior) for kind in known().values() if issubclass(kind, LinearPolicy)]


def _default(kind: type[Policy]) -> Policy:
    """Return a policy with its default options, and any value for those without a default."""
    options = options_of(kind)
    needed = {
        name: 1000 if name == "horizon" else NormalGamma(0, 1, 1, 1) if name == "prior" else 1.0
        for name, option in options.items()
        if option.default is option.empty
    }
    return kind(**needed)


def _of(policy: Policy, problem: Problem, rule: Any = None) -> Iterator[Kernel]:
    try:
        kernel = kernel_of(policy, problem, rule=rule)
    except ValueError:  # a policy that cannot play this problem
        return
    if kernel is not None:
        yield kernel


def build(task: tuple[Kernel | str, str]) -> None:
    """Compile a kernel or a part for processors of a level, and write its file."""
    from varts.simulation.engine import build as building

    what, level = task
    if isinstance(what, str):
        name = f"{what}_{kernel_cache.sources_digest()}"
        code = building.build_part(what, level)
    else:
        name = what.name
        code = building.build_kernel(what, level)
    kernel_cache.write(_file(file_name(name, level)), code)


def _file(name: str) -> Any:
    return kernel_cache.PREBUILT / f"{name}{kernel_cache.SUFFIX}"


def main(arguments: list[str] | None = None) -> None:
    """Compile what is missing and delete what no longer fits the sources.

    Args:
        arguments: Those of the command line.
    """
    parser = argparse.ArgumentParser(prog="python -m varts.simulation.engine.prebuild")
    parser.add_argument(
        "--native",
        action="store_true",
        help="compile for processors as capable as this one, not for any of its kind",
    )
    parser.add_argument(
        "--policies", nargs="+", metavar="LABEL", help="compile for these policies only"
    )
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        help="how many processes compile; by default as many as there are cores",
    )
    options = parser.parse_args(arguments)
    level = levels()[0 if options.native else -1]
    began = time.perf_counter()
    kernel_cache.PREBUILT.mkdir(exist_ok=True)
    from varts.simulation.engine import build as building

    parts_file = _file(building.parts_name())
    digest = kernel_cache.sources_digest()
    names: dict[str, Kernel | str] = {f"{name}_{digest}": name for name in PYTHON_PARTS}
    names |= {each.name: each for each in built_in_kernels(options.policies)}
    wanted = {_file(file_name(name, level)): what for name, what in names.items()}
    if options.policies is None:
        for file in kernel_cache.PREBUILT.glob(f"*{kernel_cache.SUFFIX}"):
            if file not in wanted and file != parts_file:
                file.unlink()
    missing = [(what, level) for file, what in wanted.items() if not file.exists()]
    with ProcessPoolExecutor(options.processes) as pool:
        if not parts_file.exists():
            kernel_cache.write(parts_file, building.compile_parts(pool.map))
        for done, _ in enumerate(pool.map(build, missing), 1):
            print(f"\rcompiling kernels: {done} of {len(missing)}", end="", flush=True)
    seconds = time.perf_counter() - began
    print(f"\r{len(wanted)} kernels for {level} in {kernel_cache.PREBUILT.name}/, {seconds:.0f} s")


if __name__ == "__main__":
    main()
