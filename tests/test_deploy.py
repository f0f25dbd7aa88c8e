"""The files of deploy/ are for this version: their flags are parsed, their files exist, their probe
runs, their numbers agree. What needs Docker, Caddy or Prometheus is read as text."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import cyclopts
import pytest
import yaml

from tests.serve.clients import Serving
from tests.serve.processes import serve
from varts.cli.serve import serve as command
from varts.live.store.postgres import MOST_CONNECTIONS
from varts.serve import app, background, server, telemetry
from varts.serve.settings import Settings
from varts.serve.telemetry import Metrics
from varts.serve.tokens import new_token

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
DEFAULT = Settings()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def settings_of(tmp_path, monkeypatch):
    """What `varts serve` would be told by these flags, read by the command line itself."""
    (tmp_path / "store-url").write_text("postgresql://varts:word@database/varts\n")

    def parse(flags):
        found = []
        monkeypatch.setattr(server, "serve", found.append)
        told = [re.sub(r"[^=]+/store-url", f"{tmp_path}/store-url", flag) for flag in flags]
        command(told, exit_on_error=False, print_error=False, result_action="return_value")
        return found[0]

    return parse


def test_a_flag_that_is_not_there_is_noticed(settings_of):
    """A negative control of the tests below."""
    with pytest.raises(cyclopts.UnknownOptionError, match="--worker"):
        settings_of(["--workers=4"])
    with pytest.raises(ValueError, match="token_file must be given"):
        settings_of(["--host", "0.0.0.0"])


def test_the_page_knows_how_many_connections_there_can_be():
    """The store has a pool, and every process that reads a long log has a connection of its own."""
    most = MOST_CONNECTIONS + background.WORKERS
    assert f"when it is idle and {most} at most" in (ROOT / "docs" / "deploying.md").read_text()


def test_the_page_has_every_limit_with_its_default():
    page = (ROOT / "docs" / "deploying.md").read_text()
    rows = re.findall(r"(?m)^\| (.+) \|(.*)\| (.+) \|$", page.split("## Limits")[1])
    shown = {flag.strip(" `"): default for _, flag, default in rows if "--" in flag}
    units = {"timeout": " s", "drain": " s", "bytes": " bytes"}
    for flag, default in shown.items():
        name = flag.removeprefix("--").replace("-", "_")
        unit = units.get(name.rpartition("_")[2], "")
        assert default == f"{getattr(DEFAULT, name):,g}{unit}"
    limits = {name for name in vars(DEFAULT) if name.startswith("max_") or "timeout" in name}
    assert {f"--{name.replace('_', '-')}" for name in limits} < set(shown)
    others = {what: default for what, flag, default in rows if not flag.strip()}
    assert others["number of headers"] == f"{server.MOST_HEADERS}"
    ahead = "requests sent before the response to an earlier one"
    assert others[ahead] == f"{server.MOST_PIPELINED}"
    assert others["size of the body"] == f"{app.LARGEST_BODY:,} bytes"
    window = f"in {telemetry.WINDOW_SECONDS:g} s"
    assert f"{telemetry.MOST_LINES} {window}" in others.values()
    assert f"{telemetry.MOST_REQUESTS:,} {window}" in others.values()
    assert f"keeps {server.RESERVED_FILES} for the store" in page


# ------------------------------------------------------------------------------ Docker


@pytest.fixture
def dockerfile():
    """Its instructions, in order: [(word, rest)]."""
    text = (DEPLOY / "Dockerfile").read_text()
    text = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", text))
    return [tuple(line.split(maxsplit=1)) for line in text.splitlines() if line]


def last(dockerfile, word):
    return [rest for name, rest in dockerfile if name == word][-1]


def test_the_image_is_made_of_files_that_exist_and_installs_extras_that_exist(dockerfile):
    copied = [rest.split() for name, rest in dockerfile if name == "COPY" and "--from" not in rest]
    sources = [source for *sources, _ in copied for source in sources]
    assert {"pyproject.toml", "constraints.txt", "src"} <= set(sources)
    assert all((ROOT / source).exists() for source in sources)
    assert PROJECT["readme"] in sources and set(PROJECT["license-files"]) <= set(sources)
    (extras,) = (m[1] for _, rest in dockerfile if (m := re.search(r"'\.\[(.+?)\]'", rest)))
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    images = [rest.split()[0] for name, rest in dockerfile if name == "FROM"]
    assert images == ["python:3.12-slim"] * 2


def test_the_image_does_not_run_as_root_and_listens_where_it_says(dockerfile, settings_of):
    words = [name for name, _ in dockerfile]
    assert last(dockerfile, "USER") == "varts" and "useradd" in str(dockerfile)
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert int(last(dockerfile, "EXPOSE")) == DEFAULT.port
    assert json.loads(last(dockerfile, "ENTRYPOINT")) == ["varts", "serve"]
    told = settings_of(json.loads(last(dockerfile, "CMD")))
    assert (told.host, told.log) == ("0.0.0.0", "json") and told.token_file is not None


def test_the_probe_of_the_image_tells_a_service_that_is_ready_from_one_that_is_not(
    dockerfile, tmp_path
):
    _, program = last(dockerfile, "HEALTHCHECK").split("CMD ")
    python, flag, code = json.loads(program)
    assert (python, flag) == ("python", "-c") and f":{DEFAULT.port}/readyz" in code

    def probe(port):
        asked = code.replace(str(DEFAULT.port), str(port))
        return subprocess.run([sys.executable, "-c", asked], capture_output=True).returncode

    _, token = new_token("operator", ["admin"])
    (tmp_path / "tokens").write_text(token.to_toml())
    with serve(tmp_path, "--token-file", "tokens") as process:
        port = process.address.rpartition(":")[2]
        assert probe(port) == 0
    assert probe(port) == 1
    with HTTPServer(("127.0.0.1", 0), Unready) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert probe(server.server_port) == 1
        thread.join()


class Unready(BaseHTTPRequestHandler):
    """What a service answers whose store is away."""

    def do_GET(self):
        self.send_response(503)
        self.end_headers()

    def log_message(self, *words):
        pass


# ------------------------------------------------------------------------------ Compose


@pytest.fixture
def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def seconds(text):
    return float(text[:-1]) * {"s": 1, "m": 60}[text[-1]]


def test_what_compose_mentions_is_there(compose):
    services = compose["services"]
    assert set(services) == {"database", "varts", "proxy"}
    for one in services.values():
        assert set(one.get("secrets", ())) <= set(compose["secrets"])
        assert set(one.get("depends_on", ())) <= set(services)
        assert one["restart"] == "unless-stopped"
        for volume in one.get("volumes", ()):
            source = volume.split(":")[0]
            known = (DEPLOY / source).exists() if source.startswith(".") else None
            assert known or source in compose["volumes"]
    build = services["varts"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    assert "ports" not in services["varts"] and "ports" not in services["database"]


def test_compose_starts_a_service_that_would_start(compose, settings_of):
    ours = compose["services"]["varts"]
    flags = [re.sub(r"\$\{SITE.*\}", "varts.example.com", flag) for flag in ours["command"]]
    told = settings_of(flags)
    (network,) = compose["networks"]["default"]["ipam"]["config"]
    assert told.trusted_proxies == (network["subnet"],)
    assert told.public_url == "https://varts.example.com" and told.is_secure
    assert told.store == "postgresql://varts:word@database/varts"
    assert seconds(ours["stop_grace_period"]) > told.drain
    upstream = compose["services"]["proxy"]["environment"]["UPSTREAM"]
    assert upstream == f"varts:{told.port}"
    assert f"/run/secrets/{Path(told.token_file).name}" == str(told.token_file)
    assert Path(told.token_file).name in ours["secrets"]


def test_nothing_in_the_containers_grows_without_a_limit(compose):
    """An unlimited tmpfs takes all memory, and an unlimited log the whole disk."""
    for one in compose["services"].values():
        assert set(one["logging"]["options"]) == {"max-size", "max-file"}
    ours = compose["services"]["varts"]
    assert ours["read_only"] and all(":size=" in place for place in ours["tmpfs"])
    files = ours["ulimits"]["nofile"]["hard"]
    assert files - server.RESERVED_FILES >= DEFAULT.max_connections


def test_the_proxy_closes_idle_connections_before_the_service_does():
    text = (DEPLOY / "Caddyfile").read_text()
    assert seconds(re.search(r"keepalive (\w+)", text)[1]) < DEFAULT.idle_timeout
    assert f"which is {DEFAULT.idle_timeout:g} s" in text
    assert "max_header_size 64kb" in text and DEFAULT.max_header_bytes == 64_000
    assert "max_size 1MB" in text and app.LARGEST_BODY == 1_000_000


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_if_match_works_behind_the_proxy(encoding):
    """Caddy appends the encoding to ETags, and passes If-Match on as it is."""
    assert re.search(r"(?m)^\tencode$", (DEPLOY / "Caddyfile").read_text())
    path = "/v1/experiments/price"
    with Serving("memory://") as serving:
        tag = serving.ask("PUT", path, {"arms": ["9", "12"]}).headers["etag"]
        behind = {"If-Match": f'{tag[:-1]}-{encoding}"'}
        serving.ok("PATCH", path, {"floor": 0.1}, headers=behind)
        assert serving.ask("PATCH", path, {"floor": 0.2}, headers=behind).status_code == 412


def test_the_proxy_asks_the_port_that_is_listened_on(compose):
    text = (DEPLOY / "Caddyfile").read_text()
    assert text.count("{") == text.count("}")
    assert f"{{$UPSTREAM:127.0.0.1:{DEFAULT.port}}}" in text
    used = set(re.findall(r"\{\$(\w+)", text))
    assert used == set(compose["services"]["proxy"]["environment"])


# ------------------------------------------------------------------------------ systemd


@pytest.fixture
def unit():
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(DEPLOY / "varts.service")
    return parser


def test_the_unit_starts_a_service_that_would_start_and_starts_it_again(unit, settings_of):
    section = unit["Service"]
    program, verb, *flags = shlex.split(section["ExecStart"])
    assert (Path(program).name, verb) == ("varts", "serve")
    told = settings_of([flag.replace("%d", "/credentials") for flag in flags])
    assert told.host == DEFAULT.host and told.trusted_proxies == ("127.0.0.1",)
    assert str(told.token_file).startswith("/etc/")  # where SIGHUP finds what is there now
    assert section["Restart"] == "always" and unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert float(section["TimeoutStopSec"]) > told.drain
    assert "-HUP" in section["ExecReload"]
    assert section["User"] != "root" and section["CapabilityBoundingSet"] == ""


def test_the_unit_may_open_enough_files(unit):
    files = int(unit["Service"]["LimitNOFILE"])
    assert files - server.RESERVED_FILES >= DEFAULT.max_connections


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_the_unit_allows_the_system_calls_that_the_service_needs():
    """It forbade nice, so that plans and the charts of long logs failed."""
    allowed = set()
    for line in re.findall(r"(?m)^SystemCallFilter=(.+)", (DEPLOY / "varts.service").read_text()):
        calls = {call for name in line.removeprefix("~").split() for call in calls_of(name)}
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    assert {"nice", "setpriority", "prlimit64", "accept4", "execve"} <= allowed
    assert not {"sched_setscheduler", "mount", "chroot"} & allowed


def calls_of(name):
    """The system calls of a set like @resources, or the one of this name."""
    if not name.startswith("@"):
        return {name}
    listed = subprocess.run(
        ["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True
    )
    names = re.findall(r"(?m)^    ([@\w-]+)", listed.stdout)
    return {call for one in names for call in calls_of(one)}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    def analyse(text):
        path = tmp_path / "varts.service"
        path.write_text(text.replace("/opt/varts/bin/varts", sys.executable))
        verify = ["systemd-analyze", "verify", str(path)]
        found = subprocess.run(verify, capture_output=True, text=True)
        rate = ["systemd-analyze", "security", "--offline=true", "--threshold=20", str(path)]
        return found.returncode == 0 and not found.stderr, subprocess.run(
            rate, capture_output=True
        ).returncode == 0  # an exposure of at most 2.0 of 10

    text = (DEPLOY / "varts.service").read_text()
    assert analyse(text) == (True, True)
    assert not analyse(text.replace("Restart=always", "Restart=perhaps"))[0]
    assert not analyse(re.sub(r"(?m)^(Protect|Restrict|Private|Capab|System).*\n", "", text))[1]


# ------------------------------------------------------------------------------ alarms


def test_alarms_are_about_what_is_counted():
    counted = set(re.findall(r"(?m)^# TYPE (\w+)", Metrics().text().decode()))
    (group,) = yaml.safe_load((DEPLOY / "alarms.yaml").read_text())["groups"]
    assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"]) >= 8
    for rule in group["rules"]:
        used = {name.removesuffix("_bucket") for name in re.findall(r"varts_\w+", rule["expr"])}
        assert used <= counted, used - counted
        assert used or 'up{job="varts"}' in rule["expr"]
        assert rule["annotations"]["summary"].endswith(".")
    assert "varts_nothing_total" not in counted
