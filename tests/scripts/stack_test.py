"""Scripts on the runtime of tests/scripts/stack_runtime.cpp: what the host does for any runtime."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hostile"))
import beside  # noqa: E402
import packing  # noqa: E402

BUILD = beside.SOURCE / "build" / "release"


class StackScripts(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(lambda: subprocess.run(["rm", "-rf", str(self.folder)], check=True))
        self.runtimes = BUILD / "tests" / "scripts" / "runtimes"
        self.runtime = packing.runtime_of(self.runtimes, "stack")

    def environment(self):
        return beside.environment() | {"QUIRE_RUNTIMES": str(self.runtimes)}

    def write(self, content, name="script.wasm"):
        path = self.folder / name
        path.write_bytes(content)
        return str(path)

    def script(self, source, name="script.wasm", files=None, **options):
        files = {"main.stack": source} | (files or {})
        return self.write(packing.module(packing.bundle(self.runtime, files, "main.stack", **options)), name)

    def run_quire(self, program, *words, flags=()):
        return subprocess.run(
            [str(BUILD / "quire"), "run", program, "--model", str(beside.TINY), "--kv-pages", "64", "--no-store", *flags,
             "--", *words],
            env=self.environment(), capture_output=True, timeout=120)

    def refused(self, program, *parts, flags=()):
        ended = self.run_quire(program, flags=flags)
        self.assertNotEqual(ended.returncode, 0)
        for part in parts:
            self.assertIn(part, ended.stderr.decode())
        return ended.stderr.decode()

    def test_runs_with_the_state_that_init_left(self):
        ended = self.run_quire(self.script("1 2 + 7 *\n. arg . started ."), "one", "two")
        self.assertEqual(ended.stdout, b"21\n2\n41\n", ended.stderr)
        self.assertEqual(ended.returncode, 0)

    def test_runs_files_that_it_uses(self):
        ended = self.run_quire(self.script("use lib/a.stack .", files={"lib/a.stack": "use b.stack", "b.stack": "42"}))
        self.assertEqual(ended.stdout, b"42\n", ended.stderr)

    def test_names_file_and_line_of_what_fails(self):
        self.refused(self.script("1\n2 +\nnone"), 'main.stack:3: no word "none"')
        self.refused(self.script("use a.stack", files={"a.stack": "\n+"}), "a.stack:2: the stack holds fewer than two")

    def test_waits_as_other_programs_do(self):
        self.assertEqual(self.run_quire(self.script("nap nap 5 .")).stdout, b"5\n")

    def test_draws_other_randomness_in_each_instance(self):
        program = self.script("random .")
        self.assertEqual(len({self.run_quire(program).stdout for _ in range(3)}), 3)

    def test_refuses_a_runtime_that_the_server_does_not_have(self):
        mine = f"stack 0.1.0 ({self.runtime['digest'][:8]})"
        self.refused(self.script("1", version="9.0"), "made for the runtime stack 9.0", f"this server has {mine}")
        self.refused(self.script("1", digest="ab" * 32), "stack 0.1.0 (abababab)", mine)

    def test_refuses_damaged_sections(self):
        good = packing.bundle(self.runtime, {"main.stack": "1"}, "main.stack")
        cases = {
            "first 4 bytes": b"QSC9" + good[4:],
            "cut short": good[:-1],
            "more bytes": good + b"x",
            "not one of its files": packing.bundle(self.runtime, {"a": "1"}, "main.stack"),
            "main.stack:2: is not UTF-8": packing.bundle(self.runtime, {"main.stack": b"1\n\xff"}, "main.stack"),
            "or leaves it": packing.bundle(self.runtime, {"../a": "1", "main.stack": "1"}, "main.stack"),
            "script.source_bytes_max": packing.bundle(self.runtime, {"main.stack": b" " * (4 << 20) + b"1"}, "main.stack"),
        }
        for part, script in cases.items():
            with self.subTest(part):
                self.refused(self.write(packing.module(script)), part)
        with_code = packing.module(good) + b"\x01\x01\x00"
        self.refused(self.write(with_code), "code or data of its own")
        self.refused(self.write(packing.module(good) + packing.custom("quire.script", good)), "two sections")

    def test_refuses_a_hundred_megabytes(self):
        self.refused(self.script(b" " * (100 << 20)), "at most")

    def test_is_held_to_the_limits_of_any_program(self):
        self.refused(self.script("loop"), "cpu_ns_max", flags=["--limit", "cpu_ns_max=300000000"])
        self.refused(self.script("fill"), "its limit memory_bytes_max", flags=["--limit", "memory_bytes_max=16777216"])
        self.refused(self.script("recurse"), "overflowed its")
        self.refused(self.script("trap"), "unreachable")
        self.refused(self.script("1"), "memory_bytes_max", flags=["--limit", "memory_bytes_max=65536"])

    def test_declares_options_as_other_modules_do(self):
        options = '{"properties":{"depth":{"type":"integer","description":"How deep"}}}'
        script = packing.bundle(self.runtime, {"main.stack": "1"}, "main.stack", options=options)
        program = self.write(packing.module(script, options))
        ended = self.run_quire(program, "--help")
        self.assertIn(b"--depth N", ended.stdout, ended.stderr)
        self.refused(program, flags=["--limit", "x=1"])

    def test_a_server_runs_what_clients_upload_and_what_its_folder_holds(self):
        self.script("3 .", "three.wasm")
        own = self.script("4 .", "sub_four.wasm")
        os.makedirs(self.folder / "served")
        os.rename(self.folder / "three.wasm", self.folder / "served" / "three.wasm")
        with mock.patch.object(beside, "environment", return_value=self.environment()):
            with beside.Server(BUILD, [str(self.folder / "served")]) as server:
                three = server.start("three").communicate(timeout=60)[0]
                four = server.start(own).communicate(timeout=60)[0]
                many = [server.start(own) for _ in range(8)]
                outputs = [each.communicate(timeout=60)[0] for each in many]
        self.assertIn(b"3\n", three)
        self.assertIn(b"4\n", four)
        self.assertTrue(all(b"4\n" in each for each in outputs))

    def test_code_for_another_machine_is_made_again(self):
        folder = self.folder / "runtimes"
        subprocess.run(["cp", "-r", str(self.runtimes), str(folder)], check=True)
        (folder / "stack.cwasm").write_bytes(b"no code")
        self.runtimes = folder
        self.assertEqual(self.run_quire(self.script("6 .")).stdout, b"6\n")
        (folder / "stack.wasm").write_bytes((folder / "stack.wasm").read_bytes() + b"\0")
        self.refused(self.script("6 ."), "is not the module whose digest")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BUILD = pathlib.Path(sys.argv.pop(1))
    unittest.main()
