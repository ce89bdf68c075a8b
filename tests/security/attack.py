"""For the tests of this folder: a server as a process, raw sockets, and requests that no library would send."""
import base64
import hashlib
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release").resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "tests/golden/tiny_llama"
GUESTS = BUILD / "tests/security"
PATIENCE = 60.0


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("QUIRE_")}


def add_key(file, name, *flags):
    return subprocess.run([BUILD / "quire", "keys", "add", name, "--keys", file, *flags], check=True, text=True,
                          stdout=subprocess.PIPE, env=environment()).stdout.strip()


def key_file(test):
    """For the keys of a class of tests, as long as it runs."""
    folder = tempfile.TemporaryDirectory()
    test.addClassCleanup(folder.cleanup)
    return pathlib.Path(folder.name) / "keys.txt"


def bearer(key):
    return [("Authorization", "Bearer " + key)]


class Server:
    """For as long as the block lasts. `prefix` are words in front of the program's, `variables` those of its environment."""

    def __init__(self, *flags, prefix=(), model=MODEL, page_count=256, has_store=False, variables=None):
        self.folder = tempfile.TemporaryDirectory()
        self.err = open(pathlib.Path(self.folder.name) / "err", "w+")
        self.process = subprocess.Popen(
            [*prefix, BUILD / "quire", "serve", "--listen", "127.0.0.1:0", "--json", "--kv-pages", str(page_count), "--model", model,
             *(["--store", pathlib.Path(self.folder.name) / "store"] if has_store else ["--no-store"]), *map(str, flags)],
            stdout=subprocess.PIPE, stderr=self.err, text=True, env=environment() | (variables or {}))
        line = self.process.stdout.readline()
        if not line:
            self.stop()
            raise RuntimeError("the server did not start: " + self.log())
        self.address = ("127.0.0.1", int(re.search(r":(\d+)", json.loads(line)["url"].split("//")[1]).group(1)))

    def log(self):
        self.err.seek(0)
        return self.err.read()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.err.close()
        self.folder.cleanup()

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))

    def folder_bytes(self, name):
        return sum(each.stat().st_size for each in (pathlib.Path(self.folder.name) / name).iterdir())

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptor_count(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def metrics(self, key=None):
        """The value of each line of the page of metrics."""
        _, _, body = http(self, "GET", "/metrics", bearer(key) if key else [])
        lines = [line.rpartition(" ") for line in body.decode().splitlines() if line and not line.startswith("#")]
        return {name: float(value) for name, _, value in lines}

    def instance_count(self):
        return sum(value for name, value in self.metrics().items() if name.startswith("quire_instances{"))


def connect(server, timeout=PATIENCE):
    connection = socket.create_connection(server.address, timeout=timeout)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def request(method, path, headers=(), body=b"", host="127.0.0.1"):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers)]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin1") + b"\r\n\r\n" + body


def read_all(connection, timeout):
    """The bytes that came, and the state of the connection then: closed, open or reset."""
    connection.settimeout(timeout)
    got = b""
    try:
        while part := connection.recv(1 << 16):
            got += part
        return got, "closed"
    except socket.timeout:
        return got, "open"
    except OSError:
        return got, "reset"


def raw(server, data, timeout=PATIENCE):
    with connect(server) as connection:
        connection.sendall(data)
        return read_all(connection, timeout)


def statuses(got):
    return [int(each) for each in re.findall(rb"HTTP/1\.[01] (\d{3}) ", got)]


def http(server, method, path, headers=(), body=b"", host="127.0.0.1", timeout=PATIENCE):
    """Status, head and body of a request on a connection of its own; status 0: it was closed without an answer."""
    got, _ = raw(server, request(method, path, [*headers, ("Connection", "close")], body, host), timeout)
    head, _, rest = got.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in head.lower():
        whole = b""
        while rest and (size := int(rest.partition(b"\r\n")[0], 16)):
            rest = rest.partition(b"\r\n")[2]
            whole, rest = whole + rest[:size], rest[size + 2:]
        rest = whole
    return (statuses(got) or [0])[0], head, rest


class WebSocket:
    """As much of the protocol as these tests need, blocking."""

    def __init__(self, server, key=None, host="127.0.0.1"):
        self.socket = connect(server)
        self.buffer = b""
        self.last_id = 0
        headers = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
                   ("Sec-WebSocket-Key", base64.b64encode(os.urandom(16)).decode()),
                   ("Sec-WebSocket-Protocol", "quire.1" + (f", quire.key.{key}" if key else ""))]
        self.socket.sendall(request("GET", "/", headers, host=host))
        while b"\r\n\r\n" not in self.buffer:
            part = self.socket.recv(4096)
            if not part:
                break
            self.buffer += part
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        self.status = (statuses(head) or [0])[0]

    def send(self, head):
        data, mask = json.dumps(head).encode(), os.urandom(4)
        size = bytes([128 | len(data)]) if len(data) < 126 else bytes([254]) + struct.pack(">H", len(data))
        self.socket.sendall(b"\x81" + size + mask + bytes(each ^ mask[i % 4] for i, each in enumerate(data)))

    def send_binary(self, data):
        """A frame with a binary payload, under a mask of zeros, which changes nothing."""
        length = len(data)
        size = (bytes([128 | length]) if length < 126 else bytes([254]) + struct.pack(">H", length) if length < 65536
                else bytes([255]) + struct.pack(">Q", length))
        self.socket.sendall(b"\x82" + size + bytes(4) + data)

    def take(self, count):
        while len(self.buffer) < count:
            part = self.socket.recv(1 << 20)
            if not part:
                raise ConnectionError("closed")
            self.buffer += part
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def receive(self):
        """The next frame: what it says, and its bytes."""
        while True:
            first, size = self.take(2)
            if size >= 126:
                size = struct.unpack(">H", self.take(2))[0] if size == 126 else struct.unpack(">Q", self.take(8))[0]
            data = self.take(size)
            if first & 15 == 1:
                return json.loads(data), b""
            if first & 15 == 2:
                end = 4 + int.from_bytes(data[:4], "little")
                return json.loads(data[4:end]), data[end:]

    def launch(self, program, *arguments):
        self.last_id += 1
        self.send({"verb": "launch", "id": self.last_id, "program": program, "arguments": list(arguments)})

    def end(self):
        """The end of the next instance that ends."""
        while (head := self.receive()[0]).get("event") != "ended":
            if head.get("reply") == "error":
                raise RuntimeError(head)
        return head

    def run(self, program, *arguments):
        """The messages of a launch, until it has ended."""
        self.launch(program, *arguments)
        messages = []
        while True:
            head, data = self.receive()
            if head.get("reply") == "error":
                raise RuntimeError(head)
            if head.get("event") == "message":
                messages.append(data)
            elif head.get("event") == "ended":
                return messages

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def upload(socket, wasm, announced=None, name=None):
    """The first part of a module, of which so many bytes are announced; the reply."""
    socket.last_id += 1
    program = "sha256:" + (name or hashlib.sha256(wasm).hexdigest())
    head = json.dumps({"verb": "upload", "id": socket.last_id, "program": program,
                       "program_bytes": announced or len(wasm), "offset": 0}).encode()
    socket.send_binary(len(head).to_bytes(4, "little") + head + wasm)
    while (reply := socket.receive()[0]).get("id") != socket.last_id:
        pass
    return reply


def until(wanted, patience=PATIENCE):
    """Whether it comes true in time."""
    end = time.monotonic() + patience
    while not wanted():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def main():
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
