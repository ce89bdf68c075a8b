"""Scripts as modules, written by hand for tests: right ones and wrong ones."""
import json
import pathlib
import struct

MAGIC = b"QSC1"


def text(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack("<I", len(data)) + data


def leb(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def custom(name, content):
    content = leb(len(name)) + name.encode() + content
    return b"\0" + leb(len(content)) + content


def runtime_of(folder, name):
    return json.loads((pathlib.Path(folder) / f"{name}.json").read_text())


def bundle(runtime, files, entry, options="", version=None, digest=None):
    out = MAGIC + text(runtime["name"]) + text(version or runtime["version"])
    out += bytes.fromhex(digest or runtime["digest"]) + struct.pack("<I", len(files))
    for path, content in sorted(files.items(), key=lambda item: item[0].encode()):
        out += text(path) + text(content)
    return out + text(entry) + text(options)


def module(script, options=""):
    out = b"\0asm\1\0\0\0" + custom("quire.script", script)
    return out + (custom("quire.options", options.encode()) if options else b"")
