#!/usr/bin/env python3
"""Stands between a client and a server of endpoints, and writes down what the client sends and what each turn costs.

    bench/serving/recording_proxy.py --server http://127.0.0.1:7847 --record FILE.jsonl
                                     [--listen 127.0.0.1:0] [--set '{"temperature": 0}']

A line of FILE is one request. It has the path, the body as the client sent it and the status. It
also has the usage, the calls and the seconds of the answer. The option --set puts members into each
body with messages, over the client's own. The first line of the output is the URL.
"""
import argparse
import http.client
import http.server
import json
import sys
import threading
import time
import urllib.parse

TIMEOUT_SECONDS = 900
PASSED_ON = ("content-type", "authorization", "user-agent", "x-session-id")


def summary_of(body):
    """Usage, calls and how it ended, of an answer of chat completions: whole or as a stream."""
    text = body.decode(errors="replace")
    if text.startswith("{"):
        chunks = [json.loads(text)]
    else:
        data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
        chunks = [json.loads(each) for each in data]
    found = {"usage": None, "calls": [], "text": "", "finish_reason": None, "error": None}
    for chunk in chunks:
        found["usage"] = chunk.get("usage") or found["usage"]
        found["error"] = chunk.get("error") or found["error"]
        for choice in chunk.get("choices") or []:
            part = choice.get("delta") or choice.get("message") or {}
            found["text"] += part.get("content") or ""
            found["finish_reason"] = choice.get("finish_reason") or found["finish_reason"]
            for call in part.get("tool_calls") or []:
                if call.get("id"):
                    found["calls"].append({"name": call["function"]["name"], "arguments": ""})
                found["calls"][-1]["arguments"] += call["function"].get("arguments") or ""
    return found


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.pass_on(None)

    def do_POST(self):
        self.pass_on(self.rfile.read(int(self.headers.get("content-length", 0))))

    def pass_on(self, body):
        proxy = self.server
        sent = body
        if body is not None and proxy.members:
            given = json.loads(body)
            sent = json.dumps({**given, **proxy.members}).encode() if "messages" in given else body
        headers = {name: self.headers[name] for name in PASSED_ON if name in self.headers}
        began = time.monotonic()
        connection = http.client.HTTPConnection(proxy.target, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(self.command, self.path, sent, headers)
            answer = connection.getresponse()
            received, first = self.give_back(answer)
        finally:
            connection.close()
        if body is not None:
            proxy.record({"path": self.path, "body": json.loads(body), "status": answer.status,
                          **summary_of(received), "first_seconds": round(first - began, 2),
                          "seconds": round(time.monotonic() - began, 2)})

    def give_back(self, answer):
        """All of the answer's body, and when its first part came; the client has each part at once."""
        self.send_response(answer.status)
        for name in ("content-type", "x-request-id", "retry-after"):
            if answer.headers[name]:
                self.send_header(name, answer.headers[name])
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        received, first = b"", None
        while part := answer.read1(65536):
            first = first or time.monotonic()
            received += part
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")
        return received, first or time.monotonic()


class RecordingProxy(http.server.ThreadingHTTPServer):
    """Serves until close(); `file` gets a line for each request that has a body."""
    daemon_threads = True

    def __init__(self, target, file, members=None, address=("127.0.0.1", 0)):
        super().__init__(address, Handler)
        self.target = urllib.parse.urlparse(target).netloc
        self.file, self.members, self.lock = file, members or {}, threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def record(self, line):
        with self.lock:
            self.file.write(json.dumps(line) + "\n")
            self.file.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--record", required=True)
    parser.add_argument("--listen", default="127.0.0.1:0")
    parser.add_argument("--set", default="{}", help="members of each body, as JSON")
    arguments = parser.parse_args()
    host, port = arguments.listen.rsplit(":", 1)
    with open(arguments.record, "w") as file:
        proxy = RecordingProxy(arguments.server, file, json.loads(arguments.set), (host, int(port)))
        print(proxy.url, flush=True)
        proxy.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
