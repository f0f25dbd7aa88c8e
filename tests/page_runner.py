"""Runs the steps of pages for `tests/docs.py`: reads a line of JSON per page, answers with one.

This process imports everything that commands need, once. It then forks a process for the python
blocks of a page and one for each command, so that none sees the state of another and none has to
repeat the imports. Commands that need a shell run in bash. A service that a page starts gets a free
port, whatever the page says, and stops at the end of the page. Seeds and ids are fixed, because
pages set no seeds and yet show their output.
"""

import contextlib
import importlib
import io
import json
import os
import pkgutil
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from tests.fixed_secrets import fix_secrets

PLAIN = re.compile(r"varts [^|&;<>$`*?]*")  # a command that needs no shell
SERVICE = re.compile(r"(varts serve [^|&;<>$`*?]*)&")
SHOWN_PORT = ":8321"  # the port in the pages


def main():
    import_all()
    for line in sys.stdin:
        folder, steps = json.loads(line)
        os.chdir(folder)
        print(json.dumps(run_steps(steps)), flush=True)


def import_all():
    """Import all of varts, and what its commands import lazily."""
    import varts

    names = [found.name for found in pkgutil.walk_packages(varts.__path__, "varts.")]
    for name in [*names, "matplotlib.pyplot", "rich.console"]:
        if ".migrations" not in name:
            importlib.import_module(name)


def run_steps(steps):
    """The result of each step, up to the first python block that raises."""
    done = []
    with python_process() as execute_there, services() as start_service:
        for step in steps:
            if step["kind"] == "file":
                Path(step["expected"]).write_text(step["code"], encoding="utf-8")
                done.append({"code": 0, "out": step["code"], "err": ""})
            elif step["kind"] == "command" and SERVICE.fullmatch(step["code"]):
                done.append(start_service(SERVICE.fullmatch(step["code"])[1]))
            elif step["kind"] == "command":
                done.append(run_command(step["code"]))
            else:
                there = {**step, "code": step["code"].replace(SHOWN_PORT, own_port())}
                done.append(execute_there(there))
                done[-1]["out"] = done[-1]["out"].replace(own_port(), SHOWN_PORT)
                if done[-1]["err"]:
                    break
    return done


@contextlib.contextmanager
def python_process():
    """Fork a process for python blocks, with one namespace; yields a function that runs a step."""
    asked, asking = os.pipe()
    answered, answering = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(asking)
        fix_secrets()
        names = {"__name__": "__main__"}
        with open(asked) as steps, open(answering, "w") as answers:
            for line in steps:
                print(json.dumps(execute(json.loads(line), names)), file=answers, flush=True)
        os._exit(0)
    os.close(asked)
    os.close(answering)
    with open(asking, "w") as steps, open(answered) as answers:

        def ask(step):
            print(json.dumps(step), file=steps, flush=True)
            gone = '{"code": -1, "out": "", "err": "the process of the page has died"}'
            return json.loads(answers.readline() or gone)

        yield ask
    os.waitpid(pid, 0)


def execute(step, names):
    printed, error = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(step["code"], f"<line {step['line']}>", "exec"), names)
        except BaseException:
            error = traceback.format_exc()
    return {"code": 1 if error else 0, "out": printed.getvalue(), "err": error}


@contextlib.contextmanager
def services():
    """Yields a function that starts a service and waits until it prints its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        os.environ["VARTS_PORT"] = str(free.getsockname()[1])
    ends = contextlib.ExitStack()

    def start(command):
        said, saying = os.pipe()
        pid = os.fork()
        if not pid:
            os.dup2(saying, 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            fix_secrets()
            os._exit(run_varts(shlex.split(command)[1:]))
        os.close(saying)
        # Closing it earlier would break the next line that the service prints.
        lines = ends.enter_context(os.fdopen(said))
        ends.callback(os.waitpid, pid, 0)
        ends.callback(os.kill, pid, signal.SIGTERM)
        printed = lines.readline()
        code = 0 if " on http://" in printed else 1
        return {"code": code, "out": printed.replace(own_port(), SHOWN_PORT), "err": printed}

    with ends:
        yield start


def own_port():
    return f":{os.environ['VARTS_PORT']}"


def run_command(command):
    if not PLAIN.fullmatch(command):
        command = command.replace(SHOWN_PORT, own_port())
        run = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        return {"code": run.returncode, "out": run.stdout, "err": run.stderr}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        pid = os.fork()
        if not pid:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            fix_secrets()
            os._exit(run_varts(shlex.split(command)[1:]))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        out.seek(0)
        err.seek(0)
        return {"code": code, "out": out.read(), "err": err.read()}


def run_varts(arguments):
    """Run the command line; returns its exit code."""
    from varts.cli import main

    code = 1
    try:
        main(arguments)
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    main()
