#!/usr/bin/env python3
"""docs/reference/routes.md: what each route answers to no key, a wrong one, another tenant's, the tenant's own and the
operator's, asked of a server. `QUIRE_BUILD=build/release python3 tests/access/routes_test.py --write` writes it.
"""
import asyncio
import hashlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("tests/hostile", "clients/python", "tests/endpoints"):
    sys.path.insert(0, str(ROOT / folder))

import beside  # noqa: E402
import harness  # noqa: E402

import quire  # noqa: E402

BUILD = pathlib.Path(os.environ.get("QUIRE_BUILD", ROOT / "build/release")).resolve()
ADAPTERS = ROOT / "tests/golden/adapters"
DOCUMENT = ROOT / "docs/reference/routes.md"
PATIENCE = 60.0
RIGHTS = ("--rights", "launch,upload,name-programs,load-adapters,see-tenant")
WRONG = "qk_" + "A" * 43
COLUMNS = ("no key", "wrong key", "another tenant's", "the tenant's", "the operator's")
HEAD = """<!-- Written by tests/access/routes_test.py --write, from the answers of a server. Do not edit. -->

# Routes of a server with keys

What `quire serve --keys` answers to each request, by the key that the request has ([access](../operate/access.md)). The keys of
both tenants have the rights launch, upload, name-programs, load-adapters and see-tenant; the operator's has operate.
Requests to endpoints have the least body that is answered. `tests/access/routes_test.py` asks each of them.

## HTTP

A number is the status. Only `/health`, `/health/live` and `/health/ready` need no key. The response of `/v1/responses/*` is the first
tenant's, except for POST, which counts the tokens of a request. POST below `models` and `tunedModels` is `NAME:generateContent`.

"""
VERBS_HEAD = """
## Verbs of a WebSocket

Without a key that the server knows no WebSocket opens (401). After that each verb has its own answer: `ok`, or the code of
the error. "Its" program and instance are the first tenant's, so the column "another tenant's" shows what tenants see of one
another.

"""
CHAT = {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1}
RESPONSE = {"input": "x", "max_output_tokens": 1}
GEMINI = {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"maxOutputTokens": 1}}
BODIES = {"/v1/chat/completions": CHAT, "/v1/messages": CHAT,
          "/v1/messages/count_tokens": {"messages": CHAT["messages"]},
          "/v1/completions": {"prompt": "x", "max_tokens": 1}, "/v1/embeddings": {"input": "x"},
          "/v1/responses": RESPONSE, "/v1/responses/input_tokens": {"input": "x"},
          "/tokenize": {"content": "x"}, "/detokenize": {"tokens": [1]},
          "/v1beta/models/*": GEMINI, "/v1beta/tunedModels/*": GEMINI, "/v1/models/*": GEMINI,
          "/apply-template": {"messages": CHAT["messages"]},
          "/v1/load_lora_adapter": {"lora_name": "a", "lora_path": "llama_r1"}, "/v1/unload_lora_adapter": {"lora_name": "a"}}


def digest_of(wasm):
    return "sha256:" + hashlib.sha256(wasm).hexdigest()


def module(number):
    """A module that no other test has: an entry that does nothing, and a custom section."""
    name = f"m{number}".encode()
    entry = bytes.fromhex("0104016000000302010007") + bytes([10, 1, 6]) + b"_start" + bytes.fromhex("00000a040102000b")
    return b"\0asm\1\0\0\0" + entry + bytes([0, len(name) + 1, len(name)]) + name


