#!/usr/bin/env python3
"""Replays a recorded session of a coding agent at a server of chat completions, and reports each turn.

    replay.py URL [--model NAME] [--session FILE] [--max-tokens 96] [--sessions 1] [--first N] [--pid PID]
              [--quire-log FILE] [--json FILE]

The first line of the session is a whole request; each other line has the messages that the next request adds. Requests go in
order, streamed, at temperature 0. With --sessions N, N copies take turns that differ in the first line of their system prompt.
Turn 1 of each copy comes first, then turn 2 of each. With --at-once the copies send their turns at the same time.
A turn's row has the tokens of the prompt, those found in the cache, and the seconds to the first event with text or a call. It
also has the tokens drawn, the tokens per second after the first, the seconds in all and the longest silence. With --pid it has
the CPU seconds of that process. A server may keep a call back until it is whole. So server_prefill_s and server_decode_s are
what the server reports itself. The sum of the answers' text is hashed, to compare two runs of one server. Only Python's
standard library is needed.
"""
import argparse
import hashlib
import http.client
import json
import os
import pathlib
import secrets
import threading
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent


def requests_of(path):
    """The bodies of the session, each whole: a line with `append` goes on from the one before it."""
    body = {}
    for line in path.read_text().splitlines():
        line = json.loads(line)
        body = line if "messages" in line else dict(body, messages=body["messages"] + line["append"])
        yield body


def cpu_seconds(pid):
    if not pid:
        return None
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(url, body, pid, log=None):
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=3600)
    cpu = cpu_seconds(pid)
    start = time.monotonic()
    name = "replay-" + secrets.token_hex(8)
    connection.request("POST", address.path.rstrip("/") + "/v1/chat/completions", json.dumps(body),
                       {"content-type": "application/json", "x-request-id": name})
    response = connection.getresponse()
    if response.status != 200:
        raise SystemExit(f"status {response.status}: {response.read(2000).decode(errors='replace')}")
    first = None
    last, gap = start, 0.0
    usage, timings, text, calls, end = {}, {}, "", {}, None
    for line in response:
        if line.strip():  # Comments too, which keep a connection alive.
            now = time.monotonic()
            gap, last = max(gap, now - last), now
        if not line.startswith(b"data:") or line[5:].strip() == b"[DONE]":
            continue
        event = json.loads(line[5:])
        usage = event.get("usage") or usage
        timings = event.get("timings") or timings
        for choice in event.get("choices", []):
            delta = choice.get("delta", {})
            end = choice.get("finish_reason") or end
            if delta.get("content") or delta.get("tool_calls") or delta.get("reasoning_content"):
                first = first or now
            text += delta.get("content") or ""
            for call in delta.get("tool_calls") or []:
                function = call.get("function", {})
                calls[call["index"]] = calls.get(call["index"], "") + (function.get("name") or "") + (function.get("arguments") or "")
    done = time.monotonic()
    connection.close()
    drawn = usage.get("completion_tokens", 0)
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    if cached is None:
        cached = timings.get("cache_n")
    row = {"prompt": usage.get("prompt_tokens"), "cached": cached, "first_s": round((first or done) - start, 3), "drawn": drawn,
           "decode_tps": round((drawn - 1) / (done - first), 2) if first and drawn > 1 and done > first else None,
           "total_s": round(done - start, 3), "silence_s": round(gap, 2), "end": end, "calls": len(calls)}
    if timings:  # llama-server says what it took itself
        row |= {"server_prefill_s": round(timings.get("prompt_ms", 0) / 1000, 3), "server_decode_s": round(timings.get("predicted_ms", 0) / 1000, 3)}
        row |= {key: timings[key] for key in ("draft_n", "draft_n_accepted") if key in timings}
    elif log:  # Quire's request log (--log-format json) says when the first token was there, also of a call
        for entry in map(json.loads, log.read_text().splitlines()):
            if entry.get("request_id") == name:
                row |= {"server_prefill_s": round(entry["first_token_ms"] / 1000, 3),
                        "server_decode_s": round((entry["duration_ms"] - entry["first_token_ms"]) / 1000, 3)}
    if cpu is not None:
        row["cpu_s"] = round(cpu_seconds(pid) - cpu, 2)
    return row, text + "".join(calls.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--model", default="")
    parser.add_argument("--session", type=pathlib.Path, default=HERE / "session.jsonl")
    parser.add_argument("--max-tokens", type=int, default=96)
    parser.add_argument("--sessions", type=int, default=1)
    parser.add_argument("--at-once", action="store_true")
    parser.add_argument("--first", type=int, default=0, help="the first N turns alone")
    parser.add_argument("--pid", type=int, default=0)
    parser.add_argument("--tag", default="", help="a line before the system prompt, so that nothing is found of earlier runs")
    parser.add_argument("--quire-log", type=pathlib.Path, help="its standard error, with --log-format json")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    model = options.model
    if not model:
        address = urllib.parse.urlsplit(options.url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        connection.request("GET", address.path.rstrip("/") + "/v1/models")
        model = json.loads(connection.getresponse().read())["data"][0]["id"]
    turns = list(requests_of(options.session))[:options.first or None]
    rows, digest = [], hashlib.sha256()

    def one(copy, number, body):
        messages = list(body["messages"])
        head = options.tag + (f"Session {copy + 1}.\n" if options.sessions > 1 else "")
        if head:
            messages[0] = dict(messages[0], content=head + "\n" + messages[0]["content"])
        whole = dict(body, model=model, messages=messages, stream=True, stream_options={"include_usage": True}, temperature=0,
                     max_tokens=body.get("max_tokens_of_turn") or options.max_tokens)
        whole.pop("max_tokens_of_turn", None)
        row, text = ask(options.url, whole, options.pid, options.quire_log)
        return {"turn": number, "copy": copy} | row, text

    start, cpu = time.monotonic(), cpu_seconds(options.pid)
    for number, body in enumerate(turns, 1):
        results = [None] * options.sessions

        def work(copy):
            results[copy] = one(copy, number, body)
        if options.at_once:
            threads = [threading.Thread(target=work, args=(copy,)) for copy in range(options.sessions)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        else:
            for copy in range(options.sessions):
                work(copy)
        for row, text in results:
            rows.append(row)
            digest.update(text.encode())
            print(" ".join(f"{key}={value}" for key, value in row.items()), flush=True)
    total = {"turns": len(rows), "prompt": sum(row["prompt"] or 0 for row in rows), "cached": sum(row["cached"] or 0 for row in rows),
             "drawn": sum(row["drawn"] for row in rows), "first_s": round(sum(row["first_s"] for row in rows), 2),
             "wall_s": round(time.monotonic() - start, 2), "texts": digest.hexdigest()[:16]}
    if options.pid:
        total["cpu_s"] = round(cpu_seconds(options.pid) - cpu, 2)
    print("session", json.dumps(total))
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "session": total}, indent=1))


if __name__ == "__main__":
    main()
