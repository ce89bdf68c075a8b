"""Modules that are small to send and much to compile, as bytes of Wasm."""

I32, VOID, END = b"\x7f", b"\x40", b"\x0b"


def leb(number):
    out = bytearray()
    while True:
        byte, number = number & 0x7F, number >> 7
        out.append(byte | (0x80 if number else 0))
        if not number:
            return bytes(out)


def section(number, content):
    return bytes([number]) + leb(len(content)) + content


def vector(items):
    return leb(len(items)) + b"".join(items)


def module(bodies):
    """Functions without parameters or results; the last is the entry."""
    code = [leb(len(body)) + body for body in bodies]
    export = leb(3) + b"run" + b"\x00" + leb(len(bodies) - 1)
    return (b"\0asm\x01\0\0\0" + section(1, vector([b"\x60\0\0"])) +
            section(3, vector([b"\0"] * len(bodies))) + section(7, vector([export])) +
            section(10, vector(code)))


def numbered(wasm, number):
    """The same as another module: a custom section tells it apart."""
    return wasm + section(0, leb(6) + b"number" + leb(number))


def body(instructions, local_count=0):
    locals_ = vector([leb(local_count) + I32]) if local_count else b"\0"
    return locals_ + instructions + END


def many_functions(count):
    return module([body(b"\x41\x00\x1a" * 4)] * count)


def wide_table(count):
    """br_table with that many targets, all the same."""
    return module([body(b"\x02" + VOID + b"\x41\x00\x0e" + leb(count) + b"\0" * count + b"\0" + END)])


def deep_blocks(depth):
    return module([body((b"\x02" + VOID) * depth + END * depth)])


def deep_ifs(depth):
    return module([body((b"\x41\x00\x04" + VOID) * depth + END * depth)])


def deep_loops(depth):
    """Each loop may go back to the outermost."""
    return module([body((b"\x03" + VOID) * depth + END * depth)])


def deep_operands(depth):
    return module([body(b"\x41\x01" * depth + b"\x6a" * (depth - 1) + b"\x1a")])


def many_locals(count):
    return module([body(b"", count)])


def long_body(count):
    return module([body(b"\x41\x00\x1a" * count)])
