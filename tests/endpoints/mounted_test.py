"""Tests of the endpoints of `quire serve`: those of quire by default, and those of the user in their place."""
import json
import pathlib
import subprocess
import tempfile

import harness

beside = harness.beside


class MountedTest(harness.EndpointTest):
    def serving(self, *flags):
        """Another server, until the test ends; its address."""
        server = self.enterContext(
            beside.Server(harness.programs.BUILD, flags, 64, model=self.model, has_endpoints=True))
        return server.url.removeprefix("ws://")

    def answer_of(self, address, method, path, body=None, headers=None):
        connection = harness.http.client.HTTPConnection(address, timeout=harness.TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            return harness.Answer(connection.getresponse())
        finally:
            connection.close()

    def status_of(self, address, method, path, body=None):
        return self.answer_of(address, method, path, body).status

    def test_the_lines_of_the_start_list_each_endpoint_with_its_url(self):
        process = self.server.process
        listed = self.ask_of("GET", "/").json["endpoints"]
        lines = [process.stdout.readline().decode() for _ in listed]
        self.assertIn(f"  POST {self.url}/v1/chat/completions\n", lines)
        self.assertIn(f"  GET {self.url}/v1/models/*\n", lines)
        self.assertEqual(sorted(listed), sorted(line.split()[0] + " " + line.split()[1].removeprefix(self.url)
                                                for line in lines))

    def test_as_json_the_start_lists_them_with_their_programs(self):
        command = [harness.programs.BUILD / "quire", "serve", "--listen", "127.0.0.1:0", "--model", self.model,
                   "--no-store", "--json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=beside.environment())
        try:
            start = json.loads(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(60)
            process.stdout.close()
        programs = {(each["method"], each["url"].split("/", 3)[3]): each["program"] for each in start["endpoints"]}
        self.assertEqual(programs["POST", "v1/messages"], "anthropic_messages")

    def test_no_endpoints_leaves_them_out(self):
        address = self.serving("--no-endpoints")
        self.assertEqual(self.status_of(address, "GET", "/v1/models"), 404)
        self.assertEqual(self.status_of(address, "GET", "/health"), 200)

    def test_an_endpoint_of_the_user_takes_the_place_of_one_of_quire(self):
        program = harness.programs.BUILD / "inferlets" / "complete_http.wasm"
        address = self.serving("--endpoint", f"POST /v1/completions={program}")
        body = b'{"prompt": "a", "max_tokens": 1}'
        self.assertEqual(self.status_of(address, "POST", "/v1/completions", body), 200)  # It needs no model.
        self.assertEqual(self.status_of(address, "POST", "/v1/chat/completions", body), 400)

    def test_the_error_of_a_program_is_for_the_log_unless_the_operator_shows_it(self):
        script = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "fails.js"
        script.write_text("""export async function serve(request) {
          if (request.query === "refuse") throw request.refuse(404, "there is no chat bob");
          return undefined.secret;
        }""")
        for flags in ((), ("--show-errors",)):
            address = self.serving("--endpoint", f"GET /fails={script}", "--endpoint", f"GET /v1/fails={script}", *flags)
            for path in ("/fails", "/v1/fails"):
                answer = self.answer_of(address, "GET", path, headers={"x-request-id": "one"})
                self.assertEqual((answer.status, answer.headers["x-request-id"]), (500, "one"), answer.body)
                message = answer.json["error"]["message"]
                self.assertTrue(message.startswith("internal error"), message)
                self.assertTrue(message.endswith("the log of the server has more under the request one"), message)
                self.assertEqual("secret" in message, bool(flags), message)
            answer = self.answer_of(address, "GET", "/fails?refuse", headers={"x-request-id": "one"})
            self.assertEqual((answer.status, answer.json["error"]),
                             (404, {"code": "not-found", "message": "there is no chat bob", "request_id": "one"}))

    def test_programs_in_the_same_folder_may_be_named_too(self):
        address = self.serving(str(harness.programs.BUILD / "inferlets"))
        self.assertEqual(self.status_of(address, "GET", "/v1/models"), 200)


if __name__ == "__main__":
    harness.main()
