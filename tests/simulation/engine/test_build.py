"""Kernels: kept between processes, never stale, and free of everything but the C library."""

import shutil
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import varts
from tests.interpreter import python
from varts.policies.formulas import unit_free_belief
from varts.simulation.engine import build, kernel_cache, machine
from varts.simulation.engine.kernel import find_kernel, kernel_of, numba_needed
from varts.simulation.engine.kernel_cache import kernel_sources
from varts.simulation.engine.machine import levels
from varts.simulation.engine.prebuild import PYTHON_PARTS, built_in_kernels

pytestmark = [pytest.mark.when_changed("src/varts/simulation/engine"), pytest.mark.no_cover]

SOURCES = Path(varts.__file__).parent


COUNT = """
    from varts.simulation.engine import build
    compiled, compile_c = [], build.compile_c

    def counted(function, signature, name):
        compiled.append(name)
        return compile_c(function, signature, name)

    build.compile_c = counted
"""
PLAY = f"""
    import json, varts
    {COUNT}
    problem = varts.GaussianBandit.fixed([0.0, 0.3], 1.0)
    final = varts.simulate(problem, "UCB1", 50, 16, threads=1).final["UCB1"].sum()
    print(json.dumps([len(compiled), final]))
"""


def test_kernels_are_cached_on_disk_and_an_edit_anywhere_renews_them(tmp_path):
    """A copy of the package: compile, hit, then edit a formula in another file and miss."""
    shutil.copytree(
        SOURCES, tmp_path / "varts", ignore=shutil.ignore_patterns("__pycache__", "prebuilt")
    )
    here = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    where = python("import json, varts; print(json.dumps(varts.__file__))", **here)
    assert Path(where).parent == tmp_path / "varts"
    compiled, first = python(PLAY, **here)
    assert compiled > 1  # the parts, too
    assert python(PLAY, **here) == [0, first]
    ucb = tmp_path / "varts" / "policies" / "ucb.py"
    text = ucb.read_text()
    assert "np.sqrt(2 / n)" in text
    ucb.write_text(text.replace("np.sqrt(2 / n)", "np.sqrt(9 / n)"))
    compiled, edited = python(PLAY, **here)
    assert compiled > 1 and edited != first


# Whatever is overridden, the index is the built-in's.
OWN = """
    import json, sys
    import numpy as np
    import varts
    COUNT

    class Eager(varts.UCB1):
        @staticmethod
        def clock(t):
            return 3 * np.sqrt(np.log(t - 1))

    class Revenue(varts.Problem):
        K = 3

        def draw(self, rng, size):
            mean = rng.random((size, 3))
            return varts.Instances(mean, mean**2, a=mean, b=mean)

        @staticmethod
        def reward(a, b, z, u):
            return -a * np.log1p(-u)

    policies = {"UCB1": varts.UCB1(), "Eager": Eager()}
    problems = {"gaussian": varts.GaussianBandit(K=3), "revenue": Revenue()}
    found = []
    for which in PLAYED:
        policy, problem = policies[which[0]], problems[which[1]]
        final = varts.simulate(problem, {"it": policy}, 500, 16, threads=1).final["it"].mean()
        found.append([sum(len(name) > 32 for name in compiled), final])  # kernels, not parts
        compiled.clear()
    print(json.dumps(found))
"""
A, B, C = ("UCB1", "gaussian"), ("Eager", "gaussian"), ("UCB1", "revenue")


def play(folder, *which):
    program = OWN.replace("COUNT", COUNT.strip()).replace("PLAYED", repr(which))
    return python(program, NUMBA_CACHE_DIR=str(folder))


def test_no_policy_gets_the_results_of_another_from_disk(tmp_path):
    """In new processes that share a folder, in both orders, alone and side by side."""
    one, other = tmp_path / "one", tmp_path / "other"
    (first,), (eager,), (revenue,) = play(one, A), play(one, B), play(one, C)
    assert [eager[0], revenue[0]] == [1, 1]  # that of UCB1 may have come with the package
    assert len({first[1], eager[1], revenue[1]}) == 3
    assert play(other, C, B) == [revenue, eager]
    # Code in memory and code from disk are told apart, too; that of users is kept.
    assert play(other, B, A, C) == [[0, eager[1]], first, [0, revenue[1]]]
    assert play(one, A, B, C) == [[0, first[1]], [0, eager[1]], [0, revenue[1]]]


def test_kernels_that_differ_have_names_that_differ(problem):
    class Static(varts.BeliefPolicy):
        """VarTS's unit-free formula with pooled statistics that stay fixed."""

        believe = staticmethod(unit_free_belief)

        def parameters(self, stats):
            return varts.VarTS().parameters(varts.ArmStats([5] * stats.K, 0, 1))

    one, other = (kernel_of(policy, problem) for policy in (varts.VarTS(), Static()))
    assert one.digest != other.digest


