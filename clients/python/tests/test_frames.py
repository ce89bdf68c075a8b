"""Frames and errors, without a server."""

import unittest

import serving  # noqa: F401 - finds the package
from quire import errors, frames


class Frames(unittest.TestCase):
    def test_bytes_are_the_ones_that_the_document_shows(self) -> None:
        head = {"verb": "send", "id": 4, "instance": 17}
        encoded = b'\x24\0\0\0{"verb":"send","id":4,"instance":17}hi'
        self.assertEqual(frames.encode(frames.Frame(head, b"hi")), encoded)
        self.assertEqual(frames.decode(encoded), frames.Frame(head, b"hi"))
        self.assertEqual(frames.encode(frames.Frame({"verb": "list"})), '{"verb":"list"}')
        self.assertEqual(frames.decode('{"é":1}'), frames.Frame({"é": 1}))

    def test_what_is_no_frame_is_refused(self) -> None:
        for wrong in (b"", b"\1\0\0", b"\5\0\0\0{}", b"\2\0\0\0{)", "{", "[1]", "7"):
            with self.assertRaises(errors.InvalidArgument, msg=repr(wrong)):
                frames.decode(wrong)

    def test_what_no_server_would_read_is_not_made(self) -> None:
        send = {"verb": "send", "id": 1, "instance": 2}
        frames.encode(frames.Frame(send, b"x" * frames.PAYLOAD_BYTES_MAX))
        for frame, what in (
            (frames.Frame(send, b"x" * (frames.PAYLOAD_BYTES_MAX + 1)), "payload of 1048577 bytes"),
            (frames.Frame({"name": "é" * (32 << 10)}, b""), "header of a binary frame of 65547"),
            (frames.Frame({"arguments": ["é" * (1 << 20)]}), "text frame of 2097170 bytes"),
        ):
            with self.assertRaises(errors.TooLarge) as refused:
                frames.encode(frame)
            self.assertIn(what, str(refused.exception))

    def test_every_code_has_its_exception_and_new_ones_have_the_base(self) -> None:
        full = errors.error_of("unavailable", "full", 1500)
        self.assertIsInstance(full, errors.Unavailable)
        self.assertEqual((full.retry_after, full.code, str(full)), (1.5, "unavailable", "full"))
        other = errors.error_of("no-free-page", "none")
        self.assertIs(type(other), errors.QuireError)
        self.assertEqual((other.code, other.retry_after), ("no-free-page", None))


if __name__ == "__main__":
    unittest.main()
