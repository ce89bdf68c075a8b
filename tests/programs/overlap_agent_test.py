#!/usr/bin/env python3
"""overlap_agent: tools run while the model writes the next call, documents are computed once, and dropped after use."""
import http.server
import re
import threading

import harness
import reference

DOCUMENTS = "The dictionary says what a word means. " * 12
QUESTION = "What are a mast and a sail?"


class Tool(http.server.BaseHTTPRequestHandler):
    """Answers no call before all of them have come."""
    calls = threading.Barrier(4, timeout=60)
    words = []

    def do_GET(self):
        Tool.words.append(self.path.rsplit("=", 1)[1])
        Tool.calls.wait()
        body = b"a thing at sea"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


TOOL = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Tool)
threading.Thread(target=TOOL.serve_forever, daemon=True).start()


class OverlapAgentTest(harness.ProgramTest):
    flags = ("--allow-http", f"127.0.0.1:{TOOL.server_port}")

    def ask(self, *arguments, documents=DOCUMENTS, count=16):
        return self.run_program("overlap_agent", "--calls", 4, "--max-tokens", count, "--ignore-eos", "--stop", "never", "--documents", documents,
                                *arguments, QUESTION)

    def pages_held(self, ran):
        return int(re.search(r"at most (\d+) pages", ran.err)[1])

    def order(self, ran):
        """In which order calls were written and tools were started."""
        return re.findall(r"^info: (call|looks) ", ran.err, re.MULTILINE)

    def test_tools_run_while_the_next_call_is_written(self):
        overlapped, waiting = self.ask(), self.ask("--without-overlap")
        self.assertEqual(overlapped.out, waiting.out)
        self.assertEqual(self.order(overlapped), ["call", "looks"] * 4)
        self.assertEqual(self.order(waiting), ["call"] * 4 + ["looks"] * 4)

    def test_documents_are_computed_once_for_all_runs(self):
        documents = "Once. " + DOCUMENTS
        count = len(reference.tokens_of(harness.BUILD, documents))
        first, second = self.ask(documents=documents), self.ask(documents=documents)
        self.assertLess(second.cost.computed, first.cost.computed - count + 16)
        self.assertEqual(first.out, second.out)

    def test_documents_are_dropped_after_the_last_call(self):
        pages = len(reference.tokens_of(harness.BUILD, DOCUMENTS)) // 16
        kept, dropped = self.ask("--without-dropping", count=200), self.ask(count=200)
        # A page holds the first tokens, and the most is held before the calls end or after the answer.
        self.assertGreater(self.pages_held(kept) - self.pages_held(dropped), pages // 2)

    def test_calls_to_the_outside_are_under_way_together(self):
        ran = self.ask("--url", f"http://127.0.0.1:{TOOL.server_port}/?word=")
        self.assertEqual(ran.out.count(": a thing at sea\n"), 4)
        self.assertEqual(len(Tool.words), 4)

    def test_an_error_of_a_tool_is_a_result(self):
        ran = self.ask("--url", "http://127.0.0.1:1/")
        self.assertEqual(ran.out.count("permission-denied"), 4)


if __name__ == "__main__":
    harness.main()
