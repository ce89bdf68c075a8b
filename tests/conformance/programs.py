"""Runs the programs of this folder as their users would, and collects what they noted."""
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time

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
    yield "adapter", ["--adapter", f"first={SOURCE / 'tests/golden/adapters/llama_r8'}"], [], "", TINY
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


def environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("QUIRE_")}


def command(build, name, flags, arguments):
    return [str(build / "quire"), "run", str(build / "tests/conformance" / f"{name}.wasm"), *flags, "--",
            *arguments]


def notes(code, out, err):
    out, err = (text.decode(errors="replace").splitlines() for text in (out, err))
    return code, [line for line in out if line.startswith(("CALL ", "FAIL "))], out[-20:] + err[-20:]


def run(build, name, flags, arguments, text, model):
    """(exit code, lines that it noted, what else it said)"""
    if "--store" not in flags:
        flags = [*flags, "--no-store"]
    flags = ["--model", str(model), "--kv-pages", "64", *flags]
    result = subprocess.run(command(build, name, flags, arguments), input=text.encode(), check=False,
                            capture_output=True, env=environment(), timeout=LIMIT_SECONDS)
    return notes(result.returncode, result.stdout, result.stderr)


def send(port, path, body, headers=(), count=None):
    """(status, header lines, body) of a response; with a count the client leaves after so many bytes."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_SECONDS)
    connection.request("POST", path, body, dict(headers))
    response = connection.getresponse()
    received = response.read(count)
    response.close()
    connection.close()
    return response.status, dict(response.getheaders()), received


def serve_requests(port):
    """Sends the requests that serve.cpp answers; what was wrong with the responses, as lines."""
    wrong = []
    status, headers, body = send(port, "/whole?x=1", b"a" * 100_000, {"X-One": "1"})
    if (status, body, headers.get("x-two")) != (200, b"helloworld", "2"):
        wrong.append(f"serve whole: the client got {status} {headers} {body!r}")
    status, headers, body = send(port, "/flood", b"")
    if status != 200 or b"aawhen there is room" not in body or not body.startswith(b"a" * 65_536):
        wrong.append(f"serve flood: the client got {status} and {len(body)} bytes")
    # The client leaves in the middle of its request, once the response has begun.
    status, headers, body = send(port, "/gone", b"hello", {"Content-Length": "10"}, 2)
    if (status, body) != (200, b"go"):
        wrong.append(f"serve gone: the client got {status} {body!r}")
    return wrong


def wait_for_instance(build, url):
    end = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < end:
        status = subprocess.run([str(build / "quire"), "status", "--server", url, "--json"], check=True,
                                capture_output=True, env=environment())
        if json.loads(status.stdout)["instance_count"] > 0:
            return
        time.sleep(0.02)


def run_served(build):
    """As run(), of serve.wasm as a server launches it for requests, and lines about wrong responses."""
    module = build / "tests/conformance/serve.wasm"
    serve = [str(build / "quire"), "serve", "--listen", "127.0.0.1:0", "--model", str(TINY), "--kv-pages",
             "64", "--no-store", "--explain-misses"]
    for name in ("whole", "flood", "gone"):
        serve += ["--endpoint", f"POST /{name}={module} {name}"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment()) as server:
        try:
            url = re.search(r"ws://127\.0\.0\.1:(\d+)", server.stdout.readline())
            if not url:
                server.kill()
                return 1, [], server.stderr.read().splitlines(), ["serve: the server does not start"]
            # This program collects the notes of all, and waits from the beginning: the tenant's messages go
            # with its last program.
            with subprocess.Popen(command(build, "serve", ["--server", url.group(0)], ["noted"]),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=environment()) as collector:
                wait_for_instance(build, url.group(0))
                wrong = serve_requests(int(url.group(1)))
                out, err = collector.communicate(timeout=LIMIT_SECONDS)
                noted = notes(collector.returncode, out, err)
        finally:
            server.kill()
        return *noted, wrong


def outcomes(build):
    """{call: {outcome}} of all programs, and what went wrong as lines."""
    server, port = http_peer.start()
    tested, wrong = {}, []
    with tempfile.TemporaryDirectory() as folder, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # The port refuses connections.
        folder = pathlib.Path(folder)
        every = [(name, arguments, run(build, name, flags, arguments, text, model)) for
                 name, flags, arguments, text, model in runs(folder, port, closed.getsockname()[1])]
        *served, wrong_responses = run_served(build)
        wrong += wrong_responses
        for name, arguments, (code, noted, said) in [*every, ("serve", ["noted"], served)]:
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
