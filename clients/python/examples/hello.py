"""Uploads a program, runs it with the arguments of the command line and prints what it says.

    python examples/hello.py ws://127.0.0.1:7847 build/release/inferlets/hello.wasm --name you
"""

import asyncio
import sys

import quire


async def main(url: str, wasm: str, arguments: list[str]) -> int:
    async with quire.Client(url) as client:
        program = await client.upload(wasm)
        instance = await client.launch(program, arguments)
        async for message in instance:
            sys.stdout.buffer.write(message)
            sys.stdout.flush()
        end = await instance.result()
        if not end.ok:
            print(f"error: {end.message or 'exit code ' + str(end.exit_code)}", file=sys.stderr)
        print(
            f"[{end.kind}, {end.computed_token_count} tokens computed, "
            f"{end.duration_ns / 1e6:.1f} ms]",
            file=sys.stderr,
        )
        return 0 if end.ok else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:])))
    except (quire.QuireError, OSError) as error:  # No server, no such file, ...
        sys.exit(f"error: {error}")
