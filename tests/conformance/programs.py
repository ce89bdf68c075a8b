"""Runs the programs of this folder as their users would, and collects what they noted."""
import os
import pathlib
import json
import socket
import subprocess
import tempfile

import http_peer

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
TINY = SOURCE / "tests" / "golden" / "tiny_llama"
LIMIT_SECONDS = 600  # Of one run; with sanitizers they take a minute.
TEMPLATE = ("{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
            "{% if add_generation_prompt %}assistant:{% endif %}")


def chat_model(folder):
    """The tiny model with a template for chats."""
    model = folder / "chat_model"
    model.mkdir()
    for file in TINY.iterdir():
        if file.name != "tokenizer_config.json":
            (model / file.name).symlink_to(file)
    about = json.loads((TINY / "tokenizer_config.json").read_text())
    (model / "tokenizer_config.json").write_text(json.dumps(about | {"chat_template": TEMPLATE}))
    return model


def runs(folder, port, closed_port):
    """(program, flags, arguments, standard input, model) for each run."""
    file = folder / "in.bin"
    file.write_bytes(bytes(1_500_000))
    grants = ["--allow-http", f"127.0.0.1:{port}", "--allow-http", f"127.0.0.1:{closed_port}"]
    at = f"http://127.0.0.1:{port}"
    store = ["--store", str(folder / "store")]
    for name in ("absent_traits", "allocate", "constraint", "draw", "forward", "future", "messaging",
                 "models", "queue"):
        yield name, [], [], "", TINY
    yield "context", store, ["store"], "", TINY
    yield "context", [], [], "", TINY
    yield "input", [], ["chat"], "", chat_model(folder)
    yield "input", [], [], "", TINY
    yield "net", grants, [at, f"http://127.0.0.1:{closed_port}/"], "", TINY
    yield "net", [], ["denied"], "", TINY
    yield "output", [], [], "", TINY
    yield "runtime", [], ["one"], "", TINY
    yield "serve", [], [], "", TINY
    yield "session", ["--send-file", str(file)], ["client"], "a line\n", TINY
    yield "store", store, ["store"], "", TINY
    yield "store", [], [], "", TINY


def run(build, name, flags, arguments, text, model):
    """(exit code, lines that it noted, what else it said)"""
    if "--store" not in flags:
        flags = [*flags, "--no-store"]
    command = [str(build / "quire"), "run", str(build / "tests/conformance" / f"{name}.wasm"),
               "--model", str(model), "--kv-pages", "64", *flags, "--", *arguments]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("QUIRE_")}
    result = subprocess.run(command, input=text.encode(), capture_output=True, check=False,
                            env=environment, timeout=LIMIT_SECONDS)
    out = result.stdout.decode(errors="replace").splitlines()
    noted = [line for line in out if line.startswith(("CALL ", "FAIL "))]
    return result.returncode, noted, out[-20:] + result.stderr.decode(errors="replace").splitlines()[-20:]


def outcomes(build):
    """{call: {outcome}} of all programs, and what went wrong as lines."""
    server, port = http_peer.start()
    tested, wrong = {}, []
    with tempfile.TemporaryDirectory() as folder, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # Nobody listens there.
        folder = pathlib.Path(folder)
        for name, flags, arguments, text, model in runs(folder, port, closed.getsockname()[1]):
            code, noted, said = run(build, name, flags, arguments, text, model)
            failed = [line for line in noted if line.startswith("FAIL ")]
            wrong += [f"{name} {' '.join(arguments)}: {line}" for line in failed]
            if code != 0 and not failed:
                wrong += [f"{name} {' '.join(arguments)}: exit code {code}", *said]
            for line in noted:
                if line.startswith("CALL "):
                    _, call, outcome = line.split()
                    tested.setdefault(call, set()).add(outcome)
        code, noted, said = run(build, "wrong_expectations", [], [], "", TINY)
        count = sum(line.startswith("FAIL ") for line in noted)
        if code == 0 or count != 7:
            wrong += [f"wrong_expectations: {count} of 7 mistakes noticed, exit code {code}", *said]
    server.shutdown()
    return tested, wrong
