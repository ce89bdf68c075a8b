"""A hub of models on loopback, with the routes of huggingface.co, and the host to which it redirects.

There are two servers: the hub itself, and a CDN on another port, which gives the bytes of LFS files and must never see a
token. The test judge_test.py has the huggingface_hub package of PyPI agree that these routes are those of a hub. Faults are
switched on by the test: see Faults.
"""
import contextlib
import dataclasses
import hashlib
import http.server
import json
import re
import threading
import urllib.parse

TOKEN = "hf_of_a_test"
MIRROR = "/mirror"  # A path below which the hub has all its routes again.
SIGNATURE = "X-Amz-Signature=not-for-messages"


@dataclasses.dataclass
class Faults:
    """The faults of the hub. Each is off by default."""
    cut_at: int = None             # The CDN closes the connection at this byte of a file.
    cut_count_max: int = 1 << 30   # How often it does.
    flip_at: int = None            # The CDN gives this byte of a file wrong.
    flip_count_max: int = 1 << 30
    has_no_ranges: bool = False    # The CDN always gives the whole file.
    range_shift: int = 0           # The CDN's ranges begin so many bytes later than asked.
    length: int = None             # The CDN gives so many bytes of a file, and says so.
    hides_length: bool = False     # In chunks, without a length.
    linked_etag: str = None        # Instead of the SHA-256.
    location: str = None           # Where every file is said to be.
    next_page: str = None          # Where the list of files is said to go on.
    text: bytes = None             # What the hub gives for a file that is in git itself.
    answer: tuple = None           # (status, headers) for every request to the hub.
    cdn_answers: list = dataclasses.field(default_factory=list)  # (status, headers) or None, one for each request.
    pause: threading.Event = None  # The CDN waits for it after `cut_at` bytes, and goes on.


def git_blob(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclasses.dataclass
class File:
    data: bytes
    is_lfs: bool

    def __post_init__(self):
        self.sha256 = hashlib.sha256(self.data).hexdigest()
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(self.data)}\n".encode()
        self.pointer_bytes = len(pointer)
        self.blob = git_blob(pointer if self.is_lfs else self.data)


