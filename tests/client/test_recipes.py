"""The JavaScript of docs/recipes.md, under Node, against a real service process."""

import json
import os
import re
import shutil
import subprocess

import pytest

import varts
from tests.serve.processes import ROOT, serve
from varts.serve.tokens import new_token

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
]

CLIENT = ROOT / "clients/js/varts.js"
ORIGIN = "https://shop.example"
PAGE = """
globalThis.document = {
  body: { dataset: {} },
  querySelector: () => ({ addEventListener: (_, act) => { globalThis.order = act; } }),
};
const send = globalThis.fetch;
globalThis.fetch = (address, options) =>
  send(address, { ...options, headers: { ...options.headers, Origin: "ORIGIN" } });
RECIPE
globalThis.order();
await banner.close();
console.log(JSON.stringify({ shown: document.body.dataset.banner, ...banner.stats() }));
"""
WORKER = """
const kept = new Map(), running = [];
globalThis.caches = { default: {
  match: async (address) => kept.get(address)?.clone(),
  put: async (address, answer) => { kept.set(address, answer); },
} };
RECIPE
const visit = (path, headers) => {
  const context = { waitUntil: (work) => running.push(work) };
  return worker.fetch(new Request(`ORIGIN${path}`, { headers }), process.env, context);
};
for (let visitor = 0; visitor < 20; visitor += 1) {
  const page = await visit("/", {});
  await Promise.all(running); // the decision has been sent
  const [Cookie] = page.headers.get("Set-Cookie").split(";");
  if (visitor % 2) await visit("/thanks", { Cookie });
}
await Promise.all(running);
console.log(JSON.stringify({ requests: kept.size }));
"""


def recipe(heading):
    """The first JavaScript block below a heading."""
    text = (ROOT / "docs/recipes.md").read_text(encoding="utf-8")
    below = text.split(f"\n### {heading}\n")[1]
    return re.search(r"```js\n(.*?)```", below, re.S)[1].replace("./varts.js", CLIENT.as_uri())


def run(folder, program, **known):
    """Run a program and return what it prints, which is JSON."""
    path = folder / "recipe.mjs"
    path.write_text(program.replace("ORIGIN", ORIGIN), encoding="utf-8")
    done = subprocess.run(
        ["node", path], env={**os.environ, **known}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_web_page(tmp_path):
    secret, token = new_token("page", ["decide"], public=True, origins=[ORIGIN])
    (tmp_path / "tokens.toml").write_text(token.to_toml())
    store = f"sqlite:///{tmp_path / 'varts.db'}"
    with varts.open("banner", ["red", "blue"], store=store, clip=(0, 1)) as exp:
        with serve(tmp_path, "--token-file", str(tmp_path / "tokens.toml")) as service:
            told = recipe("A web page").replace("https://varts.example.com", service.address)
            found = run(tmp_path, PAGE.replace("RECIPE", told.replace("varts_...", secret)))
        assert found["shown"] in exp.arms
        assert (found["recorded"], found["rewarded"], found["waiting"]) == (1, 1, 0)
        assert exp.report().frame["n"].sum() == 1


def test_the_edge_of_a_cdn(tmp_path):
    store = f"sqlite:///{tmp_path / 'varts.db'}"
    with varts.open("layout", ["old", "new"], store=store) as exp:
        with serve(tmp_path, "--no-auth") as service:
            told = recipe("At the edge of a CDN").replace("export default", "const worker =")
            found = run(
                tmp_path, WORKER.replace("RECIPE", told), VARTS_URL=service.address, VARTS_TOKEN="x"
            )
        assert found == {"requests": 1}
        exp.export(tmp_path / "log.ndjson")
        log = [json.loads(line) for line in (tmp_path / "log.ndjson").read_text().splitlines()]
        assert [row["reason"] for row in log] == ["local"] * 20
        assert sum(row["reward"] == 1.0 for row in log) == 10