class Routes:
    """A server with keys, and what it answers."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.keys_file = self.folder / "keys.txt"
        self.keys = {"no key": "", "wrong key": WRONG, "another tenant's": self.add("bob", "--tenant", "2", *RIGHTS),
                     "the tenant's": self.add("alice", "--tenant", "1", *RIGHTS),
                     "the operator's": self.add("admin", "--rights", "operate")}
        model = harness.tiny_endpoint_model(self.folder)
        self.server = beside.Server(BUILD, ["--keys", str(self.keys_file), "--tenant", "1=weight:1",
                                            "--adapters", str(ADAPTERS), str(BUILD / "tests/end_to_end/echo.wasm")],
                                    model=model, has_endpoints=True, store=self.folder / "store")
        self.address = urllib.parse.urlparse(self.server.url).netloc
        models = json.loads(self.ask("GET", "/v1/models", self.keys["the operator's"])[1])
        self.model = models["data"][0]["id"]

    def add(self, name, *flags):
        added = subprocess.run([BUILD / "quire", "keys", "add", name, "--keys", self.keys_file, *flags], check=True,
                               stdout=subprocess.PIPE, text=True, env=beside.environment())
        return added.stdout.strip()

    # ---- HTTP.

    def ask(self, method, path, key, body=None):
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
        try:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            named = body if body is None or "lora_name" in body else {"model": self.model, **body}
            data = json.dumps(named).encode() if named is not None else None
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def places(self):
        """(method, path) of all that the server says it has, and of some that it has not."""
        about = json.loads(self.ask("GET", "/", self.keys["the operator's"])[1])
        for each in about["endpoints"]:
            yield each.split(" ")
        yield from (("GET", "/"), ("GET", "/health"), ("POST", "/health"), ("GET", "/health/live"), ("GET", "/health/ready"),
                    ("POST", "/v1/load_lora_adapter"), ("POST", "/v1/unload_lora_adapter"), ("GET", "/metrics"), ("GET", "/nothing"), ("GET", "/health/nothing"), ("DELETE", "/v1/chat/completions"))

    def meant(self, method, path):
        """A path that is there. A response is one that the tenant keeps, and no request before has deleted."""
        if (method, path) == ("POST", "/v1/responses/*"):
            return "/v1/responses/input_tokens"
        if path == "/v1/responses/*":
            kept = self.ask("POST", "/v1/responses", self.keys["the tenant's"], RESPONSE)
            return "/v1/responses/" + json.loads(kept[1])["id"]
        is_method = method == "POST" and path in BODIES and path.endswith("/*")
        return path.replace("*", self.model) + (":generateContent" if is_method else "")

    def http_rows(self):
        rows = []
        for method, told in self.places():
            statuses = []
            for column in COLUMNS:
                path = self.meant(method, told)
                body = BODIES.get(path, BODIES.get(told)) if method == "POST" else None
                statuses.append(str(self.ask(method, path, self.keys[column], body)[0]))
            rows.append([f"`{method} {told}`", *statuses])
        upgrades = [asyncio.run(self.upgrade(self.keys[each])) for each in COLUMNS]
        return [*rows, ["WebSocket at `/`", *upgrades]]

    async def upgrade(self, key):
        try:
            async with quire.Client(self.server.url, key=key):
                return "101"
        except quire.ConnectionLost as error:
            return str(error).split("HTTP status ")[1][:3]

    # ---- Verbs.

    async def verb_rows(self):
        """Each row has a program and an instance of the tenant anew."""
        rows = []
        number = 0
        for verb, what in VERBS:
            cells = []
            for column in COLUMNS[2:]:
                number += 1
                cells.append(await self.ask_verb(VERBS[verb, what], self.keys[column], number))
            rows.append([f"`{verb}`" + (f" {what}" if what else ""), "401", "401", *cells])
        return rows

    async def ask_verb(self, asks, key, number):
        async with quire.Client(self.server.url, key=self.keys["the tenant's"]) as owner:
            program = await owner.upload(module(number), name="its")
            detached = await owner.launch("echo", detached=True)
            await detached.detach()
            await owner.add_adapter("its", "llama_r8")
            async with quire.Client(self.server.url, key=key) as client:
                try:
                    answer = await asks(client, program, detached.info, number)
                except quire.QuireError as error:
                    answer = error.code
            async with quire.Client(self.server.url, key=self.keys["the operator's"]) as admin:
                await end(await admin.attach(detached.name))
            return answer or "ok"


async def end(instance):
    try:
        await instance.abort()
    except quire.NotFound:  # It has ended by itself.
        pass


async def find(client, program):
    state = (await client.find_program(program)).state
    return "ok" if state == "ready" else state


async def launch(client, program, tenant=0):
    await end(await client.launch(program, tenant=tenant))


async def with_own(client, act):
    instance = await client.launch("echo")
    await act(instance)


async def send_file(client):
    instance = await client.launch("echo")
    await instance.send_file(b"x", name="a.txt")
    await instance.abort()


async def status(client, detail):
    told = await client.status(detail=detail)
    if not detail:
        return "ok, whole" if told.page_count else "ok, its tenant's"
    numbers = sorted(each["tenant"] for each in told.detail["tenants"])
    return "ok, tenants " + ", ".join(map(str, numbers))


VERBS = {
    ("find_program", "its program by digest"): lambda client, program, *_: find(client, program),
    ("find_program", "its program by name"): lambda client, *_: find(client, "its"),
    ("find_program", "the operator's program"): lambda client, *_: find(client, "echo"),
    ("upload", "a new program"): lambda client, program, its, number: no_more(
        client.upload(module(100 + number))),
    ("name_program", "its program"): lambda client, program, *_: client.name_program(program, "again"),
    ("launch", "its program by digest"): lambda client, program, *_: launch(client, program),
    ("launch", "its program by name"): lambda client, *_: launch(client, "its"),
    ("launch", "the operator's program"): lambda client, *_: launch(client, "echo"),
    ("launch", "for tenant 1"): lambda client, *_: launch(client, "echo", 1),
    ("attach", "its detached instance by name"): lambda client, program, its, _: no_more(client.attach(its.name)),
    ("attach", "its detached instance by number"): lambda client, program, its, _: no_more(client.attach(its.instance)),
    ("send", "to its detached instance"): lambda client, program, its, _: no_more(client.send(its.instance, b"x")),
    ("abort", "its detached instance"): lambda client, program, its, _: no_more(client.abort(its.instance)),
    ("send", "to an own instance"): lambda client, *_: with_own(client, lambda each: each.send(b"x")),
    ("close_input", "of an own instance"): lambda client, *_: with_own(client, lambda each: each.close_input()),
    ("send_file", "to an own instance"): lambda client, *_: send_file(client),
    ("detach", "an own instance"): lambda client, *_: with_own(client, lambda each: each.detach()),
    ("abort", "an own instance"): lambda client, *_: with_own(client, lambda each: each.abort()),
    ("add_adapter", ""): lambda client, program, its, number: no_more(client.add_adapter(f"a{number}", "llama_r1")),
    ("upload_adapter", ""): lambda client, program, its, number: no_more(
        client.upload_adapter(f"a{number}", ADAPTERS / "llama_r1.gguf")),
    ("remove_adapter", "of its own"): lambda client, *_: no_more(client.remove_adapter("its")),
    ("list_adapters", ""): lambda client, *_: no_more(client.list_adapters()),
    ("list", ""): lambda client, *_: no_more(client.list()),
    ("status", ""): lambda client, *_: status(client, False),
    ("status", "with detail"): lambda client, *_: status(client, True),
}


async def no_more(asked):
    await asked


def table(rows):
    lines = [("", *COLUMNS), ("---",) * (len(COLUMNS) + 1), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


class RoutesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.maxDiff = None
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.routes = Routes(folder.name)
        cls.addClassCleanup(cls.routes.server.__exit__)
        cls.http_rows = cls.routes.http_rows()
        cls.verb_rows = asyncio.run(cls.routes.verb_rows())
        cls.text = HEAD + table(cls.http_rows) + VERBS_HEAD + table(cls.verb_rows)

    def test_the_page_is_what_the_server_answers(self):
        self.assertEqual(self.text, DOCUMENT.read_text())

    def test_without_a_key_that_is_known_nothing_but_health_answers(self):
        for place, none, wrong, *_ in self.http_rows:
            open_to_all = {f"`GET /health{each}`": "200" for each in ("", "/live", "/ready")}
            expected = {**open_to_all, "`POST /health`": "405"}.get(place, "401")
            self.assertEqual((none, wrong), (expected, expected), place)

    def test_each_verb_is_in_the_table(self):
        async def known():
            async with quire.Client(self.routes.server.url, key=self.routes.keys["the tenant's"]) as client:
                try:
                    await client.ask({"verb": "nothing"})
                except quire.InvalidArgument as error:
                    return str(error)
        told = asyncio.run(known())
        names = {each.strip(" )") for each in told[told.index("find_program"):].split(",")}
        self.assertEqual(names, {verb for verb, _ in VERBS})

    def test_a_refusal_has_the_form_of_the_interface(self):
        for path in BODIES:
            status, body = self.routes.ask("POST", self.routes.meant("POST", path), WRONG, BODIES[path])
            answer = json.loads(body)
            self.assertEqual(status, 401)
            self.assertNotIn(WRONG, body.decode())
            if path.startswith("/v1/messages"):
                self.assertEqual((answer["type"], answer["error"]["type"]), ("error", "authentication_error"))
            elif BODIES[path] is GEMINI:
                self.assertEqual((answer["error"]["code"], answer["error"]["status"]), (401, "UNAUTHENTICATED"))
            else:
                self.assertEqual(answer["error"]["code"], "invalid_api_key")


def write():
    with tempfile.TemporaryDirectory() as folder:
        routes = Routes(folder)
        with routes.server:
            text = HEAD + table(routes.http_rows()) + VERBS_HEAD + table(asyncio.run(routes.verb_rows()))
    DOCUMENT.write_text(text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
