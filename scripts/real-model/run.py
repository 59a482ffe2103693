#!/usr/bin/env python3
"""Lets a real language model drive the real binary, in both dialects: it reads a file and answers from
it, and runs a command and reports. No part of the tests, since nobody can be assumed to have a model.

usage: run.py MODEL.gguf [--template FILE.jinja] [--threads N] [--context TOKENS]
       run.py --url http://127.0.0.1:8080        a server that runs already, such as llama-server

The first form puts llama.cpp's server (PyPI package xllamacpp) into target/real-model. A model that
writes its calls as fenced JSON in place of its own tags, as Qwen2.5-Coder does, needs
--template scripts/real-model/fence.jinja.
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SERVER = "xllamacpp==2026.10.11549"
DIALECTS = ("anthropic", "openai")
# What is asked, which tools count, and what a right answer holds.
TASKS = [
    ("reads a file", "Use the Read tool on notes.txt. What is the door code in it?", {"Read", "Bash"}, "4711"),
    ("runs a command", "Run `wc -l list.txt` with the Bash tool and report the number of lines.", {"Bash"}, "37"),
]


def python_with_server():
    """A Python that has the server; made on first use."""
    folder = ROOT / "target" / "real-model"
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing {SERVER} into {folder} …", flush=True)
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", SERVER], check=True)
    return python


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(options):
    """Starts a server and waits until it has loaded the model."""
    port = free_port()
    log = open(ROOT / "target" / "real-model.log", "w", encoding="utf-8")
    server = subprocess.Popen(
        [python_with_server(), HERE / "serve.py", options.model, str(port), str(options.context),
         options.template, str(options.threads)],
        stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        if server.poll() is not None:
            sys.exit(f"the server ended with {server.returncode}; see {log.name}")
        try:
            urllib.request.urlopen(f"{url}/health", timeout=2).read()
            return server, url
        except OSError:
            time.sleep(0.5)
    server.terminate()
    sys.exit(f"the model was not loaded within five minutes; see {log.name}")


def binary():
    subprocess.run(["cargo", "build", "--quiet", "--release", "-p", "cli"], cwd=ROOT, check=True)
    return ROOT / "target" / "release" / "rsagent"


def ask(rsagent, url, dialect, prompt):
    """One prompt in a fresh folder and a fresh home: its events."""
    with tempfile.TemporaryDirectory() as folder:
        home, work = pathlib.Path(folder, "home"), pathlib.Path(folder, "work")
        (home / ".rsagent").mkdir(parents=True)
        work.mkdir()
        provider = {"dialect": dialect, "baseUrl": f"{url}/v1", "model": "local",
                    # The same answer each time, as far as the server goes.
                    "body": {"temperature": 0}}
        settings = {"providers": {"local": provider}}
        (home / ".rsagent" / "settings.json").write_text(json.dumps(settings))
        (work / "notes.txt").write_text("The door code is 4711.\nKeys hang in the kitchen.\n")
        (work / "list.txt").write_text("".join(f"entry {n}\n" for n in range(37)))
        ran = subprocess.run(
            [rsagent, "-p", prompt, "--provider", "local", "--tools", "minimal", "--max-turns", "6",
             "--output-format", "events"],
            cwd=work, env={"PATH": os.environ["PATH"], "HOME": str(home)}, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=900)
        if ran.stderr:
            print(ran.stderr, end="")
        return [json.loads(line) for line in ran.stdout.splitlines()]


def report(name, dialect, events, seconds, tools, wanted):
    """Prints what the model did; gives whether that was right."""
    answer, used, usage = "", set(), {}
    for event in events:
        if event["type"] == "assistant":
            for block in event["message"]["content"]:
                if block["type"] == "text":
                    answer = block["text"]
                elif block["type"] == "tool_use":
                    print(f"    calls {block['name']} {json.dumps(block['input'], ensure_ascii=False)}")
        elif event["type"] == "tool_result":
            if not event["is_error"]:
                used.add(event["name"])
            print(f"    gets {json.dumps(str(event['content'])[:120], ensure_ascii=False)}")
        elif event["type"] == "usage":
            usage = event["session"]
    end = events[-1].get("reason") if events else "nothing"
    right = end == "completed" and wanted in answer and bool(used & tools)
    print(f"    says {json.dumps(answer.strip()[:300], ensure_ascii=False)}")
    read = usage.get("input_tokens", 0) + usage.get("cache_read_input_tokens", 0)
    print(f"{'right' if right else 'WRONG'}: {name}, {dialect}: {end}, {seconds:.0f} s, "
          f"{read} tokens in, {usage.get('output_tokens', 0)} out", flush=True)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="a GGUF file of a model that knows tools")
    parser.add_argument("--url", help="a server that runs already")
    parser.add_argument("--template", default="-", help="a chat template in place of the model's own")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--context", type=int, default=8192)
    options = parser.parse_args()
    if bool(options.model) == bool(options.url):
        parser.error("name a GGUF file, or a server with --url")
    rsagent = binary()
    server, url = (None, options.url.rstrip("/")) if options.url else start(options)
    try:
        right = 0
        for dialect in DIALECTS:
            for name, prompt, tools, wanted in TASKS:
                print(f"{name}, {dialect}: {prompt}", flush=True)
                begun = time.monotonic()
                events = ask(rsagent, url, dialect, prompt)
                right += report(name, dialect, events, time.monotonic() - begun, tools, wanted)
        count = len(TASKS) * len(DIALECTS)
        print(f"{right} of {count} right")
        return 0 if right == count else 1
    finally:
        if server:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
