"""Each call of the interface gives the same in each language: tokens, bytes and the texts of errors (README.md)."""
import http.client
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE.parent / "conformance", HERE.parent / "rust", HERE.parent.parent / "tools"):
    sys.path.insert(0, str(folder))
import http_peer  # noqa: E402
import language_table  # noqa: E402
import rust_harness  # noqa: E402
import harness  # noqa: E402
import beside  # noqa: E402

PAGE_COUNT = 128
LANGUAGES = {"C++": "rows.cpp", "Rust": "rust/src/main.rs", "JavaScript": "rows.js"}
TESTED = re.compile(r"\| \[[^]]*\]\(([a-z-]+)\.md#([a-z-]+)\) \| (yes|no model has it) \| ([^|]*) \|")


def modules():
    """The program of each language; None where a compiler is missing."""
    return {"C++": harness.BUILD / "tests" / "languages" / "rows.wasm", "JavaScript": HERE / "rows.js",
            "Rust": rust_harness.built(HERE / "rust", "rows") if rust_harness.COMPILER else None}


def wanted():
    """{call: what must come of it, of "=" and "!"} for each row of sdk/operations.txt, by what docs/reference/conformance.md
    saw. A wrong address is not a thing that every language can give: where that is the only error, none is wanted."""
    page = (harness.SOURCE / "docs" / "reference" / "conformance.md").read_text()
    seen = {f"{interface}.{call}": (success == "yes", set(re.findall(r"`([a-z-]+)`", errors)))
            for interface, call, success, errors in TESTED.findall(page)}
    rows = language_table.rows_of(language_table.OPERATIONS.read_text())
    assert rows.keys() == seen.keys(), rows.keys() ^ seen.keys()
    takes_number = {"runtime.get-arg", "runtime.random"}  # Beside the address.
    return {call: ("=" if success else "") + ("!" if errors - {"out-of-range"} or (errors and not is_address(call)) or call in takes_number else "")
            for call, (success, errors) in seen.items()}


def is_address(call):
    """Whether the call takes nothing but an address to write to."""
    interface, name = call.split(".")
    text = (harness.SOURCE / "interface" / f"{interface.replace('-', '_')}.wit").read_text()
    parameters = re.search(rf"^ +{name}: func\(([^)]*)\)", text, re.M)[1]
    return all("address" in each or each.strip().startswith("capacity") for each in parameters.split(",") if each.strip())


class LanguagesTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.model = harness.tiny_chat_model(cls.folder)
        peer, cls.peer_port = http_peer.start()
        cls.addClassCleanup(peer.shutdown)
        (cls.folder / "in.txt").write_text("a file\n" * 3)
        cls.lines = {name: cls.lines_of(name, module) for name, module in modules().items() if module}

    @classmethod
    def lines_of(cls, name, module):
        """Returns the output of the program on a server with a store and on one without."""
        folder = cls.folder / name
        folder.mkdir()
        adapter = harness.SOURCE / "tests" / "golden" / "adapters" / "llama_r8"
        flags = ["--adapter", f"first={adapter}", "--explain-misses", "--allow-http", f"127.0.0.1:{cls.peer_port}", "--endpoint", f"POST /rows={module}"]
        with beside.Server(harness.BUILD, flags, PAGE_COUNT, cls.model, store=folder / "store") as server:
            said = cls.run_rows(server, module)
        with beside.Server(harness.BUILD, [], PAGE_COUNT, cls.model) as server:
            code, out, err = server.run(module, ["bare"])
            said += out if code == 0 else err
        return said.splitlines()

    @classmethod
    def run_rows(cls, server, module):
        words = [str(harness.BUILD / "quire"), "run", "--server", server.url, str(module), "--send-file",
                 str(cls.folder / "in.txt"), "--", "rows", f"http://127.0.0.1:{cls.peer_port}"]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=beside.environment(), cwd=cls.folder)
        process.stdin.write("a line\n")
        process.stdin.close()
        said = ""
        for line in process.stdout:
            if line == "ready\n":
                connection = http.client.HTTPConnection(server.url.removeprefix("ws://"), timeout=60)
                connection.request("POST", "/rows?a=b", "a body")
                said += f"the client got {connection.getresponse().read().decode()}\n"
                connection.close()
            else:
                said += line
        code, why = process.wait(60), process.stderr.read()
        return said if code == 0 else f"{said}{module} ended with {code}: {why}\n"

    def test_each_row_has_a_right_and_a_wrong_case_in_each_language(self):
        for name, lines in self.lines.items():
            seen = {}
            for line in lines:
                call = re.match(r"([a-z-]+\.[a-z-]+)(?: as \w+)? ([=!]) ", line)
                if call:
                    seen.setdefault(call[1], set()).add(call[2])
            missing = {call: kinds for call, kinds in wanted().items() if set(kinds) - seen.get(call, set())}
            with self.subTest(name):
                self.assertEqual(missing, {})

    def test_each_line_is_the_same_in_all_languages(self):
        self.assertGreater(len(self.lines["C++"]), 260)
        for name, lines in self.lines.items():
            variants = {line.split(" = ")[0].split(" ! ")[0] for line in lines if " as " in line}
            cpp = [line for line in self.lines["C++"] if " as " not in line or line.split(" = ")[0].split(" ! ")[0] in variants]
            with self.subTest(name):
                self.assertEqual("\n".join(lines), "\n".join(cpp))

    def test_each_word_of_the_table_is_said_by_the_program_of_its_language(self):
        rows = language_table.rows_of(language_table.OPERATIONS.read_text())
        for at, language in enumerate(language_table.LANGUAGES):
            said = set(re.findall(r"[A-Za-z_]\w*", (HERE / LANGUAGES[language]).read_text()))
            missing = {call: words for call, cells in rows.items() if (words := language_table.words_of(cells[at]) - said)}
            with self.subTest(language):
                self.assertEqual(missing, {})


if __name__ == "__main__":
    harness.main()
