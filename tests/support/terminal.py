"""A pseudo-terminal for tests: what a person at a terminal types and sees."""
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

PATIENCE = 60


class Terminal:
    """A command on a pseudo-terminal of its own; `seen` is what the command wrote there."""

    def __init__(self, command, environment, columns=200):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(command, stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                        env={"TERM": "xterm", "NO_COLOR": "1", **environment}, preexec_fn=self.own)
        self.seen = ""

    def own(self):
        """In the child: the terminal is its own, and sends it signals."""
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def echoes(self):
        """Whether the terminal shows what is typed by itself, as it does unless a line is edited."""
        return bool(termios.tcgetattr(self.slave)[3] & termios.ECHO)

    def read(self, seconds):
        """False: nothing more comes."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            part = os.read(self.master, 65536)
        except OSError:  # The process has closed its end.
            return False
        # Whether pastes are marked is for the terminal, and not to be seen.
        self.seen = (self.seen + part.decode(errors="replace").replace("\r\n", "\n")).replace(
            "\x1b[?2004h", "").replace("\x1b[?2004l", "")
        return bool(part)

    def wait_for(self, text, begin=0):
        """The place after `text`, from `begin` on."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen[begin:]:
            if time.monotonic() > deadline or not self.read(1):
                raise AssertionError(f"no {text!r} in:\n{self.seen}")
        return self.seen.index(text, begin) + len(text)

    def write(self, text):
        os.write(self.master, text.encode())

    def end(self):
        """The exit code, once all output has been read."""
        if self.slave is not None:
            os.close(self.slave)
            self.slave = None
        deadline = time.monotonic() + PATIENCE
        while self.read(1) and time.monotonic() < deadline:
            pass
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            os.close(self.master)
