"""Tests for the operator of a server: its configuration from a file, its log as JSON, and its end on a signal."""
import fcntl
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

import harness

SECRET = "a prompt that nobody logs"


class OperateTest(harness.EndpointTest):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def serve(self, settings="", stderr=None, environment=None):
        """A server that is configured by a file alone; its process. Its log is self.log, or `stderr`."""
        config = self.folder / "quire.toml"
        config.write_text(f'listen = "127.0.0.1:0"\nmodel = "{self.model}"\nkv-pages = 512\nno-store = true\n'
                          f'log-format = "json"\n{settings}')
        self.log = (self.folder / "log").open("a+")  # The server writes at the end, wherever this reads.
        self.addCleanup(self.log.close)
        process = subprocess.Popen([harness.programs.BUILD / "quire", "serve", "--config", config],
                                   stdout=subprocess.PIPE, stderr=self.log if stderr is None else stderr,
                                   env={**harness.beside.environment(), **(environment or {})})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        line = process.stdout.readline().decode()
        self.there = next(word for word in line.split() if word.startswith("ws://")).removeprefix("ws://")
        return process

    def ask_there(self, method, path, body=None, headers=None):
        connection = harness.http.client.HTTPConnection(self.there, timeout=harness.TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body and json.dumps(body), headers or {})
            return harness.Answer(connection.getresponse())
        finally:
            connection.close()

    def events(self):
        """Every line of the log is an object with the members that all have."""
        self.log.seek(0)
        events = [json.loads(line) for line in self.log]
        for each in events:
            self.assertRegex(each["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertIn(each["level"], ["info", "warning", "error"])
        return events

    def event_when(self, name):
        for _ in range(500):
            found = [each for each in self.events() if each["event"] == name]
            if found:
                return found
            time.sleep(0.02)
        self.fail(f"no event {name}: {self.events()}")

    def test_the_log_has_an_event_for_the_start_each_request_and_the_end(self):
        process = self.serve()
        self.assertEqual([each["event"] for each in self.events()], ["listening", "started"])
        usage = self.ask_there("POST", "/v1/completions?key=secret", {
            "model": self.name, "prompt": SECRET, "max_tokens": 5, "logit_bias": harness.only(300)},
            {"authorization": "Bearer secret", "x-request-id": "mine"}).json["usage"]
        request = self.event_when("request")[0]
        self.assertEqual({key: request[key] for key in
                          ["level", "request_id", "method", "path", "status", "outcome", "end", "exit_code", "tenant",
                           "program", "generated_tokens", "prompt_tokens", "cached_tokens"]},
                         {"level": "info", "request_id": "mine", "method": "POST", "path": "/v1/completions",
                          "status": 200, "outcome": "ok", "end": "finished", "exit_code": 0, "tenant": 0,
                          "program": "openai_completions", "generated_tokens": 5,
                          "prompt_tokens": usage["prompt_tokens"], "cached_tokens": 0})
        self.assertGreater(request["duration_ms"], 0)
        self.assertLessEqual(request["first_token_ms"], request["first_byte_ms"])
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)
        self.assertEqual([each["event"] for each in self.events()],
                         ["listening", "started", "request", "shutdown", "stopped"])
        self.log.seek(0)
        text = self.log.read()
        self.assertNotIn(SECRET, text)
        self.assertNotIn("secret", text)

    def test_a_request_that_is_refused_by_its_program_is_an_outcome_of_its_own(self):
        self.serve()
        self.assertEqual(self.ask_there("POST", "/v1/completions", {"prompt": 5}).status, 400)
        request = self.event_when("request")[0]
        self.assertEqual((request["status"], request["outcome"], request["end"]), (400, "client_error", "finished"))

    def slow_request(self):
        """A request that takes two seconds, and has begun; the response."""
        connection = harness.http.client.HTTPConnection(self.there, timeout=harness.TIMEOUT_SECONDS)
        self.addCleanup(connection.close)
        connection.request("GET", "/slow")
        response = connection.getresponse()
        self.assertEqual(response.readline(), b"data: begin\n")
        return response

    def slow_endpoint(self):
        program = harness.programs.BUILD / "tests" / "endpoints" / "slow_http.wasm"
        return f'endpoint = "GET /slow={program}"\n'

    def test_on_sigterm_ready_says_so_first_and_what_runs_ends_well(self):
        process = self.serve("grace = 60\n" + self.slow_endpoint())
        response = self.slow_request()
        self.assertEqual(self.ask_there("GET", "/health/ready").status, 200)
        process.send_signal(signal.SIGTERM)
        self.event_when("shutdown")
        self.assertIsNone(process.poll(), "it waits for the request")
        ready = self.ask_there("GET", "/health/ready")
        self.assertEqual((ready.status, ready.json["status"]), (503, "shutting-down"))
        self.assertEqual(self.ask_there("GET", "/health/live").status, 200)
        refused = self.ask_there("POST", "/v1/completions", {"prompt": "x"})
        self.assertEqual((refused.status, refused.headers["retry-after"]), (503, "1"))
        self.assertTrue(response.read().endswith(b"data: end\n\n"))
        self.assertEqual(process.wait(30), 0)
        self.assertEqual([each["outcome"] for each in self.event_when("request")], ["ok"])

    def test_a_second_signal_ends_the_server_at_once(self):
        process = self.serve("grace = 600\n" + self.slow_endpoint())
        self.slow_request()
        process.send_signal(signal.SIGTERM)
        self.event_when("shutdown")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)
        self.assertEqual([each["event"] for each in self.events()],
                         ["listening", "started", "shutdown", "stopping", "request", "stopped"])
        self.assertEqual(self.event_when("request")[0]["end"], "killed")

    def test_a_server_that_compiles_an_endpoint_ends_well_on_a_signal(self):
        source = self.folder / "greet.cpp"
        source.write_text('#include "quire/quire.h"\nusing namespace quire;\n'
                          'Task<> greet(serve::Request, serve::Response response) '
                          '{ co_await response.send(200, "hello"); }\nQUIRE_HTTP_MAIN(greet)\n')
        for sent in (signal.SIGTERM, signal.SIGINT):
            process = self.serve(f'endpoint = "GET /greet={source}"\n')
            self.assertEqual(self.ask_there("GET", "/greet").body, b"hello")
            process.send_signal(sent)
            self.assertEqual(process.wait(30), 0)

    def pipe(self):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)  # So that few lines fill it.
        return reader, writer

    def test_a_log_that_nobody_reads_stops_no_request_and_not_the_end(self):
        reader, writer = self.pipe()
        self.addCleanup(os.close, reader)
        process = self.serve(stderr=writer)
        os.close(writer)
        for _ in range(100):
            self.assertEqual(self.ask_there("GET", "/v1/models").status, 200)
        for path in ("/health/live", "/health/ready", "/metrics"):
            self.assertEqual(self.ask_there("GET", path).status, 200)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)

    def test_lines_of_the_log_are_read_or_counted(self):
        reader, writer = self.pipe()
        process = self.serve(stderr=writer)
        os.close(writer)
        count = 3000  # Lines of about 500 bytes: more than the queue and the pipe hold.
        connection = harness.http.client.HTTPConnection(self.there, timeout=harness.TIMEOUT_SECONDS)
        for number in range(count):
            connection.request("GET", "/v1/models", headers={"x-request-id": f"{number}-" + "x" * 200})
            connection.getresponse().read()
        metrics = self.ask_there("GET", "/metrics").body.decode()
        dropped = int(re.search(r"^quire_log_lines_dropped_total (\d+)$", metrics, re.M)[1])
        self.assertGreater(dropped, 0)
        with open(reader) as log:
            connection.close()
            process.send_signal(signal.SIGTERM)
            events = [json.loads(line) for line in log]
        self.assertEqual(process.wait(30), 0)
        told = [each["count"] for each in events if each["event"] == "lines_dropped"]
        self.assertGreaterEqual(sum(told), dropped)
        further = len(["listening", "started", "shutdown", "stopped"])
        self.assertEqual(len(events) - len(told) + sum(told), count + further)

    def test_a_server_outlives_whoever_reads_its_log(self):
        reader, writer = self.pipe()
        process = self.serve(stderr=writer)
        os.close(writer)
        os.close(reader)
        for _ in range(3):
            self.assertEqual(self.ask_there("GET", "/v1/models").status, 200)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)

    def test_systemd_hears_of_the_start_the_watchdog_and_the_end(self):
        path = self.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.bind(str(path))
            systemd.settimeout(60)
            process = self.serve(environment={"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "200000"})
            self.assertEqual(systemd.recv(100), b"READY=1")
            self.assertEqual([systemd.recv(100) for _ in range(3)], [b"WATCHDOG=1"] * 3)
            process.send_signal(signal.SIGTERM)
            while systemd.recv(100) != b"STOPPING=1":
                pass
            self.assertEqual(process.wait(30), 0)

    def test_what_takes_longer_than_the_grace_is_stopped(self):
        process = self.serve("grace = 0.2\n" + self.slow_endpoint())
        response = self.slow_request()
        process.send_signal(signal.SIGTERM)
        with self.assertRaises(harness.http.client.IncompleteRead):  # The client sees that it is not whole.
            response.read()
        self.assertEqual(process.wait(30), 0)

    def test_a_wrong_setting_is_told_with_file_and_line_before_a_model_is_loaded(self):
        config = self.folder / "wrong.toml"
        config.write_text('listen = "127.0.0.1:0"\nkv-page = 5\n')
        run = subprocess.run([harness.programs.BUILD / "quire", "serve", "--config", config], capture_output=True,
                             text=True, env=harness.beside.environment(), timeout=60)
        self.assertEqual(run.returncode, 2)
        self.assertIn(f'{config}:2: there is no key "kv-page"; did you mean kv-pages', run.stderr)

    def test_a_taken_port_is_an_error_before_a_model_is_loaded(self):
        run = subprocess.run([harness.programs.BUILD / "quire", "serve", "--listen", self.address, "--model", self.model,
                              "--no-store"], capture_output=True, text=True, env=harness.beside.environment(), timeout=60)
        self.assertEqual(run.returncode, 1)
        self.assertIn("choose another port", run.stderr)


if __name__ == "__main__":
    harness.main()
