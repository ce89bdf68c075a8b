"""`quire run --detach`, `ps`, `attach`, `send` and `abort` against a running server, as their users see them."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop()).resolve() if len(sys.argv) > 1 else ROOT / "build/release"
os.environ["QUIRE_BUILD"] = str(BUILD)
sys.path.insert(0, str(ROOT / "clients/python/tests"))

from serving import Server, guest  # noqa: E402

SECONDS = 60
NUMBER = "[0-9]{1,16}"


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(programs=[guest("echo"), guest("files")])
        cls.addClassCleanup(cls.server.stop)

    def command(self, verb, *words):
        return [str(BUILD / "quire"), verb, "--server", self.server.url, *map(str, words)]

    def quire(self, verb, *words, text="", code=0):
        done = subprocess.run(self.command(verb, *words), input=text, capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(done.returncode, code, (verb, words, done.stdout, done.stderr))
        return done

    def detach(self, *words):
        number = self.quire("run", "--detach", *words).stdout
        self.assertRegex(number, f"^{NUMBER}\n$")
        return number.strip()

    def follow(self, *words):
        """A client that is attached once its first line has come."""
        process = subprocess.Popen(self.command("attach", *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process


class Instances(Served):
    def test_a_detached_program_is_listed_sent_to_followed_and_ended(self):
        number = self.detach("echo", "--", "from the beginning")
        rows = self.quire("ps").stdout.splitlines()
        self.assertEqual(rows[0].split()[:5], ["INSTANCE", "TENANT", "PROGRAM", "STAGE", "CLIENT"])
        self.assertEqual([row.split()[2:5] for row in rows if row.split()[0] == number], [["echo", "parked", "detached"]])
        self.quire("send", number, "one message")
        self.quire("send", number, text="two\nthree\n")
        file = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "text")
        file.write_text("several\nlines\n")
        sent = self.quire("send", number, "--file", file, "--json")
        self.assertEqual(json.loads(sent.stdout), {"instance": int(number), "messages": 1, "files": 0, "input_ended": False})
        self.quire("send", number, "quit")
        followed = self.quire("attach", number)
        self.assertEqual(followed.stdout, "from the beginning\none message\ntwo\nthree\nseveral\nlines\n")
        self.assertIn("[done in", followed.stderr)
        gone = self.quire("attach", number, code=3)
        self.assertEqual(gone.stderr, f"error: instance {number} has ended or never was\n")
        self.assertNotIn(number, self.quire("ps").stdout)

    def test_attach_reports_the_end_as_run_does_and_the_end_of_a_pipe_is_not_the_programs(self):
        number = self.detach("echo")
        follower = self.follow(number, "--json")
        follower.stdin.write("heard\n")
        follower.stdin.close()
        follower.stdin = None
        self.assertEqual(json.loads(follower.stdout.readline()),
                         {"event": "message", "instance": int(number), "message": "heard\n"})
        self.assertIn(number, self.quire("ps").stdout)
        self.quire("send", number, "--end")
        end = json.loads(follower.stdout.readline())
        self.assertEqual((end["event"], end["end"], end["result"]), ("end", "finished", "end: the client has ended its side"))
        _, errors = follower.communicate(timeout=SECONDS)
        self.assertEqual((follower.returncode, json.loads(errors)["event"]), (0, "totals"))
        number = self.detach("echo")
        self.quire("send", number, "crash")
        self.assertIn("trapped", self.quire("attach", number, code=4).stderr)

    def test_ctrl_c_detaches_and_the_program_goes_on(self):
        number = self.detach("echo", "--", "ready")
        follower = self.follow(number)
        self.assertEqual(follower.stdout.readline(), "ready\n")
        follower.send_signal(signal.SIGINT)
        _, errors = follower.communicate(timeout=SECONDS)
        self.assertEqual(follower.returncode, 130)
        self.assertEqual(errors, f"detached; instance {number} goes on: quire attach {number} follows it again, "
                                 f"quire abort {number} stops it\n")
        aborted = self.quire("abort", number, "--json")
        self.assertEqual(json.loads(aborted.stdout), {"instance": int(number), "aborted": True})
        ended = self.quire("attach", number, code=4)
        self.assertIn("killed: aborted by a client of its tenant", ended.stderr)

    def test_a_client_that_is_attached_is_detached_only_by_take(self):
        number = self.detach("echo", "--", "ready")
        first = self.follow(number)
        self.assertEqual(first.stdout.readline(), "ready\n")
        refused = self.quire("attach", number, code=1)
        self.assertEqual(refused.stderr, "error: another client is attached to the instance; --take detaches it\n")
        second = self.follow(number, "--take")
        _, errors = first.communicate(timeout=SECONDS)
        self.assertEqual(first.returncode, 1)
        self.assertEqual(errors, "error: the program goes on without this client: another client of its tenant has "
                                 "attached to it\n")
        self.quire("send", number, "still there")
        self.assertEqual(second.stdout.readline(), "still there\n")
        self.assertEqual(self.quire("abort", number).stdout, f"aborted instance {number}\n")
        second.communicate(timeout=SECONDS)
        self.assertEqual(second.returncode, 4)

    def test_files_reach_a_program_without_a_client(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "a.csv").write_bytes(b"1,2\n" * 700_000)
        number = self.detach("files")
        sender = subprocess.Popen(self.command("send", number, "--send-file", folder / "a.csv", "--end"))
        followed = self.quire("attach", number, "--save-files", folder / "kept")
        self.assertEqual(sender.wait(SECONDS), 0)
        self.assertIn("a.csv text/csv 2800000", followed.stdout)
        self.assertEqual((folder / "kept" / "copy of a.csv").read_bytes(), (folder / "a.csv").read_bytes())

    def test_what_cannot_be_is_refused_with_the_next_step(self):
        for words, error in ((["abort", "17"], "instance 17 has ended or never was"),
                             (["send", "17", "x"], "instance 17 has ended or never was")):
            self.assertIn(error, self.quire(*words, code=3).stderr)
        self.assertIn("is not the number of an instance; quire ps lists them", self.quire("attach", "x", code=2).stderr)
        several = self.quire("abort", "17", "18", "--json", code=3)
        self.assertEqual([json.loads(line) for line in several.stdout.splitlines()],
                         [{"instance": 17, "aborted": False}, {"instance": 18, "aborted": False}])
        self.assertIn("Only quire attach takes an instance's name", self.quire("abort", "0" * 32, code=2).stderr)
        both = self.quire("run", "--detach", "--send-file", __file__, "echo", code=2)
        self.assertIn("quire send ID --send-file PATH", both.stderr)
        here = subprocess.run([BUILD / "quire", "run", "--detach", guest("echo")], capture_output=True, text=True)
        self.assertEqual(here.returncode, 2)
        self.assertIn("--detach is for a server, which --server names", here.stderr)

    def test_tab_completes_the_numbers_of_the_server(self):
        number = self.detach("echo")
        words = ["complete-words", "attach", "--server", self.server.url, number[:3]]
        offered = subprocess.run([BUILD / "quire", *words], capture_output=True, text=True, timeout=SECONDS)
        self.assertIn(f"{number}\techo, parked\n", offered.stdout)
        self.quire("abort", number)


class Names(Served):
    def test_a_program_that_comes_with_quire_is_uploaded_and_one_of_the_server_goes_first(self):
        hello = self.quire("run", "hello", "--", "--name", "you")
        self.assertTrue(hello.stdout.startswith("Hello, you!"), hello.stdout)
        wrong = self.quire("run", "hello", "--", "--nam", "you", code=4)
        self.assertIn("See: quire run hello --help", wrong.stderr)
        unknown = self.quire("run", "no_such_program", code=3)
        self.assertIn('no program is named "no_such_program" here; there are: echo, files', unknown.stderr)
        with Server(programs=[self.renamed("hello")]) as other:
            command = [BUILD / "quire", "run", "--server", other.url, "hello", "--", "this is echo"]
            done = subprocess.run(command, input="", capture_output=True, text=True, timeout=SECONDS)
            self.assertEqual(done.stdout, "this is echo\n", done.stderr)
            self.assertIn("result: end: the client has ended its side\n[done in", done.stderr)

    def renamed(self, name):
        module = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), name + ".wasm")
        module.write_bytes(guest("echo").read_bytes())
        return module


if __name__ == "__main__":
    unittest.main()
