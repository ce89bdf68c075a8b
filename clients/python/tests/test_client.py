"""The client against a real server."""

import asyncio
import contextlib
import logging
import pathlib
import subprocess
import sys
import unittest
import unittest.mock
from typing import AsyncIterator

import websockets
import websockets.exceptions
from serving import BUILD, ROOT, Server, guest

import quire

PATIENCE = 60.0


def large_program(wasm: bytes, mark: int) -> bytes:
    """The same code in three parts, with another digest for each mark."""
    section = b"\4mark" + bytes([mark]) * ((2 << 20) + 10)
    size = len(section)
    digits = [size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127 | 128, size >> 21]
    return wasm + b"\0" + bytes(digits) + section


class WithServer(unittest.IsolatedAsyncioTestCase):
    arguments: tuple[str, ...] = ()
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server(*cls.arguments, programs=[guest("echo"), guest("files"), guest("parent")])

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.stop()

    async def asyncSetUp(self) -> None:
        self.client = quire.Client(self.server.url)
        await self.client.open()

    async def asyncTearDown(self) -> None:
        await self.client.close()

    async def soon(self, waiting):  # type: ignore[no-untyped-def]
        return await asyncio.wait_for(waiting, PATIENCE)


class Talking(WithServer):
    async def test_a_program_is_uploaded_launched_talked_to_and_ends(self) -> None:
        wasm = BUILD / "inferlets/hello.wasm"
        program = await self.soon(self.client.upload(wasm))
        self.assertEqual(await self.client.upload(wasm.read_bytes()), program)
        self.assertEqual((await self.client.find_program(program)).state, "ready")
        instance = await self.client.launch(program, ["--name", "you"])
        said = b"".join([message async for message in instance])
        self.assertTrue(said.startswith(b"Hello, you!"), said)
        end = (await self.soon(instance.result())).check()
        self.assertGreater(end.duration_ns, 0)
        self.assertGreaterEqual(end.duration_ns, end.first_message_ns)
        with self.assertRaises(quire.NotFound):
            await instance.receive()
        with self.assertRaises(quire.NotFound):
            await instance.send("too late")

    async def test_messages_go_both_ways_in_order_and_input_has_an_end(self) -> None:
        lines: list[quire.LogLine] = []
        instance = await self.client.launch("echo", on_log=lines.append)
        for number in range(200):
            await instance.send(f"message {number}")
        for number in range(200):
            self.assertEqual(await self.soon(instance.receive()), b"message %d\n" % number)
        await instance.send("log careful")
        await instance.close_input()
        end = await self.soon(instance.result())
        self.assertEqual(end.result, b"end: the client has ended its side")
        self.assertEqual(lines, [quire.LogLine("log", "info", "careful")])

    async def test_waits_end_after_a_timeout_and_nothing_is_lost(self) -> None:
        instance = await self.client.launch("echo")
        for late in (instance.receive(timeout=0.02), instance.receive_file(timeout=0), instance.result(0.02)):
            with self.assertRaisesRegex(quire.TimedOut, "nothing came within"):
                await late
        await instance.send("hi")
        self.assertEqual(await instance.receive(timeout=PATIENCE), b"hi\n")
        await instance.send("quit")
        end = await instance.result(timeout=PATIENCE)
        self.assertEqual(await instance.result(timeout=0), end)
        with self.assertRaises(quire.NotFound):
            await instance.receive(timeout=PATIENCE)

    async def test_a_log_goes_to_the_logger_unless_somebody_takes_it(self) -> None:
        with self.assertLogs("quire", logging.INFO) as logged:
            instance = await self.client.launch("echo")
            await instance.send("log careful")
            await instance.send("quit")
            await self.soon(instance.result())
        self.assertIn("careful", logged.output[0])

    async def test_an_on_log_that_fails_is_told_and_nobody_waits_in_vain(self) -> None:
        def fails(_: quire.LogLine) -> None:
            raise RuntimeError("no room for logs")

        with self.assertLogs("quire", logging.ERROR) as logged:
            instance = await self.client.launch("echo", on_log=fails)
            for message in ("log first", "log second", "quit"):
                await self.soon(instance.send(message))
            (await self.soon(instance.result())).check()
        self.assertEqual(len(logged.output), 2)
        self.assertIn("no room for logs", logged.output[0])

    async def test_an_end_says_what_went_wrong(self) -> None:
        instance = await self.client.launch("echo")
        await instance.send("crash")
        end = await self.soon(instance.result())
        self.assertEqual((end.kind, end.ok), ("trapped", False))
        with self.assertRaises(quire.InstanceFailed) as failed:
            end.check()
        self.assertIs(failed.exception.end, end)
        self.assertIn("trapped: ", str(failed.exception))

    async def test_the_error_that_a_program_returns_is_the_message_of_its_failure(self) -> None:
        program = await self.soon(self.client.upload(BUILD / "inferlets/text_completion.wasm"))
        instance = await self.client.launch(program, ["--prompt", "a", "--max-tokens", "many"])
        end = await self.soon(instance.result())
        self.assertEqual(end.kind, "finished")
        self.assertTrue(end.message.startswith("invalid-argument: --max-tokens"), end.message)
        with self.assertRaises(quire.InstanceFailed) as failed:
            end.check()
        self.assertEqual(str(failed.exception), f"the program ended: {end.message}")

    async def test_what_is_too_large_is_refused_and_costs_nobody_the_connection(self) -> None:
        instance = await self.client.launch("echo")
        with self.assertRaises(quire.TooLarge):
            await self.soon(instance.send(b"x" * ((1 << 20) + 1)))
        with self.assertRaises(quire.TooLarge):
            await self.soon(instance.send_file(b"x", "x" * (64 << 10)))
        with self.assertRaises(quire.TooLarge):
            await self.soon(self.client.launch("echo", ["x" * (3 << 20)]))
        with self.assertRaises(quire.TooLarge) as refused:  # The server's word.
            await self.soon(self.client.launch("echo", ["x" * ((1 << 20) + 1)]))
        self.assertIn("argument_bytes_max", str(refused.exception))
        with self.assertRaises(UnicodeEncodeError):
            await self.soon(self.client.launch("echo", ["\ud800"]))
        self.assertEqual(self.client._pending, {})
        await instance.send("still here")
        self.assertEqual(await self.soon(instance.receive()), b"still here\n")
        await instance.abort()

    async def test_abort_stops_what_would_run_for_ever(self) -> None:
        instance = await self.client.launch("echo")
        await instance.send("again 100000000")
        await self.soon(instance.receive())
        await instance.abort()
        end = await self.soon(instance.result())
        self.assertEqual((end.kind, end.message), ("killed", "aborted by its client"))

    async def test_many_instances_of_one_connection_do_not_mix_their_words(self) -> None:
        instances = await asyncio.gather(
            *(self.client.launch("echo", [f"instance {number}"]) for number in range(50))
        )
        self.assertEqual(
            {each.info for each in instances}, set(await self.client.list())
        )
        self.assertEqual((await self.client.list()).left_out_count, 0)
        said = await asyncio.gather(*(each.receive() for each in instances))
        self.assertEqual(said, [b"instance %d\n" % number for number in range(50)])
        await asyncio.gather(*(each.close_input() for each in instances))
        await self.soon(asyncio.gather(*(each.result() for each in instances)))
        self.assertEqual(await self.client.list(), [])


