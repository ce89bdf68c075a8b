"""The JavaScript client in node and in Chromium, and the snippets of its README.

test_javascript.py [Node|Browser]

A case whose runtime is not on this machine is skipped by name; where nothing ran, the exit code
is 77.
"""

import contextlib
import functools
import http.server
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from typing import Iterator

HERE = pathlib.Path(__file__).resolve().parent
CLIENT = HERE.parent
sys.path.insert(0, str(CLIENT.parent / "python/tests"))

from serving import BUILD, Server, guest  # noqa: E402

PATIENCE = 120.0
PROGRAMS = [guest("echo"), guest("files")]
GRACE = ("--grace", "0.2")
HELLO = BUILD / "inferlets/hello.wasm"
ADAPTER = CLIENT.parents[1] / "tests/golden/adapters/llama_r1.gguf"
NODE = shutil.which("node")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
CHECK_COUNT_MIN = 18


def node_flags() -> list[str] | None:
    """The flags with which this node has WebSocket; None if no flags give it one."""
    for flags in ([], ["--experimental-websocket"]):
        has = subprocess.run(
            [str(NODE), *flags, "-e", "new WebSocket('ws://127.0.0.1:1').onerror = () => {}"],
            capture_output=True,
        )
        if has.returncode == 0:
            return flags
    return None


NODE_FLAGS = node_flags() if NODE else None
needs_node = unittest.skipIf(
    NODE_FLAGS is None, "skipped: no node with WebSocket here (node 20 or later)"
)
needs_chromium = unittest.skipIf(
    CHROMIUM is None, "skipped: no Chromium here (apt-get install chromium)"
)


def snippets(language: str) -> list[str]:
    text = (CLIENT / "README.md").read_text()
    return re.findall(rf"<!-- runnable: {language} -->\n```\w+\n(.*?)```", text, re.S)


class Keys:
    """A file of keys with one in it, and the folder that holds it."""

    def __init__(self, folder: str) -> None:
        self.path = pathlib.Path(folder) / "keys.txt"
        added = subprocess.run(
            [
                str(BUILD / "quire"),
                "keys",
                "add",
                "page",
                "--keys",
                str(self.path),
                "--rights",
                "operate",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if added.returncode != 0:
            raise RuntimeError(added.stderr)
        self.key = re.search(r"qk_[A-Za-z0-9_-]{43}", added.stdout)[0]


class Site(http.server.ThreadingHTTPServer):
    """Files of a folder, and what their pages say by POST."""

    def __init__(self, folder: pathlib.Path) -> None:
        said: queue.Queue[str] = queue.Queue()

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                said.put(self.rfile.read(size).decode())
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
        self.said = said
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"


class Node(unittest.TestCase):
    @needs_node
    def test_the_checks_hold_in_node_without_and_with_a_key(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            keys = Keys(folder)
            for flags, key in (((), ""), (("--keys", str(keys.path)), keys.key)):
                with (
                    self.subTest(key=bool(key)),
                    Server(*GRACE, *flags, programs=PROGRAMS) as server,
                ):
                    ran = self.node(str(HERE / "node.js"), server.url, key, str(HELLO), str(ADAPTER))
                    self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
                    self.assertGreaterEqual(len(ran.stdout.splitlines()), CHECK_COUNT_MIN)

    @needs_node
    def test_without_a_websocket_one_is_told_where_to_get_one(self) -> None:
        script = f"""delete globalThis.WebSocket;
            const {{ connect }} = await import({str(CLIENT / "quire/index.js")!r});
            await connect().catch((error) => console.log(error.code, error.message));"""
        ran = self.node("--input-type=module", "-e", script)
        self.assertIn(
            "not-supported there is no WebSocket here: node 22 has one", ran.stdout, ran.stderr
        )

    @needs_node
    def test_the_snippets_of_the_readme_run(self) -> None:
        found = snippets("node")
        self.assertGreaterEqual(len(found), 2)
        with Server(*GRACE, programs=PROGRAMS) as server, tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copy(HELLO, folder)
            (folder / "node_modules").mkdir()
            (folder / "node_modules/quire-client").symlink_to(CLIENT)
            for number, snippet in enumerate(found):
                with self.subTest(snippet[:60]):
                    path = folder / f"snippet_{number}.mjs"
                    path.write_text(snippet.replace("ws://127.0.0.1:7847", server.url))
                    ran = self.node(str(path), cwd=folder)
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    self.assertNotEqual(ran.stdout, "")

    def node(
        self, *arguments: str, cwd: pathlib.Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(NODE), *(NODE_FLAGS or []), *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )


class Browser(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        shutil.copytree(CLIENT / "quire", self.folder / "quire")
        shutil.copytree(HERE, self.folder / "tests")
        shutil.copy(HELLO, self.folder)
        shutil.copy(ADAPTER, self.folder / "adapter.gguf")
        self.site = Site(self.folder)
        self.addCleanup(self.site.server_close)
        threading.Thread(target=self.site.serve_forever, daemon=True).start()
        self.addCleanup(self.site.shutdown)
        self.keys = Keys(folder.name)

    @contextlib.contextmanager
    def serving(self) -> Iterator[Server]:
        """A page of another origin brings a key, and the server allows its origin."""
        flags = ("--keys", str(self.keys.path), "--allow-origin", self.site.origin)
        with Server(*GRACE, *flags, programs=PROGRAMS) as server:
            yield server

    @contextlib.contextmanager
    def page(self, text: str) -> Iterator[None]:
        (self.folder / "page.html").write_text(text)
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ]
        process = subprocess.Popen(
            [
                str(CHROMIUM),
                *flags,
                "--remote-debugging-port=0",
                f"--user-data-dir={self.folder / 'profile'}",
                f"{self.site.origin}/page.html",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)

    @needs_chromium
    def test_the_checks_hold_in_a_page(self) -> None:
        with self.serving() as server:
            script = f"""<!doctype html><script type="module">
                const say = (lines) =>
                  fetch("/said", {{ method: "POST", body: lines.join("\\n") }});
                try {{
                  const {{ run }} = await import("/tests/checks.js");
                  const read = async (file) =>
                    new Uint8Array(await (await fetch(file)).arrayBuffer());
                  const hello = await read("/hello.wasm");
                  const adapter = await read("/adapter.gguf");
                  const url = {server.url!r}, key = {self.keys.key!r};
                  await say(await run({{ url, key, hello, adapter }}));
                }} catch (error) {{
                  await say(["failed: " + error.stack]);
                }}
                </script>"""
            with self.page(script):
                said = self.site.said.get(timeout=PATIENCE).splitlines()
        self.assertEqual([line for line in said if not line.startswith("ok ")], [])
        self.assertGreaterEqual(len(said), CHECK_COUNT_MIN)

    @needs_chromium
    def test_the_pages_of_the_readme_run(self) -> None:
        found = snippets("browser")
        self.assertGreaterEqual(len(found), 1)
        tell = """<script>setInterval(() => {
            fetch("/said", { method: "POST", body: document.body.innerText }); }, 100)</script>"""
        for snippet in found:
            with self.subTest(snippet[:60]), self.serving() as server:
                page = snippet.replace("ws://127.0.0.1:7847", server.url).replace(
                    "qk_...", self.keys.key
                )
                with self.page(page + tell):
                    said = ""
                    while "finished" not in said:
                        said = self.site.said.get(timeout=PATIENCE)
                self.assertIn("Hello, you!", said)


def main() -> int:
    program = unittest.main(exit=False)
    result = program.result
    if not result.wasSuccessful():
        return 1
    return 77 if len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main())