@dataclasses.dataclass
class Repository:
    name: str
    is_private: bool = False
    is_gated: bool = False
    architecture: str = None
    commits: dict = dataclasses.field(default_factory=dict)
    refs: dict = dataclasses.field(default_factory=dict)

    def push(self, files, commit=None, ref="main"):
        """A commit of these files alone. Text goes into git itself, everything else into LFS."""
        content = {path: File(data, not path.endswith((".json", ".md", ".txt", ".jinja"))) for path, data in files.items()}
        state = json.dumps([self.name, len(self.commits), {path: each.blob for path, each in content.items()}])
        commit = commit or hashlib.sha1(state.encode()).hexdigest()
        self.commits[commit] = content
        self.refs[ref] = commit
        return commit

    def commit_of(self, revision):
        return revision if revision in self.commits else self.refs.get(revision)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle(self):
        with contextlib.suppress(ConnectionError):  # Clients leave in the middle.
            super().handle()

    def send(self, status, headers=(), body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name.lower() in ("content-length", "transfer-encoding") for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def note(self):
        self.server.hub.requests.append(Request(self.command, self.path, dict(self.headers), self.server.role))

    def do_HEAD(self):
        self.do_GET()


@dataclasses.dataclass
class Request:
    method: str
    path: str
    headers: dict
    role: str  # "hub" or "cdn".

    def header(self, name):
        return next((value for key, value in self.headers.items() if key.lower() == name.lower()), None)


class HubHandler(Handler):
    def refuse(self, status, code=None, message=None, more=()):
        headers = list(more)
        if code:
            headers.append(("X-Error-Code", code))
        if message:
            headers.append(("X-Error-Message", message))
        self.send(status, headers, json.dumps({"error": message or code or "error"}).encode())

    def repository(self, name):
        """The repository that the client may read; None after a refusal."""
        repository = self.server.hub.repositories.get(name)
        has_token = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        if self.headers.get("Authorization") and not has_token:
            return self.refuse(401, None, "Invalid credentials in Authorization header")
        if repository is None or (repository.is_private and not has_token):
            # The real hub does not say which.
            if has_token:
                return self.refuse(404, "RepoNotFound", "Repository not found")
            return self.refuse(401, "RepoNotFound", "Invalid username or password.")
        return repository

    def may_read(self, repository):
        if not repository.is_gated or self.headers.get("Authorization"):
            return True
        self.refuse(401, "GatedRepo", f"Access to model {repository.name} is restricted. You must have access to it and be "
                                      "authenticated to access it. Please log in.")
        return False

    def do_GET(self):
        self.note()
        faults = self.server.hub.faults
        if faults.answer:
            status, headers = faults.answer
            return self.refuse(status, None, None, headers)
        url = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(url.path).removeprefix(MIRROR)
        query = dict(urllib.parse.parse_qsl(url.query))
        name = r"(?P<name>[\w.-]+/[\w.-]+)"
        for pattern, answer in ((rf"/api/models/{name}", self.about),
                                (rf"/api/models/{name}/revision/(?P<revision>[^/]+)", self.about),
                                (rf"/api/models/{name}/tree/(?P<revision>[^/]+)", self.tree),
                                (rf"/api/resolve-cache/models/{name}/(?P<revision>[^/]+)/(?P<file>.+)", self.cached),
                                (rf"/{name}/resolve/(?P<revision>[^/]+)/(?P<file>.+)", self.resolve)):
            match = re.fullmatch(pattern, path)
            if match:
                parts = match.groupdict()
                repository = self.repository(parts["name"])
                if repository is None:
                    return None
                commit = repository.commit_of(parts.get("revision") or "main")
                if commit is None:
                    return self.refuse(404, "RevisionNotFound", f"Invalid rev id: {parts['revision']}")
                return answer(repository, commit, parts.get("file"), query)
        return self.refuse(404, None, "Sorry, we can't find the page you are looking for.")

    def about(self, repository, commit, _, query):
        siblings = []
        for path, file in repository.commits[commit].items():
            entry = {"rfilename": path}
            if query.get("blobs"):
                entry |= {"size": len(file.data), "blobId": file.blob}
                if file.is_lfs:
                    entry["lfs"] = {"sha256": file.sha256, "size": len(file.data), "pointerSize": file.pointer_bytes}
            siblings.append(entry)
        answer = {"_id": "0" * 24, "id": repository.name, "modelId": repository.name, "author": repository.name.split("/")[0],
                  "sha": commit, "lastModified": "2025-01-01T00:00:00.000Z", "createdAt": "2025-01-01T00:00:00.000Z",
                  "private": repository.is_private, "gated": "manual" if repository.is_gated else False,
                  "disabled": False, "tags": ["gguf"], "downloads": 0, "likes": 0, "siblings": siblings}
        if repository.architecture:
            answer["gguf"] = {"total": 1000, "architecture": repository.architecture, "context_length": 64}
        self.send(200, [("Content-Type", "application/json")], json.dumps(answer).encode())

    def tree(self, repository, commit, _, query):
        files = repository.commits[commit]
        folders = sorted({path.rsplit("/", 1)[0] for path in files if "/" in path})
        entries = [{"type": "directory", "oid": "1" * 40, "size": 0, "path": path} for path in folders]
        for path, file in files.items():
            # The size of an LFS file is that of its bytes here as well.
            entry = {"type": "file", "oid": file.blob, "size": len(file.data), "path": path}
            if file.is_lfs:
                entry["lfs"] = {"oid": file.sha256, "size": len(file.data), "pointerSize": file.pointer_bytes}
            entries.append(entry)
        begin = int(query.get("cursor", "0"))
        end = begin + self.server.hub.page_entries
        headers = [("Content-Type", "application/json")]
        if end < len(entries):
            next_query = urllib.parse.urlencode({**query, "cursor": end})
            address = f"{self.server.hub.url}/api/models/{repository.name}/tree/{commit}?{next_query}"
            headers.append(("Link", f'<{self.server.hub.faults.next_page or address}>; rel="next"'))
        self.send(200, headers, json.dumps(entries[begin:end]).encode())

    def resolve(self, repository, commit, path, _):
        if not self.may_read(repository):
            return
        file = repository.commits[commit].get(path)
        if file is None:
            self.refuse(404, "EntryNotFound", "Entry not found")
            return
        faults = self.server.hub.faults
        headers = [("X-Repo-Commit", commit), ("Accept-Ranges", "bytes")]
        if file.is_lfs:
            location = faults.location or f"{self.server.hub.cdn_url}/repos/{file.sha256}?{SIGNATURE}"
            self.send(302, [*headers, ("X-Linked-Size", str(len(file.data))),
                            ("X-Linked-Etag", f'"{faults.linked_etag or file.sha256}"'), ("Location", location)],
                      b"Found. Redirecting")
        else:
            quoted = urllib.parse.quote(path)
            self.send(307, [*headers, ("ETag", f'"{file.blob}"'), ("X-Linked-Size", str(len(file.data))),
                            ("Location", f"/api/resolve-cache/models/{repository.name}/{commit}/{quoted}?etag=x")],
                      b"Temporary Redirect")

    def cached(self, repository, commit, path, _):
        if self.may_read(repository):
            file = repository.commits[commit][path]
            self.send(200, [("X-Repo-Commit", commit), ("ETag", f'"{file.blob}"')], self.server.hub.faults.text or file.data)


class CdnHandler(Handler):
    def do_GET(self):
        self.note()
        hub = self.server.hub
        faults = hub.faults
        if self.command == "GET" and faults.cdn_answers:
            answer = faults.cdn_answers.pop(0)
            if answer:
                return self.send(*answer)
        digest = urllib.parse.urlsplit(self.path).path.removeprefix("/repos/")
        data = hub.data_of(digest)
        if data is None or SIGNATURE not in self.path:
            return self.send(403)
        if faults.flip_at is not None and faults.flip_count_max > 0:
            faults.flip_count_max -= 1
            data = data[:faults.flip_at] + bytes([data[faults.flip_at] ^ 1]) + data[faults.flip_at + 1:]
        if faults.length is not None:
            data = data[:faults.length].ljust(faults.length, b"x")
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if asked and not faults.has_no_ranges:
            begin = int(asked[1]) + faults.range_shift
            if begin >= len(data):
                return self.send(416, [("Content-Range", f"bytes */{len(data)}")])
            return self.give(206, data, begin, [("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")])
        return self.give(200, data, 0, [])

    def give(self, status, data, begin, headers):
        faults = self.server.hub.faults
        headers = [*headers, ("ETag", '"of-the-cdn"'), ("Content-Type", "application/octet-stream")]
        if faults.hides_length:
            headers.append(("Transfer-Encoding", "chunked"))
            body = data[begin:]
            return self.send(status, headers, b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        headers.append(("Content-Length", str(len(data) - begin)))
        if self.command == "HEAD":
            return self.send(status, headers)
        cuts = faults.cut_at is not None and faults.cut_at < len(data) and faults.cut_count_max > 0
        if not cuts:
            return self.send(status, headers, data[begin:])
        faults.cut_count_max -= 1
        self.send(status, headers, data[begin:faults.cut_at])
        self.wfile.flush()
        if faults.pause is not None:
            faults.pause.wait(60)
            self.wfile.write(data[max(begin, faults.cut_at):])
        else:
            self.close_connection = True
        return None


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, hub, role, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.hub = hub
        self.role = role
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass


class Hub:
    """Both servers, for as long as the block lasts."""

    def __init__(self):
        self.repositories = {}
        self.requests = []
        self.faults = Faults()
        self.page_entries = 1000

    def __enter__(self):
        self.servers = [Server(self, "hub", HubHandler), Server(self, "cdn", CdnHandler)]
        self.url, self.cdn_url = (each.url for each in self.servers)
        return self

    def __exit__(self, *_):
        for each in self.servers:
            each.shutdown()
            each.server_close()

    def add(self, name, files, commit=None, **more):
        repository = Repository(name, **more)
        repository.push(files, commit)
        self.repositories[name] = repository
        return repository

    def data_of(self, digest):
        for repository in self.repositories.values():
            for files in repository.commits.values():
                for file in files.values():
                    if file.is_lfs and file.sha256 == digest:
                        return file.data
        return None

    def of(self, role, path=""):
        """The requests to one server whose path holds `path`."""
        return [each for each in self.requests if each.role == role and path in each.path]

    def forget(self):
        """Requests and faults so far."""
        self.requests.clear()
        self.faults = Faults()