class Leaving(WithServer):
    async def wait_until_nothing_runs(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while (await self.client.status()).instance_count > 0:
                await asyncio.sleep(0.01)

    async def test_an_instance_whose_block_is_left_is_aborted(self) -> None:
        async with await self.client.launch("echo", ["one"]) as instance:
            self.assertEqual(await self.soon(instance.receive()), b"one\n")
        end = await self.soon(instance.result())
        self.assertEqual((end.kind, end.message), ("killed", "aborted by its client"))
        await self.wait_until_nothing_runs()

    async def test_one_that_has_ended_keeps_its_end_and_its_result(self) -> None:
        async with await self.client.launch("echo") as instance:
            await instance.close_input()
            end = (await self.soon(instance.result())).check()
        self.assertEqual(end.text, "end: the client has ended its side")

    async def test_one_that_was_detached_goes_on(self) -> None:
        async with await self.client.launch("echo") as instance:
            await instance.detach()
        again = await self.client.attach(instance.name)
        await again.send("quit")
        (await self.soon(again.result())).check()

    async def test_a_cancelled_task_leaves_no_instance_running(self) -> None:
        running = asyncio.Event()

        async def talk() -> None:
            async with await self.client.launch("echo") as instance:
                await instance.send("again 100000000")
                await instance.receive()
                running.set()
                await instance.result()

        for cancels in (1, 2):  # The second comes while the abort is under way.
            running.clear()
            task = asyncio.create_task(talk())
            await self.soon(running.wait())
            for _ in range(cancels):
                task.cancel()
                await asyncio.sleep(0)
            with self.assertRaises(asyncio.CancelledError):
                await self.soon(task)
            await self.wait_until_nothing_runs()

    async def test_an_error_in_the_block_is_the_one_that_is_raised(self) -> None:
        async with quire.Client(self.server.url) as client:
            with self.assertRaisesRegex(RuntimeError, "mine"):
                async with await client.launch("echo"):
                    await client.close()  # The abort cannot be sent any more.
                    raise RuntimeError("mine")

    async def test_arguments_that_are_no_list_of_texts_are_a_type_error(self) -> None:
        with self.assertRaises(TypeError) as one_text:
            await self.client.launch("echo", "--name you")
        self.assertEqual(
            str(one_text.exception),
            "arguments are a list of texts, not one text: '--name you'; pass ['--name', 'you']",
        )
        with self.assertRaisesRegex(TypeError, r"arguments\[1\] is no text but int: 7"):
            await self.client.launch("echo", ["--max-tokens", 7])  # type: ignore[list-item]
        self.assertEqual((await self.client.status()).instance_count, 0)


class Programs(WithServer):
    async def test_a_named_program_is_launched_by_clients_and_by_programs(self) -> None:
        wasm = guest("echo").read_bytes() + b"\0\5\4name"  # Another digest, the same code.
        program = await self.soon(self.client.upload(wasm, name="tool"))
        self.assertEqual((await self.client.find_program("tool")).program, program)
        instance = await self.client.launch("parent", ["tool", "one"])
        self.assertEqual(await self.soon(instance.receive()), b"child: one\n")
        await instance.abort()
        with self.assertRaises(quire.AlreadyExists):
            await self.client.name_program(program, "echo")

    async def test_uploads_at_once_wait_for_one_another(self) -> None:
        wasm = guest("echo").read_bytes()
        large = [large_program(wasm, mark) for mark in b"abba"]
        programs = await self.soon(asyncio.gather(*(self.client.upload(each) for each in large)))
        self.assertEqual(programs[0], programs[3])
        self.assertEqual(len(set(programs)), 2)
        for program in programs:
            self.assertEqual((await self.client.find_program(program)).state, "ready")

    async def test_what_is_no_program_is_refused_with_the_reason(self) -> None:
        with self.assertRaises(quire.InvalidArgument) as refused:
            await self.soon(self.client.upload(b"no module"))
        self.assertIn("not a Wasm module", str(refused.exception))
        with self.assertRaises(quire.NotFound) as unknown:
            await self.client.launch("nobody")
        self.assertIn('no program is named "nobody" here; there are: echo', str(unknown.exception))
        self.assertEqual((await self.client.find_program("nobody")).state, "unknown")

    async def test_limits_are_at_most_the_servers(self) -> None:
        with self.assertRaises(quire.OutOfRange) as refused:
            await self.client.launch("echo", limits=quire.Limits(memory_bytes_max=1 << 40))
        self.assertIn("memory_bytes_max", str(refused.exception))
        limits = quire.Limits(cpu_ns_between_waits_max=1_000_000, cpu_ns_max=1_000_000)
        instance = await self.client.launch("echo", limits=limits)
        with contextlib.suppress(quire.NotFound):  # Its start alone may take as long.
            await instance.send("again 100000000")
        end = await self.soon(instance.result())
        self.assertEqual(end.kind, "limit-exceeded")
        self.assertIn(end.limit, ("cpu_ns_max", "cpu_ns_between_waits_max"))


class Files(WithServer):
    async def test_files_go_both_ways(self) -> None:
        instance = await self.client.launch("files", ["first.txt", "hello"])
        first = await self.soon(instance.receive_file())
        self.assertEqual((first.name, first.media_type), ("first.txt", "text/plain"))
        self.assertEqual(await first.read(), b"hello")
        big = bytes(range(256)) * 20_000  # Five parts; more than the server holds at once.
        for name, data in (("big.bin", big), ("none.txt", b"")):
            sending = asyncio.create_task(instance.send_file(data, name))
            copy = await self.soon(instance.receive_file())
            self.assertEqual((copy.name, copy.file_bytes), ("copy of " + name, len(data)))
            self.assertEqual(await self.soon(copy.read()), data)
            await self.soon(sending)
        await self.soon(instance.send_file(__file__))
        self.assertEqual(
            await (await self.soon(instance.receive_file())).read(),
            pathlib.Path(__file__).read_bytes(),
        )
        await instance.close_input()
        (await self.soon(instance.result())).check()
        with self.assertRaises(quire.NotFound):
            await instance.receive_file()

    async def test_files_to_one_instance_wait_for_one_another(self) -> None:
        instance = await self.client.launch("files")
        sent = {name: name.encode() * (3 << 20) for name in "abc"}
        sending = asyncio.gather(*(instance.send_file(data, name) for name, data in sent.items()))
        for _ in sent:
            copy = await self.soon(instance.receive_file())
            self.assertEqual(await self.soon(copy.read()), sent[copy.name[-1]])
        await self.soon(sending)
        await instance.abort()

    async def test_wrong_files_are_refused(self) -> None:
        instance = await self.client.launch("files")
        with self.assertRaises(quire.InvalidArgument):
            await instance.send_file(b"x", "../x")
        with self.assertRaises(ValueError):
            await instance.send_file(b"x")
        await instance.abort()
        with self.assertRaises(quire.NotFound):
            await instance.send_file(b"x", "x")

    async def test_a_file_whose_program_is_stopped_is_not_complete(self) -> None:
        instance = await self.client.launch("files")
        # The copy of this one begins and waits for its second half, which never comes.
        await self.client.ask(
            {
                "verb": "send_file",
                "instance": instance.info.instance,
                "name": "half",
                "media_type": "text/plain",
                "file_bytes": 10,
                "offset": 0,
            },
            b"12345",
        )
        copy = await self.soon(instance.receive_file())
        await instance.abort()
        with self.assertRaises(quire.NotFound):
            await self.soon(copy.read())


class Detaching(WithServer):
    arguments = ("--grace", "0.2")

    async def test_a_detached_instance_outlives_its_connection_and_is_found_again(self) -> None:
        async with quire.Client(self.server.url) as first:
            instance = await first.launch("echo", detached=True)
        self.assertTrue(instance.info.detached)
        with self.assertRaises(quire.ConnectionLost):
            await instance.receive()
        with self.assertRaises(quire.ConnectionLost):
            await first.status()
        await asyncio.sleep(0.5)
        again = await self.soon(self.client.attach(instance.name))
        await again.send("still here")
        self.assertEqual(await self.soon(again.receive()), b"still here\n")
        async with quire.Client(self.server.url) as other:
            with self.assertRaises(quire.AlreadyExists):
                await other.attach(instance.name)
            await again.detach()
            with self.assertRaises(quire.Unavailable):
                await again.receive()
            third = await other.attach(instance.name)
            await third.send("quit")
            (await self.soon(third.result())).check()
        with self.assertRaises(quire.NotFound):
            await self.client.attach(instance.name)

    async def test_one_that_was_started_alone_is_found_by_number_and_taken(self) -> None:
        info = await self.client.start("echo", ["from the start"])
        self.assertTrue(info.detached)
        self.assertEqual(await self.client.list(), [])
        async with quire.Client(self.server.url) as other:
            await other.send(info.instance, "by number")
            first = await other.attach(info.instance)
            self.assertEqual(await self.soon(first.receive()), b"from the start\n")
            self.assertEqual(await self.soon(first.receive()), b"by number\n")
            with self.assertRaises(quire.AlreadyExists):
                await self.client.attach(info.instance)
            second = await self.client.attach(info.instance, take=True)
            with self.assertRaisesRegex(quire.Unavailable, "another client of its tenant"):
                await self.soon(first.receive())
            await other.abort(info.instance)
            self.assertEqual((await self.soon(second.result())).kind, "killed")

    async def test_one_that_is_not_detached_is_stopped_behind_its_client(self) -> None:
        async with quire.Client(self.server.url) as first:
            await first.launch("echo")
            self.assertEqual((await self.client.status()).instance_count, 1)
        async with asyncio.timeout(PATIENCE):
            while (await self.client.status()).instance_count > 0:
                await asyncio.sleep(0.05)

    async def test_a_launch_that_nobody_waits_for_any_more_is_stopped(self) -> None:
        launching = asyncio.create_task(self.client.launch("echo"))
        await asyncio.sleep(0)
        launching.cancel()
        await asyncio.gather(launching, return_exceptions=True)
        async with asyncio.timeout(PATIENCE):
            while await self.client.list():
                await asyncio.sleep(0.01)

    async def test_a_launch_given_up_while_the_socket_takes_no_more_is_stopped(self) -> None:
        sent, given_up = asyncio.Event(), asyncio.Event()
        send = self.client._socket.send

        async def send_and_wait(message: str | bytes) -> None:
            await send(message)
            if not sent.is_set():
                sent.set()
                await given_up.wait()  # As if the buffers were full.

        with unittest.mock.patch.object(self.client._socket, "send", send_and_wait):
            launching = asyncio.create_task(self.client.launch("echo"))
            await self.soon(sent.wait())
            launching.cancel()
            await asyncio.gather(launching, return_exceptions=True)
            async with asyncio.timeout(PATIENCE):
                while self.client._pending or await self.client.list():
                    await asyncio.sleep(0.01)
        self.assertEqual(self.client._instances, {})


class Full(WithServer):
    arguments = ("--grace", "0.2", "--instances", "2", "--launch-queue", "0", "--connections", "2")

    async def test_a_full_server_says_when_to_try_again(self) -> None:
        await self.client.launch("echo")
        await self.client.launch("echo")
        with self.assertRaises(quire.QuireError) as refused:
            await self.client.launch("echo")
        self.assertGreater(refused.exception.retry_after or 0, 0)
        async with quire.Client(self.server.url):
            with self.assertRaises(quire.ConnectionLost) as closed:
                await quire.Client(self.server.url).open()
        self.assertIn("503", str(closed.exception))
        self.assertGreater(closed.exception.retry_after or 0, 0)


class Tenants(WithServer):
    arguments = ("--tenant", "7=weight:2,instances:1")

    async def test_a_tenant_is_held_to_its_bound_and_the_operator_sees_it(self) -> None:
        with self.assertRaises(quire.NotFound):
            await self.client.launch("echo", tenant=8)
        instance = await self.client.launch("echo", tenant=7, deadline=2.5)
        with self.assertRaises(quire.QuireError) as refused:
            await self.client.launch("echo", tenant=7)
        self.assertIn("tenant 7: instance_count_max: 1 of 1", str(refused.exception))
        self.assertGreater(refused.exception.retry_after or 0, 0)
        self.assertIsNone((await self.client.status()).detail)
        detail = (await self.client.status(detail=True)).detail
        assert detail is not None
        (tenant,) = [each for each in detail["tenants"] if each["tenant"] == 7]
        self.assertEqual(tenant["weight"], 2)
        self.assertEqual(tenant["figures"]["instance_count_max"], [1, 1])
        self.assertEqual(tenant["figures"]["refused_count"], [1])
        self.assertEqual([each["tenant"] for each in detail["instances"]], [7])
        await instance.abort()

    async def test_a_launch_takes_a_seed_below_two_to_the_53(self) -> None:
        for seed in (-1, 1 << 53):
            with self.subTest(seed), self.assertRaises(quire.InvalidArgument) as refused:
                await self.client.launch("echo", seed=seed)
            self.assertIn("seed", str(refused.exception))
        await (await self.client.launch("echo", seed=(1 << 53) - 1)).abort()

    async def test_pages_and_output_of_an_instance_have_a_bound_by_default(self) -> None:
        for limits in (
            quire.Limits(page_count_max=65),
            quire.Limits(output_bytes_max=(1 << 30) + 1),
        ):
            with self.assertRaises(quire.OutOfRange):
                await self.client.launch("echo", limits=limits)
        limits = quire.Limits(output_bytes_max=9)
        instance = await self.client.launch("echo", limits=limits)
        await instance.send("12345678")  # And a newline.
        self.assertEqual(await self.soon(instance.receive()), b"12345678\n")
        await instance.send("9")
        end = await self.soon(instance.result())
        self.assertNotEqual(end.exit_code, 0)


class Stalling(WithServer):
    arguments = ("--grace", "0.2")

    async def test_who_does_not_receive_is_told_and_may_go_on(self) -> None:
        slow = quire.Client(self.server.url, buffer_bytes_max=100_000, stall_seconds=0.2)
        async with slow:
            instance = await slow.launch("echo")
            await instance.send("again 3000")
            with self.assertRaises(quire.Stalled) as stalled:
                await self.soon(instance.result())
            self.assertIn(f"instance {instance.info.instance}", str(stalled.exception))
            for number in range(1, 3_001):
                self.assertEqual(await self.soon(instance.receive()), b"%d\n" % number)
            await instance.send("quit")
            (await self.soon(instance.result())).check()

    async def test_a_file_that_came_whole_and_is_not_read_counts_for_its_instance(self) -> None:
        small = quire.Client(self.server.url, buffer_bytes_max=1_000, stall_seconds=0.2)
        async with small:
            await small.launch("echo")
            files = await small.launch("files", ["first.txt", "x" * 5_000])
            with self.assertRaises(quire.Stalled) as stalled:
                await self.soon(files.result())
            self.assertRegex(str(stalled.exception), f"instance {files.info.instance} \\(5[0-9]{{3}}\\)")
            first = await self.soon(files.receive_file())
            self.assertEqual(len(await self.soon(first.read())), 5_000)
            await files.abort()

    async def test_the_server_hears_of_a_client_that_has_no_room(self) -> None:
        async with self.heard_client() as (slow, heard):
            instance = await slow.launch("echo")
            await instance.send("again 100")
            await self.soon(heard.wait())
            for number in range(1, 101):
                self.assertEqual(await self.soon(instance.receive()), b"%d\n" % number)

    async def test_the_server_hears_of_a_client_that_reads_slowly(self) -> None:
        async with self.heard_client() as (slow, heard):
            instance = await slow.launch("echo")
            await instance.send("again 100")
            for number in range(1, 101):
                self.assertEqual(await self.soon(instance.receive()), b"%d\n" % number)
                await asyncio.sleep(0.002)  # Less than until it speaks; soon there is room again.
            self.assertTrue(heard.is_set())

    @contextlib.asynccontextmanager
    async def heard_client(self) -> AsyncIterator[tuple[quire.Client, asyncio.Event]]:
        """One with little room, and whether it has said by itself that it is there."""
        client = quire.Client(self.server.url, buffer_bytes_max=1_000)
        heard = asyncio.Event()
        with unittest.mock.patch("quire.client._STAY_SECONDS", 0.02):
            async with client:
                pong = client._socket.pong

                async def pong_and_tell() -> None:
                    await pong()
                    heard.set()

                with unittest.mock.patch.object(client._socket, "pong", pong_and_tell):
                    yield client, heard

    async def test_a_stall_ends_with_its_connection(self) -> None:
        slow = quire.Client(self.server.url, buffer_bytes_max=1_000, stall_seconds=0.1)
        async with slow:
            instance = await slow.launch("echo")
            await instance.send("again 10")
            with self.assertRaises(quire.Stalled):
                await self.soon(instance.result())
        async with slow:
            self.assertEqual(await self.soon(slow.list()), [])

    async def test_what_nobody_can_receive_any_more_does_not_count(self) -> None:
        small = quire.Client(self.server.url, buffer_bytes_max=100_000, stall_seconds=5.0)
        async with small:
            for _ in range(10):
                instance = await small.launch("echo")
                await instance.send("again 100")
                await instance.send("quit")
                await self.soon(instance.result())
                del instance


class Failing(WithServer):
    arguments = ("--grace", "0.2")

    async def test_whatever_ends_the_reader_is_told_to_all_who_wait(self) -> None:
        mistake = self.assertLogs("quire", logging.ERROR)
        for failure, logged in (
            (KeyError("left out"), contextlib.nullcontext()),
            (RuntimeError("a mistake here"), mistake),
        ):
            async with quire.Client(self.server.url) as client:
                instance = await client.launch("echo")
                waiting = asyncio.create_task(instance.result())

                def fails(_: object) -> None:
                    raise failure

                with logged, self.assertRaises(quire.ConnectionLost) as lost:
                    await self.soon(client.ask({"verb": "list"}, convert=fails))
                self.assertIn(repr(failure), str(lost.exception))
                with self.assertRaises(quire.ConnectionLost):
                    await self.soon(waiting)


    async def test_what_ends_behind_its_connection_leaves_the_next_one_alone(self) -> None:
        client = quire.Client(self.server.url)
        await client.open()
        earlier, reader = client._socket, client._reader
        assert reader is not None
        close = earlier.close
        is_open_again = asyncio.Event()

        async def close_late() -> None:
            await is_open_again.wait()
            await close()

        async def send_late(_: str | bytes) -> None:
            await is_open_again.wait()
            raise websockets.exceptions.ConnectionClosedOK(None, None)

        def fails(_: object) -> None:
            raise KeyError("left out")

        asking = asyncio.create_task(client.ask({"verb": "list"}, convert=fails))
        await asyncio.sleep(0)
        with (
            unittest.mock.patch.object(earlier, "close", close_late),
            unittest.mock.patch.object(earlier, "send", send_late),
        ):
            sending = asyncio.create_task(client.list())
            with self.assertRaises(quire.ConnectionLost):
                await self.soon(asking)
            async with client:  # The user opens it again as soon as it is lost.
                is_open_again.set()
                await self.soon(asyncio.gather(reader, return_exceptions=True))
                with self.assertRaises(quire.ConnectionLost):
                    await self.soon(sending)
                self.assertEqual(await self.soon(client.list()), [])


class Losing(unittest.IsolatedAsyncioTestCase):
    async def test_where_nobody_listens_one_is_told_how_to_get_a_server(self) -> None:
        with self.assertRaises(quire.ConnectionLost) as lost:
            await quire.Client("ws://127.0.0.1:1").open()
        self.assertIn("quire serve", str(lost.exception))
        with self.assertRaises(quire.ConnectionLost):
            await quire.Client().status()

    async def test_an_address_that_is_none_is_refused_with_the_one_that_was_meant(self) -> None:
        for address, meant in (
            ("http://127.0.0.1:7847", "did you mean ws://127.0.0.1:7847?"),
            ("127.0.0.1:7847", "did you mean ws://127.0.0.1:7847?"),
            ("localhost", "did you mean ws://localhost?"),
            ("", "ws://HOST:PORT"),
            ("ws://", "it has no host"),
            ("ws://127.0.0.1:0", "port 0"),
            ("ws://127.0.0.1:99999", "ws://HOST:PORT"),
            ("ws://127.0.0.1:port", "ws://HOST:PORT"),
        ):
            with self.subTest(address), self.assertRaises(quire.InvalidArgument) as refused:
                await quire.Client(address).open()
            self.assertIn(meant, str(refused.exception))
            self.assertIsInstance(refused.exception, quire.QuireError)

    async def test_what_is_not_a_server_is_an_error_of_the_family(self) -> None:
        async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"220 this is a mail server\r\n")
            writer.close()

        listener = await asyncio.start_server(greet, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        async with listener:
            with self.assertRaises(quire.QuireError) as refused:
                await asyncio.wait_for(quire.Client(f"ws://127.0.0.1:{port}").open(), PATIENCE)
        self.assertIn(f"ws://127.0.0.1:{port}", str(refused.exception))

    async def test_no_proxy_of_the_environment_is_used_where_the_library_would(self) -> None:
        asked: list[dict[str, object]] = []

        def older(uri: str, *, open_timeout: float = 10, **kwargs: object) -> None:
            asked.append(kwargs)
            raise OSError("it is a fake")

        def newer(
            uri: str, *, open_timeout: float = 10, proxy: str | bool | None = True, **kwargs: object
        ) -> None:
            older(uri, **kwargs, proxy=proxy)

        for connect in (older, newer):
            with (
                unittest.mock.patch("websockets.connect", connect),
                self.assertRaises(quire.ConnectionLost),
            ):
                await quire.Client().open()
        self.assertNotIn("proxy", asked[0])  # It would go on to a function that refuses it.
        self.assertIsNone(asked[1]["proxy"])

    async def test_a_server_that_ends_is_told_to_everyone_who_waits(self) -> None:
        with Server("--grace", "0.1", programs=[guest("echo")]) as server:
            async with quire.Client(server.url) as client:
                instance = await client.launch("echo")
                waiting = asyncio.create_task(instance.result())
                with self.assertLogs("quire", logging.WARNING):
                    server.interrupt()
                    end = await asyncio.wait_for(waiting, PATIENCE)
                self.assertEqual(end.kind, "killed")
                self.assertTrue(client.is_shutting_down)
                with self.assertRaises(quire.ConnectionLost) as lost:
                    async with asyncio.timeout(PATIENCE):
                        while True:
                            await client.status()
                self.assertIn("shutting down", str(lost.exception))
            self.assertEqual(server.stop()[0], 0)


class ExampleWithoutServer(unittest.TestCase):
    def test_it_says_in_a_sentence_that_nothing_listens(self) -> None:
        example = subprocess.run(
            [
                sys.executable,
                ROOT / "clients/python/examples/hello.py",
                "ws://127.0.0.1:1",
                BUILD / "inferlets/hello.wasm",
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={"PYTHONPATH": str(ROOT / "clients/python")},
        )
        self.assertEqual(example.returncode, 1)
        self.assertEqual(len(example.stderr.splitlines()), 1, example.stderr)
        self.assertIn("`quire serve` starts a server", example.stderr)


class Example(WithServer):
    async def test_the_example_runs(self) -> None:
        example = subprocess.run(
            [
                sys.executable,
                ROOT / "clients/python/examples/hello.py",
                self.server.url,
                BUILD / "inferlets/hello.wasm",
                *("--name", "you"),
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={"PYTHONPATH": str(ROOT / "clients/python")},
        )
        self.assertEqual(example.returncode, 0, example.stderr)
        self.assertTrue(example.stdout.startswith("Hello, you!"), example.stdout)
        self.assertIn("[finished, ", example.stderr)


if __name__ == "__main__":
    unittest.main()
