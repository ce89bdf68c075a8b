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

    def test_every_code_has_its_exception_and_new_ones_have_the_base(self) -> None:
        full = errors.error_of("unavailable", "full", 1500)
        self.assertIsInstance(full, errors.Unavailable)
        self.assertEqual((full.retry_after, full.code, str(full)), (1.5, "unavailable", "full"))
        other = errors.error_of("no-free-page", "none")
        self.assertIs(type(other), errors.QuireError)
        self.assertEqual((other.code, other.retry_after), ("no-free-page", None))


if __name__ == "__main__":
    unittest.main()
