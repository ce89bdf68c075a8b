#!/usr/bin/env python3
"""Lets the coding agent opencode work through a server of endpoints, and prints the hit rate of each of its turns.

    bench/serving/coding_agent.py --model qwen2.5-coder-1.5b-instruct-q4_k_m.gguf --record FILE.jsonl
                                  [--build build/release] [--set '{"tool_choice": "required"}']

The agent (tools/fetch_clients.sh agents) has a home and a folder of its own, with two small files, and is asked the QUESTIONS
one after another in one session. It speaks chat completions. recording_proxy.py writes down its requests; --set puts
members into them.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from recording_proxy import RecordingProxy  # noqa: E402
from server_process import ROOT, ServerProcess  # noqa: E402
import scenarios  # noqa: E402

CLIENTS = pathlib.Path(os.environ.get("QUIRE_CLIENTS") or pathlib.Path.home() / ".cache" / "quire-clients")
AGENT = CLIENTS / "node" / "node_modules" / "opencode-linux-x64" / "bin" / "opencode"
QUESTION_SECONDS = 300
QUESTIONS = (
    "Read the file add.py with the read tool.",
    "List the files here that end in .py with the glob tool.",
    "Say in one sentence what add.py does.",
)
FILES = {"add.py": "def add(a, b):\n    return a + b\n", "main.py": "from add import add\n\nprint(add(3, 4))\n"}


def settings(url, model):
    """The settings of the agent: our server alone, and nothing that asks the network."""
    return {
        "autoupdate": False, "share": "disabled", "model": f"quire/{model}", "small_model": f"quire/{model}",
        # A prompt of 1,000 tokens rather than 8,000, which a CPU computes in a minute.
        "tools": {"*": False, "read": True, "glob": True},
        "agent": {"build": {"prompt": "You are a coding agent. Answer briefly. Use the tools to look at files."},
                  "title": {"disable": True}},
        "provider": {"quire": {"npm": "@ai-sdk/openai-compatible", "name": "Quire",
                               "options": {"baseURL": url + "/v1", "apiKey": "none", "timeout": False},
                               "models": {model: {"name": model, "tool_call": True,
                                                  "limit": {"context": 32768, "output": 256}}}}},
    }


def ask(agent, folder, home, question, is_first):
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "OPENCODE_DISABLE_AUTOUPDATE": "1",
                   "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    ran = subprocess.run([agent, "run", *([] if is_first else ["--continue"]), question], cwd=folder, env=environment,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         timeout=QUESTION_SECONDS)
    print(f"> {question}\n{ran.stdout.strip()}\n", flush=True)
    return ran.returncode


def turns_of(record):
    """A row for each request: what it asked, what it found, and what came of it."""
    for line in record.read_text().splitlines():
        turn = json.loads(line)
        usage = turn["usage"] or {"prompt_tokens": 0, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}
        cached = usage["prompt_tokens_details"]["cached_tokens"]
        yield {"status": turn["status"], "messages": len(turn["body"]["messages"]), "tools": len(turn["body"].get("tools", [])),
               "prompt": usage["prompt_tokens"], "found": cached,
               "hit_rate": round(cached / max(1, usage["prompt_tokens"]), 3), "answer": usage["completion_tokens"],
               "calls": [call["name"] for call in turn["calls"]], "first_seconds": turn["first_seconds"],
               "seconds": turn["seconds"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--record", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--set", default="{}", help="members of each request, as JSON")
    arguments = parser.parse_args()
    if not AGENT.exists():
        sys.exit(f"no agent {AGENT}: tools/fetch_clients.sh agents installs it")
    with tempfile.TemporaryDirectory() as scratch, arguments.record.open("w") as file, \
            ServerProcess(arguments.build / "quire", ["--model", arguments.model, "--no-store"]) as server:
        home, folder = pathlib.Path(scratch) / "home", pathlib.Path(scratch) / "work"
        home.mkdir()
        folder.mkdir()
        for name, text in FILES.items():
            (folder / name).write_text(text)
        proxy = RecordingProxy(f"http://{server.host}:{server.port}", file, json.loads(arguments.set))
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        (folder / "opencode.json").write_text(json.dumps(settings(proxy.url, scenarios.first_model(server))))
        codes = [ask(AGENT, folder, home, question, i == 0) for i, question in enumerate(QUESTIONS)]
        proxy.shutdown()
    for turn in turns_of(arguments.record):
        print(json.dumps(turn))
    sys.exit(max(codes))


if __name__ == "__main__":
    main()