@pytest.mark.parametrize("name", ["believe", "start", "update"])
def test_what_compiled_code_does_not_know_is_played_in_plain_python(problem, name):
    kind = type("Other", (varts.MVTS,), {name: lambda *_: (0.0, 1.0, np.inf)})
    assert kernel_of(varts.MVTS(rho=2.0), problem) is not None
    assert kernel_of(kind(rho=2.0), problem) is None


def test_policies_with_equal_ingredients_share_a_kernel(problem, prior):
    one, other, third = (
        kernel_of(policy, problem) for policy in (varts.VarTS(prior), varts.TS20(), varts.VarTS())
    )
    assert one == other and hash(one) == hash(other)
    assert one != third and one.digest != third.digest


def test_every_compiled_function_is_in_a_file_that_the_digest_covers():
    """Else an edit there would leave stale kernels on disk."""
    covered = set(kernel_sources())
    compiled = {
        Path(value.py_func.__code__.co_filename)
        for name, module in list(sys.modules.items())
        if name.startswith("varts.")
        for value in vars(module).values()
        if hasattr(value, "py_func")
    }
    assert len(compiled) > 5 and compiled <= covered


# ------------------------------------------------------------------------------------ machine code


def prebuilt_files():
    """What came with the package and fits its sources."""
    names = [kernel.name for kernel in built_in_kernels()]
    names += [f"{name}_{kernel_cache.sources_digest()}" for name in PYTHON_PARTS]
    files = [kernel_cache.PREBUILT / f"{name}-{each}.kernel" for name in names for each in levels()]
    return [file for file in files if file.exists()]


def test_built_in_kernels_need_the_c_library_only():
    """The first line of a file shows it. Without a file, one kernel is compiled."""
    codes = [file.read_bytes()[kernel_cache.HASH_BYTES :] for file in prebuilt_files()]
    codes = codes or [build.build_kernel(built_in_kernels()[0], levels()[0])]
    assert {numba_needed(code) for code in codes} == {""}


def test_a_kernel_that_allocates_says_so(problem):
    @varts.index_policy("Allocating")
    def allocating(n, mean, m2, t):
        return mean + np.array([n, mean, m2]).max()

    code = build.build_kernel(kernel_of(allocating, problem), levels()[0])
    assert numba_needed(code) == numba.__version__
    assert np.isfinite(varts.simulate(problem, allocating, 20, 8).final["Allocating"]).all()


def test_kernels_from_disk_run_without_numba(tmp_path):
    """Compiled by one process, run by another that never imports the compiler."""
    program = """
        import json, sys, varts
        study = varts.simulate(varts.GaussianBandit(K=3), "VarTS", 50, 16, threads=1)
        print(json.dumps(["numba" in sys.modules, study.final["VarTS"].sum()]))
    """
    here = {"NUMBA_CACHE_DIR": str(tmp_path)}
    _, first = python(program, **here)
    assert python(program, **here) == [False, first]


def test_code_for_another_version_of_numba_is_compiled_again(problem, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    @varts.index_policy("Allocating as well")
    def allocating(n, mean, m2, t):
        return mean + np.array([n, mean, m2, 1.0]).max()

    kernel = kernel_of(allocating, problem)
    code = build.build_kernel(kernel, levels()[0])
    name = machine.file_name(kernel.name, levels()[0])
    kernel_cache.keep(name, code.replace(numba.__version__.encode(), b"0.1", 1))
    assert find_kernel(kernel) is None
    kernel_cache.keep(name, code)
    assert find_kernel(kernel) is not None


FAR = """
    import ctypes, json, mmap, sys
    import llvmlite.binding as llvm
    from varts.simulation.engine import build, machine, prebuild

    def small(level):
        target = llvm.Target.from_default_triple()
        return target.create_target_machine(cpu=level, reloc="pic", codemodel="small")

    if sys.argv[1:] == ["small"]:
        build.target_machine = small
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def reserve(size):
        "Take addresses, but no memory."
        no_reserve = 0x4000  # MAP_NORESERVE, which Python 3.11 doesn't name
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANON | no_reserve
        return libc.mmap(None, size, 0, flags, -1, 0)

    level = machine.levels()[0]
    codes = [(build.build_kernel(one, level), one.name) for one in prebuild.built_in_kernels()[:3]]
    for code, name in codes:
        for bits in (24, 20, 16):  # fill the holes in which everything would fit
            for _ in range(50):
                reserve(1 << bits)
        holes = [reserve(2 * mmap.PAGESIZE) for _ in range(40)]
        reserve(5 << 30)
        for address in holes[::2]:  # leave holes that fit constants, but no code
            libc.munmap(address, 2 * mmap.PAGESIZE)
        machine.load(code.partition(b"\\n")[2], name)
    print(json.dumps(len(codes)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="arranges the memory of a process")
def test_code_and_constants_may_be_far_apart():
    """In a process with much memory they are. The control is LLVM's small code model."""
    assert python(FAR) == 3
    with pytest.raises(AssertionError, match=r"isInt<32>|overflow|out of range"):
        python(FAR, "small")
