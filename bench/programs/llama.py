"""llama-server and its client: what a program of Quire is compared with.

A context is a list of parts: texts, and the tokens that the model wrote. The server takes both in
one prompt. A context therefore goes on with exactly the tokens that a slot holds, and the server's
prompt cache always matches.
"""
import asyncio
import math
import pathlib
import subprocess
import time
from typing import Any, Sequence

from http_client import HttpClient

SLOT_COUNT = 16
SLOT_TOKENS = 2048
START_SECONDS = 120


def flags(model: pathlib.Path, slot_count: int = SLOT_COUNT) -> list[str]:
    """The flags that were best here; README.md has what was tried."""
    return ["--model", str(model), "--threads", "2", "--parallel", str(slot_count),
            "--ctx-size", str(slot_count * SLOT_TOKENS), "--flash-attn", "on", "--cache-reuse", "16",
            "--threads-http", "80", "--no-webui"]


class Server:
    """`llama-server` on a free port, for as long as the block lasts."""

    def __init__(self, folder: pathlib.Path, model: pathlib.Path, port: int, slot_count: int = SLOT_COUNT,
                 more: Sequence[str] = ()) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [folder / "llama-server", *flags(model, slot_count), "--host", "127.0.0.1", "--port", str(port), *more],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    async def ready(self) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                await HttpClient(self.url).get("/health")
                return
            except (OSError, RuntimeError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.2)
        raise RuntimeError("llama-server did not start")

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)


class Counts:
    """Counts the requests of a run, and the tokens that llama-server computed or found for them."""

    def __init__(self) -> None:
        self.requests = self.generated = self.prompt_computed = self.prompt_found = 0

    def add(self, answer: dict[str, Any]) -> None:
        timings = answer["timings"]
        self.requests += 1
        self.generated += answer["tokens_predicted"]
        self.prompt_computed += timings["prompt_n"]
        self.prompt_found += timings.get("cache_n", 0)


class Llama:
    """A client of llama-server; texts have the length that is asked for."""

    def __init__(self, url: str, counts: Counts) -> None:
        self._http = HttpClient(url)
        self.counts = counts

    async def complete(self, prompt: list[Any], token_count: int, **more: Any) -> dict[str, Any]:
        return (await self.completions(prompt, token_count, 1, **more))[0]

    async def completions(self, prompt: list[Any], token_count: int, count: int, **more: Any) -> list[dict[str, Any]]:
        """Several ways to go on with one prompt, which llama-server computes once (n_cmpl)."""
        answer = await self._http.post_json("/completion", {
            "prompt": prompt, "n_cmpl": count, "n_predict": token_count, "cache_prompt": True, "ignore_eos": True,
            "return_tokens": True, "temperature": 0.0, "samplers": ["top_k", "temperature"],
            "response_fields": ["content", "tokens", "tokens_predicted", "timings", "completion_probabilities",
                                "id_slot"],
            **more})
        answers = answer if isinstance(answer, list) else [answer]
        for each in answers:
            self.counts.add(each)
            # The server completes a character of several bytes, whatever the limit.
            if not token_count <= each["tokens_predicted"] <= token_count + 3 and "json_schema" not in more:
                raise RuntimeError(f"{each['tokens_predicted']} tokens were written, not {token_count}")
        return answers

    def close(self) -> None:
        self._http.close()


class Chat:
    """A conversation in the chat template of Qwen2.5 (ChatML); copies are forks."""

    SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."

    def __init__(self, llama: Llama, system: str = SYSTEM) -> None:
        self.llama = llama
        self.parts: list[Any] = [f"<|im_start|>system\n{system}<|im_end|>\n"]
        self._is_open = False  # The model's turn has begun, and its end is not written.

    def fork(self) -> "Chat":
        copy = Chat(self.llama)
        copy.parts, copy._is_open = list(self.parts), self._is_open
        return copy

    def add(self, role: str, content: str) -> None:
        self._text(("<|im_end|>\n" if self._is_open else "") + f"<|im_start|>{role}\n{content}<|im_end|>\n")
        self._is_open = False

    def user(self, content: str) -> None:
        self.add("user", content)

    def begin_answer(self) -> None:
        if not self._is_open:
            self._text("<|im_start|>assistant\n")
            self._is_open = True

    def answered(self, tokens: list[int]) -> None:
        """Adds tokens that the model wrote elsewhere as its turn here."""
        self.begin_answer()
        self.parts += tokens

    async def next_tokens(self, count: int) -> list[tuple[str, float]]:
        """The most probable next tokens, as texts with their probabilities."""
        self.begin_answer()
        answer = await self.llama.complete(self.parts, 1, n_probs=count)
        top = answer["completion_probabilities"][0]["top_logprobs"]
        return [(each["token"], math.exp(each["logprob"])) for each in top]

    async def branches(self, count: int, token_count: int, **more: Any) -> list["Chat"]:
        """Forks, in each of which the model writes so many tokens."""
        self.begin_answer()
        forks = [self.fork() for _ in range(count)]
        for fork, answer in zip(forks, await self.llama.completions(self.parts, token_count, count, **more)):
            fork.parts += answer["tokens"]
        return forks

    async def write(self, token_count: int, **more: Any) -> str:
        """The model writes so many tokens."""
        self.begin_answer()
        answer = await self.llama.complete(self.parts, token_count, **more)
        self.parts += answer["tokens"]
        return answer["content"]

    def _text(self, text: str) -> None:
        if self.parts and isinstance(self.parts[-1], str):
            self.parts[-1] += text
        else:
            self.parts.append(text)
