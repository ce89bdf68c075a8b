"""The blocking client and run(), against a real server and the real command line."""

import asyncio
import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

from serving import BUILD, ROOT, Server, guest

import quire

PATIENCE = 60.0


def public_names(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")}


class Blocking(unittest.TestCase):
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server(programs=[guest("echo"), guest("files")])

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.stop()

    def setUp(self) -> None:
        self.client = quire.connect_blocking(self.server.url)
        self.addCleanup(self.client.close)

    def wait_until_nothing_runs(self) -> None:
        end = time.monotonic() + PATIENCE
        while self.client.status().instance_count > 0:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_a_program_is_uploaded_launched_talked_to_and_ends(self) -> None:
        program = self.client.upload(BUILD / "inferlets/hello.wasm")
        self.assertEqual(self.client.find_program(program).state, "ready")
        instance = self.client.launch(program, ["--name", "you"])
        said = b"".join(instance)
        self.assertTrue(said.startswith(b"Hello, you!"), said)
        self.assertGreater(instance.result().check().duration_ns, 0)
        with self.assertRaises(quire.NotFound):
            instance.receive()

    def test_messages_results_and_logs_come(self) -> None:
        lines: list[quire.LogLine] = []
        instance = self.client.launch("echo", on_log=lines.append)
        instance.send("hi")
        self.assertEqual(instance.receive(), b"hi\n")
        with self.assertRaises(quire.TimedOut):
            instance.receive(timeout=0.02)
        instance.send("log careful")
        instance.send("after")
        self.assertEqual(instance.receive(timeout=PATIENCE), b"after\n")
        instance.close_input()
        self.assertEqual(instance.result().text, "end: the client has ended its side")
        self.assertEqual(lines, [quire.LogLine("log", "info", "careful")])

    def test_files_go_both_ways(self) -> None:
        with self.client.launch("files") as instance:
            for data in (b"1,2\n3,4", b""):
                instance.send_file(data, "a.csv")
                copy = instance.receive_file()
                self.assertEqual((copy.name, copy.media_type), ("copy of a.csv", "text/csv"))
                self.assertEqual(b"".join(copy), data)
            instance.send_file(__file__)
            self.assertEqual(instance.receive_file().read(), pathlib.Path(__file__).read_bytes())

    def test_an_instance_whose_block_is_left_is_aborted(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "mine"):
            with self.client.launch("echo") as instance:
                instance.send("again 100000000")
                instance.receive()
                raise RuntimeError("mine")
        self.assertEqual(instance.result().kind, "killed")
        self.wait_until_nothing_runs()

    def test_a_detached_instance_is_found_again(self) -> None:
        instance = self.client.launch("echo", detached=True)
        instance.detach()
        again = self.client.attach(instance.name)
        again.send("quit")
        again.result().check()

    def test_it_works_where_an_event_loop_runs_as_in_a_notebook(self) -> None:
        async def notebook() -> bytes:
            with self.client.launch("echo", ["one"]) as instance:
                return instance.receive()

        self.assertEqual(asyncio.run(notebook()), b"one\n")

    def test_threads_share_a_client(self) -> None:
        said: dict[int, bytes] = {}

        def talk(number: int) -> None:
            with self.client.launch("echo", [str(number)]) as instance:
                said[number] = instance.receive()

        threads = [threading.Thread(target=talk, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual(said, {number: b"%d\n" % number for number in range(8)})

    def test_an_on_log_that_calls_the_client_is_told_instead_of_waiting_for_itself(self) -> None:
        told: list[str] = []

        def asks(_: quire.LogLine) -> None:
            try:
                self.client.status()
            except RuntimeError as error:
                told.append(str(error))

        with self.client.launch("echo", on_log=asks) as instance:
            instance.send("log careful")
            instance.send("after")
            instance.receive()
        self.assertEqual(told, ["on_log cannot call a blocking client: it would wait for itself"])

    def test_arguments_as_one_text_are_a_type_error(self) -> None:
        with self.assertRaisesRegex(TypeError, r"not one text: '--name you'; pass \['--name', 'yo"):
            self.client.launch("echo", "--name you")

    def test_what_nobody_received_counts_no_more_when_another_thread_drops_it(self) -> None:
        instance = self.client.launch("echo", ["one", "two"])
        instance.send("quit")
        instance.result()
        self.assertGreater(self.client._client._held_bytes, 0)
        del instance
        end = time.monotonic() + PATIENCE
        while self.client._client._held_bytes > 0:
            self.client.status()
            self.assertLess(time.monotonic(), end)

    def test_a_closed_client_says_so_and_leaves_no_thread(self) -> None:
        before = threading.active_count()
        client = quire.connect_blocking(self.server.url)
        client.close()
        client.close()
        self.assertEqual(threading.active_count(), before)
        with self.assertRaisesRegex(RuntimeError, "the client is closed"):
            client.status()
        with self.assertRaisesRegex(quire.ConnectionLost, "`quire serve` starts a server"):
            quire.connect_blocking("ws://127.0.0.1:1")
        self.assertEqual(threading.active_count(), before)

    def test_who_waits_in_another_thread_hears_that_the_client_is_closed(self) -> None:
        client = quire.connect_blocking(self.server.url)
        heard: list[Exception] = []
        with client.launch("echo") as instance:  # Left after the client is closed.

            def wait() -> None:
                try:
                    instance.receive()
                except Exception as error:
                    heard.append(error)

            threads = [threading.Thread(target=wait) for _ in range(4)]
            for thread in threads:
                thread.start()
            time.sleep(0.05)
            client.close()
            for thread in threads:
                thread.join(PATIENCE)
        self.assertEqual([type(error) for error in heard], [quire.ConnectionLost] * 4)

    def test_the_names_are_those_of_the_other_form(self) -> None:
        inner = {"open", "ask", "wait", "hold", "release", "release_from_anywhere"}
        inner |= {"abort_for_sure", "forget", "handle", "close"}
        for one, other in (
            (quire.Client, quire.BlockingClient),
            (quire.Instance, quire.BlockingInstance),
            (quire.ReceivedFile, quire.BlockingFile),
        ):
            self.assertEqual(public_names(one) - inner - public_names(other), set())
        ours = inspect.signature(quire.connect_blocking).parameters
        theirs = inspect.signature(quire.Client).parameters
        self.assertEqual(
            {name: each.default for name, each in ours.items()},
            {name: each.default for name, each in theirs.items()},
        )


class Running(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        patch = unittest.mock.patch.dict(
            os.environ,
            QUIRE=str(BUILD / "quire"),
            QUIRE_MODEL=str(ROOT / "tests/golden/tiny_llama"),
            QUIRE_KV_PAGES="64",
            QUIRE_NO_STORE="1",
        )
        patch.start()
        self.addCleanup(patch.stop)

    def script(self, text: str) -> pathlib.Path:
        path = self.folder / "x.ts"
        path.write_text('import { session } from "quire";\n' + text)
        return path

    def test_a_script_gets_its_arguments_and_its_text_comes_back(self) -> None:
        script = self.script(
            'export const options = { prompt: { type: "string", default: "" } };\n'
            "export default async function program({ prompt }: { prompt: string }) {\n"
            "  session.send(`${prompt}!`);\n}\n"
        )
        done = quire.run(script, "--prompt", "good morning")
        self.assertEqual((done.text, done.exit_code), ("good morning!\n", 0))
        self.assertIn("[done in ", done.log)

    def test_a_module_gets_lines_of_input_and_options_of_quire_run(self) -> None:
        done = quire.run(guest("echo"), input="hi\n", options=["--cpu-seconds-max", "10"])
        self.assertIn("hi\n", done.text)

    def test_the_error_of_a_program_is_raised_with_its_text(self) -> None:
        script = self.script(
            "export default async function program() {\n"
            '  session.send("begun");\n  throw new Error("bad luck");\n}\n'
        )
        with self.assertRaises(quire.RunFailed) as failed:
            quire.run(str(script))
        self.assertIn("x.ts:4: Error: bad luck", str(failed.exception))
        self.assertEqual(failed.exception.result.text, "begun\n")
        self.assertNotEqual(failed.exception.result.exit_code, 0)
        self.assertNotEqual(quire.run(script, check=False).exit_code, 0)

    def test_a_file_that_is_not_there_is_named(self) -> None:
        with self.assertRaisesRegex(quire.RunFailed, "no file .*none.ts"):
            quire.run(self.folder / "none.ts")

    def test_without_quire_one_is_told_where_to_put_it(self) -> None:
        with self.assertRaisesRegex(quire.NotFound, "set QUIRE to it, or pass quire=PATH"):
            quire.run("hello", quire=self.folder / "quire")

    def test_a_list_as_an_argument_is_a_type_error(self) -> None:
        with self.assertRaisesRegex(TypeError, r"arguments\[0\] is no text but list"):
            quire.run("hello", ["--name", "you"])  # type: ignore[arg-type]

    def test_what_takes_too_long_is_ended(self) -> None:
        script = self.script("export default async function program() { for (;;); }\n")
        with self.assertRaisesRegex(quire.TimedOut, "ran for more than 2 s, and was ended"):
            quire.run(script, timeout=2)


class Interrupted(unittest.TestCase):
    def test_ctrl_c_in_a_script_ends_the_wait_and_the_instance(self) -> None:
        script = (
            "import quire, sys\n"
            "with quire.connect_blocking(sys.argv[1]) as client:\n"
            "    with client.launch('echo') as instance:\n"
            "        print('waiting', flush=True)\n"
            "        instance.receive()\n"
        )
        with Server(programs=[guest("echo")]) as server:
            process = subprocess.Popen(
                [sys.executable, "-c", script, server.url],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={"PYTHONPATH": str(ROOT / "clients/python")},
            )
            assert process.stdout is not None
            self.assertEqual(process.stdout.readline(), "waiting\n")
            time.sleep(0.2)
            process.send_signal(2)
            _, errors = process.communicate(timeout=PATIENCE)
            self.assertIn("KeyboardInterrupt", errors)
            with quire.connect_blocking(server.url) as client:
                self.assertEqual(client.status().instance_count, 0)


if __name__ == "__main__":
    unittest.main()
