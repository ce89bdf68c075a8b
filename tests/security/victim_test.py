"""A stream of one tenant beside programs of another: how much longer its slowest tokens take. Measures, for minutes."""
import json
import multiprocessing
import os
import statistics
import time

import attack

MODEL = os.environ.get("QUIRE_MODEL", os.path.expanduser("~/.local/share/quire/models/smollm2-135m-instruct.gguf"))
TOKEN_COUNT = 150
PAIR_COUNT = int(os.environ.get("QUIRE_PAIRS", "5"))
ATTACKER_COUNT = 4
RATIO_MAX = 1.5
CLIENT_NICENESS = 5  # What the attackers' clients compute is not the server's; on two cores they would take its time.
SETTLE_SECONDS = 1.5


def stream(server, key):
    """The text of the victim's stream, and the seconds between its tokens."""
    body = json.dumps({"model": "smollm2-135m-instruct", "prompt": "The history of the lighthouse begins", "stream": True,
                       "max_tokens": TOKEN_COUNT, "temperature": 0}).encode()
    text, times, rest = "", [], b""
    with attack.connect(server) as connection:
        connection.sendall(attack.request("POST", "/v1/completions", attack.bearer(key) + [("Connection", "close")], body))
        while part := connection.recv(1 << 16):
            now = time.monotonic()
            rest += part
            *lines, rest = rest.split(b"\n")
            for line in lines:
                if line.startswith(b"data: {"):
                    choices = json.loads(line[6:])["choices"]
                    if choices and choices[0]["text"]:
                        text += choices[0]["text"]
                        times.append(now)
    return text, [after - before for before, after in zip(times, times[1:])]


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def be_client(address, key, program, arguments, count):
    """A client that launches the program and takes what it says, until it is ended."""
    os.nice(CLIENT_NICENESS)
    server = type("Address", (), {"address": address})
    peer = attack.WebSocket(server, key)
    peer.send({"verb": "launch", "id": 1, "program": program, "arguments": arguments})
    space = bytearray(1 << 20)
    while taken := peer.socket.recv_into(space):
        with count.get_lock():
            count.value += taken


class Attackers:
    """Programs of the other tenant, for as long as the block lasts."""

    def __init__(self, server, key, program):
        self.count = multiprocessing.Value("Q", 0)
        self.clients = [multiprocessing.Process(target=be_client, daemon=True,
                                                args=(server.address, key, program, [str(number)], self.count))
                        for number in range(ATTACKER_COUNT)]

    def __enter__(self):
        for each in self.clients:
            each.start()
        time.sleep(SETTLE_SECONDS)
        self.start = (time.monotonic(), self.count.value)
        return self

    def rate(self):
        return (self.count.value - self.start[1]) / (time.monotonic() - self.start[0])

    def __exit__(self, *_):
        for each in self.clients:
            each.kill()
            each.join()


class BesideAnotherTenant(attack.unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        keys = attack.key_file(cls)
        cls.victim = attack.add_key(keys, "victim", "--tenant", "1")
        cls.other = attack.add_key(keys, "other", "--tenant", "2")
        cls.operator = attack.add_key(keys, "operator", "--tenant", "3", "--rights", "operate")
        cls.server = cls.enterClassContext(attack.Server(
            "--keys", keys, "--grace", "0.1", "--limit", "output_bytes_max=1024GiB", attack.GUESTS / "flood.wasm", attack.GUESTS / "grammars.wasm", model=MODEL, page_count=512))
        cls.text, _ = stream(cls.server, cls.victim)

    def measure(self, program):
        ratios = []
        for _ in range(PAIR_COUNT):
            alone_text, alone = stream(self.server, self.victim)
            with Attackers(self.server, self.other, program) as attackers:
                beside_text, beside = stream(self.server, self.victim)
                rate = attackers.rate()
                self.assertEqual(self.instance_count(), ATTACKER_COUNT, "the attackers go on")
            self.assertEqual((alone_text, beside_text), (self.text, self.text), "the text is the same bytes")
            self.assertTrue(attack.until(lambda: self.instance_count() == 0), "attackers end with their clients")
            figures = [percentile(gaps, part) * 1000 for part in (0.5, 0.99) for gaps in (alone, beside)]
            ratios.append(figures[3] / figures[2])
            print("{}: median {:.1f} alone, {:.1f} beside; p99 {:.1f}, {:.1f} ms; {:.2f} times; {:.1f} MB/s; load {:.1f}".format(
                program, *figures, ratios[-1], rate / 1e6, os.getloadavg()[0]), flush=True)
        print(f"{program}: the median of {PAIR_COUNT} pairs is {statistics.median(ratios):.2f}", flush=True)
        self.assertLessEqual(statistics.median(ratios), RATIO_MAX)

    def instance_count(self):
        metrics = self.server.metrics(self.operator)
        return sum(value for name, value in metrics.items() if name.startswith("quire_instances{"))

    def test_floods_of_output(self):
        self.measure("flood")

    def test_grammars(self):
        self.measure("grammars")


if __name__ == "__main__":
    attack.main()
