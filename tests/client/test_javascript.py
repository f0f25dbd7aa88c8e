"""The JavaScript client under Node, against a real service process."""

import json
import os
import re
import shutil
import subprocess
from itertools import product

import pytest

import varts
from tests.serve.processes import ROOT, serve
from varts.serve.tokens import new_token

pytestmark = pytest.mark.no_cover

FOLDER = ROOT / "clients" / "js"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


LOCAL_CELLS = {
    "features": {"country": ["NL", "BE"], "phone": ["True", "False", "missing"]},
    "holdout": 0.2,
    "hash_units": False,
}


def teach(exp):
    """Reward arms differently by country, so that the probabilities of cells differ."""
    kinds = product(("NL", "BE", "FR"), (True, False, None))
    contexts = [dict(zip(LOCAL_CELLS["features"], kind, strict=True)) for kind in kinds] * 5
    for i in range(10):
        made = exp.decide_many(contexts=contexts)
        paid = [
            float((one.arm == "red") == (known["country"] == "NL")) + (7 * j + 3 * i) % 11
            for j, (one, known) in enumerate(zip(made, contexts, strict=True))
        ]
        exp.reward_many(zip([one.id for one in made], paid, strict=True))


@needs_node
def test_the_javascript_client(tmp_path):
    secret, admin = new_token("operator", ["admin"])
    public_secret, public = new_token(
        "page", ["decide"], public=True, origins=["https://shop.example"], experiments=["banner*"]
    )
    (tmp_path / "tokens.toml").write_text(admin.to_toml() + public.to_toml())
    flags = "--token-file", str(tmp_path / "tokens.toml")
    with serve(tmp_path, *flags) as service:
        given = {"store": service.address, "token": secret}
        varts.open("price", ["9", "12", "15"], metrics=["refund"], **given).close()
        varts.open("fallback", ["9", "12"], **given).close()
        varts.open("banner", ["red", "blue"], clip=(0, 10), **given).close()
        cups = {"country": ["NL", "BE"], "visits": "number"}
        varts.open("mug", ["red", "blue"], features=cups, **given).close()
        for known, kind in (("device", ["phone", "desk"]), ("visits", "number")):
            bounded = {"clip": (0, 10), "features": {known: kind}}
            varts.open(f"banner-by-{known}", ["red", "blue"], **bounded, **given).close()
        varts.open("local", ["red", "blue"], **given).close()
        varts.open("local-again", ["red", "blue"], **given).close()
        varts.open("local-sticky", ["red", "blue"], sticky=True, **given).close()
        with varts.open("local-cells", ["red", "blue"], **given, **LOCAL_CELLS) as cells:
            teach(cells)
        varts.open("banner-local", ["red", "blue"], clip=(0, 10), **given).close()
        known = {"VARTS_URL": service.address, "VARTS_TOKEN": secret}
        done = subprocess.run(
            [NODE, "--test", "--test-reporter=tap", "varts.test.js"],
            cwd=FOLDER,
            env={**os.environ, **known, "VARTS_PUBLIC_TOKEN": public_secret},
            capture_output=True,
            text=True,
            timeout=120,
        )
        printed = [
            subprocess.run(
                [NODE, "--input-type=module", "--eval", program],
                cwd=FOLDER,
                env={**os.environ, **known},
                capture_output=True,
                text=True,
                timeout=60,
            )
            for program in programs_of_readme()
        ]
    asked, local = (one.stdout for one in printed)
    assert re.fullmatch(r"the price is (9|12|15) \(\w+\)\ntrue\nfalse\n", asked), printed
    assert re.match(r"the price is (9|12|15), with probability [\d.e-]+\n{", local), printed
    assert "recorded: 1,\n  rewarded: 1," in local
    assert done.returncode == 0, done.stdout
    text = (FOLDER / "varts.test.js").read_text()
    written = text.count("\ntest(")
    assert int(re.search(r"^# pass (\d+)$", done.stdout, re.M)[1]) > written


def programs_of_readme():
    """The two complete programs of the README."""
    text = (FOLDER / "README.md").read_text()
    blocks = re.findall(r"```js\n(.*?)```", text, re.S)
    return [block for block in blocks if 'from "./varts.js"' in block]


COMPILER = ROOT / ".typescript" / "node_modules" / "typescript" / "bin" / "tsc"


def test_the_types_are_those_of_a_compiler():
    if NODE is None or not COMPILER.exists():
        if os.environ.get("VARTS_TYPESCRIPT_REQUIRED"):
            pytest.fail("VARTS_TYPESCRIPT_REQUIRED is set: run `make typescript`")
        pytest.skip("TypeScript is not installed: run `make typescript`, which needs npm")
    options = ["--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom"]
    options += ["--module", "nodenext", "--noUncheckedIndexedAccess", "--skipLibCheck", "false"]
    done = subprocess.run(
        [NODE, str(COMPILER), *options, "types.ts"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout


def test_the_package_is_of_this_version():
    assert json.loads((FOLDER / "package.json").read_text())["version"] == varts.__version__


def test_types_and_code_name_the_same():
    """What the one exports, the other does; methods, too."""
    code, types = ((FOLDER / f"varts.{kind}").read_text() for kind in ("js", "d.ts"))
    names = r"^export (?:class|function) (\w+)"
    assert re.findall(names, code, re.M) == sorted(
        re.findall(names, types, re.M), key=lambda name: code.index(f" {name}")
    )
    for name in ("Experiment", "LocalExperiment"):
        body, declared = (
            re.search(rf"^export class {name} {{$(.*?)^}}$", text, re.M | re.S)[1]
            for text in (code, types)
        )
        methods = {name for name in re.findall(r"^  async (\w+)\(", body, re.M) if name[0] != "_"}
        assert methods == set(re.findall(r"^  (\w+)\([^;]*Promise", declared, re.M))
