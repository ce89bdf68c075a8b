"""A server on loopback that answers well and badly, for net.cpp."""
import http.server
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body, status=200, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def raw(self, text):
        self.wfile.write(text)
        self.wfile.flush()
        self.close_connection = True

    def chunks(self):
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def do_GET(self):
        if self.path == "/page":
            self.answer(b"a page", headers=[("content-type", "text/plain")])
        elif self.path == "/elsewhere":
            self.answer(b"", 302, [("location", "http://127.0.0.1:1/")])
        elif self.path == "/broken":
            self.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
        elif self.path == "/nonsense":
            self.raw(b"no HTTP at all\r\n\r\n")
        elif self.path == "/no_gzip":
            self.answer(b"this is no gzip", headers=[("content-encoding", "gzip")])
        elif self.path == "/large":
            self.answer(bytes(2 << 20))
        elif self.path == "/headers":
            self.answer(b"", headers=[(f"x-{i}", "a" * 8000) for i in range(10)])
        elif self.path == "/silent":
            self.rfile.read(1)  # Until the peer has gone.
            self.close_connection = True
        else:
            self.answer(b"nothing here", 404)

    def do_POST(self):
        if self.path == "/broken":
            return self.do_GET()
        length = self.headers.get("content-length")
        body = self.chunks() if length is None else self.rfile.read(int(length))
        self.answer(body)

    do_PUT = do_POST


def start():
    """A server and its port; it ends with the process."""

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request, client_address):
            pass  # Clients here leave in the middle of a response.

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_address[1]
