#!/usr/bin/env python3
"""Adapters that are added to a running server: by whom, under whose name, from which files, and what is refused."""
import asyncio
import concurrent.futures
import http.client
import json
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

import serving

sys.path.insert(0, str(serving.ROOT / "clients/python"))
import quire  # noqa: E402

GOLDEN = serving.ROOT / "tests/golden/adapters"
MODEL = "tiny_llama"
PROMPT = "The sky is blue because the sea is. " * 4
RIGHTS = ("--rights", "launch,upload,load-adapters,see-tenant")
OF_TENANTS = {1: "llama_r8", 2: "llama_r1", 3: "llama_r64_rslora", 4: "llama_layers"}


class AdaptersTest(unittest.TestCase):
    flags = ()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.adapters = self.folder / "adapters"
        self.adapters.mkdir()
        for name in ("llama_r8", "llama_r1", "llama_r64_rslora", "llama_layers"):
            shutil.copytree(GOLDEN / name, self.adapters / name)
        shutil.copy(GOLDEN / "llama_r1.gguf", self.adapters)

    def serve(self, *flags):
        server = serving.Server("--adapters", self.adapters, *flags)
        self.addCleanup(server.__exit__)
        self.address = server.address
        self.url = "ws://" + server.address
        return server

    def serve_with_keys(self, *flags):
        keys = self.folder / "keys.txt"
        self.keys = {tenant: serving.add_key(keys, f"t{tenant}", "--tenant", str(tenant), *RIGHTS) for tenant in OF_TENANTS}
        self.keys["weak"] = serving.add_key(keys, "weak", "--tenant", "1")
        self.keys["admin"] = serving.add_key(keys, "admin", "--rights", "operate")
        return self.serve("--keys", keys, *flags)

    # ---- Requests.

    def ask(self, method, path, body=None, key=None):
        connection = http.client.HTTPConnection(self.address, timeout=serving.PATIENCE)
        self.addCleanup(connection.close)
        headers = {"Authorization": f"Bearer {self.keys[key]}"} if key is not None else {}
        connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
        response = connection.getresponse()
        return response.status, response.read().decode()

    def load(self, name, path, key=None):
        return self.ask("POST", "/v1/load_lora_adapter", {"lora_name": name, "lora_path": path}, key)

    def unload(self, name, key=None):
        return self.ask("POST", "/v1/unload_lora_adapter", {"lora_name": name}, key)

    def models(self, key=None):
        listed = json.loads(self.ask("GET", "/v1/models", key=key)[1])["data"]
        return [each["id"] for each in listed if "parent" in each]

    def complete(self, model, key=None, **more):
        body = {"model": model, "prompt": PROMPT, "max_tokens": 24, "temperature": 0, **more}
        status, text = self.ask("POST", "/v1/completions", body, key)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def text_of(self, model, key=None):
        return self.complete(model, key)["choices"][0]["text"]

    def cached_of(self, model, key=None):
        return self.complete(model, key)["usage"]["prompt_tokens_details"]["cached_tokens"]

    def message(self, answer):
        return json.loads(answer[1])["error"]["message"]

    def metric(self, name, key=None):
        page = self.ask("GET", "/metrics", key=key)[1]
        return [int(line.split(" ")[1]) for line in page.splitlines() if line.startswith(name + " ")][0]

    def settle(self, read, wanted):
        end = time.monotonic() + serving.PATIENCE
        while read() != wanted and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(read(), wanted)

    def on_client(self, act, key=None):
        async def run():
            async with quire.Client(self.url, key=self.keys[key] if key is not None else "") as client:
                return await act(client)
        return asyncio.run(run())

    def quire_adapter(self, *words, code=0):
        done = serving.quire("adapter", *words, QUIRE_CONFIG="/dev/null")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    # ---- Adding and removing.

    def test_one_that_is_added_is_picked_by_model_until_it_is_removed(self):
        self.serve("--adapter", f"start={self.adapters / 'llama_r8'}")
        base, start = self.text_of(MODEL), self.text_of("start")
        self.assertEqual(self.load("hot", "llama_r8"), (200, "Success: LoRA adapter 'hot' added successfully."))
        self.assertEqual(self.load("hot", "llama_r8")[0], 200, "the same again changes nothing")
        self.assertEqual(self.models(), ["hot", "start"])
        self.assertNotEqual(start, base)
        self.assertEqual(self.text_of("hot"), start)
        self.assertEqual(self.text_of(f"{MODEL}:hot"), start)
        self.assertEqual(self.load("file", "llama_r1.gguf")[0], 200)
        self.assertEqual(self.unload("hot"), (200, "Success: LoRA adapter 'hot' removed successfully."))
        status, body = self.ask("POST", "/v1/completions", {"model": "hot", "prompt": "a"})
        self.assertEqual((status, json.loads(body)["error"]["code"]), (404, "model_not_found"))
        self.assertEqual(self.unload("hot")[0], 404)
        self.assertEqual((self.metric("quire_adapters"), self.metric("quire_adapter_removals_total")), (2, 1))

    def test_forms_that_ask_for_something_else_are_refused_by_name(self):
        self.serve()
        for body, wanted in (({"lora_name": "a"}, "lora_path"), ({"lora_path": "llama_r8"}, "lora_name"),
                             ({"lora_name": 3, "lora_path": "x"}, "lora_name"), ([], "a JSON object"),
                             ({"lora_name": "a", "lora_path": "llama_r8", "load_inplace": True}, "load_inplace"),
                             ({"lora_name": "a b", "lora_path": "llama_r8"}, "adapter name"),
                             ({"lora_name": "a", "lora_path": "x" * 20_000}, "16384 bytes")):
            answer = self.ask("POST", "/v1/load_lora_adapter", body)
            self.assertIn(answer[0], (400, 413), answer)
            self.assertIn(wanted, self.message(answer))
        self.assertEqual(self.load("other:a", "llama_r8")[0], 404)
        self.assertEqual(self.ask("GET", "/v1/load_lora_adapter")[0], 405)
        self.assertEqual(self.load("a", "llama_r8")[0], 200)
        taken = self.load("a", "llama_r1")
        self.assertEqual(taken[0], 400)
        self.assertIn("another adapter is named a", self.message(taken))

    def test_one_that_is_removed_goes_on_where_it_is_in_use(self):
        self.serve()
        self.load("hot", "llama_r8")
        whole = self.complete("hot", max_tokens=300)["choices"][0]["text"]
        connection = http.client.HTTPConnection(self.address, timeout=serving.PATIENCE)
        self.addCleanup(connection.close)
        body = {"model": "hot", "prompt": PROMPT, "max_tokens": 300, "temperature": 0, "stream": True}
        connection.request("POST", "/v1/completions", json.dumps(body).encode())
        response = connection.getresponse()
        begun = response.read(1)
        self.assertEqual(self.unload("hot")[0], 200)
        self.assertEqual(self.models(), [])
        lines = (begun + response.read()).decode().splitlines()
        events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
        self.assertEqual("".join(each["choices"][0]["text"] for each in events if each["choices"]), whole)
        self.settle(lambda: self.metric("quire_adapters"), 0)

    # ---- Files.

    def test_paths_that_leave_the_folder_are_refused_and_name_nothing_outside(self):
        outside = self.folder / "outside"
        shutil.copytree(GOLDEN / "llama_r8", outside)
        (self.adapters / "link").symlink_to(outside)
        linked = self.adapters / "linked"
        linked.mkdir()
        shutil.copy(outside / "adapter_config.json", linked)
        (linked / "adapter_model.safetensors").symlink_to(outside / "adapter_model.safetensors")
        self.serve()
        for path in ("link", "linked", "../outside", "llama_r8/../../outside", str(outside), "/"):
            answer = self.load("a", path)
            self.assertEqual(answer[0], 403, (path, answer))
            self.assertNotIn(str(self.folder), answer[1].replace(path, ""))
        missing = self.load("a", "nothing")
        self.assertEqual(missing[0], 404)
        self.assertIn("adapters/nothing", self.message(missing))
        self.assertNotIn(str(self.folder), missing[1])
        self.assertEqual(self.models(), [])

    def test_a_server_without_the_folder_reads_none_of_its_disk(self):
        server = serving.Server()
        self.addCleanup(server.__exit__)
        self.address, self.url = server.address, "ws://" + server.address
        answer = self.load("a", str(self.adapters / "llama_r8"))
        self.assertEqual(answer[0], 400)
        self.assertIn("--adapters FOLDER", self.message(answer))
        added = self.on_client(lambda client: client.upload_adapter("a", self.adapters / "llama_r8"))
        self.assertEqual((added.name, added.rank_max, added.source), ("a", 8, "upload"))

    def test_damaged_files_leave_nothing(self):
        weights = (self.adapters / "llama_r8/adapter_model.safetensors")
        weights.write_bytes(weights.read_bytes()[:-100])
        config = self.adapters / "llama_r1/adapter_config.json"
        config.write_text(config.read_text().replace('"use_dora": false', '"use_dora": true'))
        (self.adapters / "llama_layers/adapter_model.safetensors").unlink()
        shutil.copytree(GOLDEN / "qwen2_r8", self.adapters / "qwen2_r8")
        self.serve()
        for path in ("llama_r8", "llama_r1", "llama_layers", "qwen2_r8"):
            answer = self.load("a", path)
            self.assertIn(answer[0], (400, 404), (path, answer))
        self.assertEqual(self.models(), [])
        self.assertEqual(self.metric("quire_adapter_bytes"), 0)
        self.assertEqual(self.metric('quire_adapter_loads_total{outcome="refused"}'), 4)

    def test_a_file_that_changes_changes_nothing_that_is_loaded_and_its_new_load_finds_no_old_pages(self):
        self.serve()
        self.load("name", "llama_r8")
        before = self.text_of("name")
        self.assertGreater(self.cached_of("name"), 0)
        shutil.rmtree(self.adapters / "llama_r8")
        shutil.copytree(GOLDEN / "llama_r64_rslora", self.adapters / "llama_r8")
        self.assertEqual(self.text_of("name"), before)
        self.unload("name")
        self.load("name", "llama_r8")
        self.assertEqual(self.cached_of("name"), 0)
        self.load("control", "llama_r64_rslora")
        after = self.text_of("name")
        self.assertNotEqual(after, before)
        self.assertEqual(self.text_of("control"), after)

    # ---- Tenants.

    def test_four_tenants_have_an_adapter_each_and_know_of_no_other(self):
        self.serve_with_keys()
        alone = {}
        for tenant, path in OF_TENANTS.items():
            self.assertEqual(self.load("mine", path, tenant)[0], 200)
            self.assertEqual(self.load(f"secret{tenant}", path, tenant)[0], 200)
            alone[tenant] = self.text_of("mine", tenant)
        self.assertEqual(len(set(alone.values())), 4)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda tenant: self.text_of("mine", tenant), list(OF_TENANTS) * 4))
        self.assertEqual(together, list(alone.values()) * 4)
        for tenant in OF_TENANTS:
            self.assertEqual(self.models(tenant), ["mine", f"secret{tenant}"])
            for other in OF_TENANTS:
                if other == tenant:
                    continue
                self.check_alike(f"secret{other}", tenant)

    def check_alike(self, name, tenant):
        """A name of another tenant is refused as one that never was, and that is as near to the caller's own."""
        unused = name[:-1] + "9"
        for ask in (lambda each: self.unload(each, tenant),
                    lambda each: self.ask("POST", "/v1/completions", {"model": each, "prompt": "a"}, tenant),
                    lambda each: self.ask("GET", f"/v1/models/{each}", key=tenant)):
            theirs, never = ask(name), ask(unused)
            self.assertEqual(theirs[0], 404)
            self.assertEqual((theirs[0], theirs[1].replace(name, unused)), never)

    def test_tenants_with_one_adapter_find_no_pages_of_one_another(self):
        self.serve_with_keys()
        for tenant in (1, 2):
            self.load("same", "llama_r8", tenant)
        self.text_of("same", 1)
        self.assertGreater(self.cached_of("same", 1), 0)
        self.assertEqual(self.cached_of("same", 2), 0)

    def test_an_adapter_of_the_operator_is_everybodys_and_stays(self):
        self.serve_with_keys()
        self.assertEqual(self.load("shared", "llama_r8", "admin")[0], 200)
        self.assertEqual(self.models(1), ["shared"])
        refused = self.unload("shared", 1)
        self.assertEqual(refused[0], 404)
        self.assertIn("is the server's", self.message(refused))
        listed = self.on_client(lambda client: client.list_adapters(), 1)
        self.assertEqual([(each.name, each.own, each.source) for each in listed], [("shared", False, "")])
        self.assertEqual(self.load("shared", "llama_r1", 1)[0], 200, "its own name goes before the server's")
        self.assertNotEqual(self.text_of("shared", 1), self.text_of("shared", 2))
        self.assertEqual(self.unload("shared", 1)[0], 200)
        self.assertEqual(self.text_of("shared", 1), self.text_of("shared", 2))

    def test_a_key_without_the_right_adds_and_removes_nothing(self):
        self.serve_with_keys()
        self.load("mine", "llama_r8", 1)
        self.assertEqual(self.load("b", "llama_r1", "weak")[0], 403)
        self.assertEqual(self.unload("mine", "weak")[0], 403)
        for act in (lambda client: client.add_adapter("b", "llama_r1"), lambda client: client.remove_adapter("mine"),
                    lambda client: client.upload_adapter("b", self.adapters / "llama_r1")):
            with self.assertRaises(quire.PermissionDenied):
                self.on_client(act, "weak")
        self.assertEqual([each.name for each in self.on_client(lambda client: client.list_adapters(), "weak")], ["mine"])

    def test_a_tenant_is_held_to_its_count_bytes_and_rank(self):
        self.serve_with_keys("--tenant", "1=adapters:2", "--tenant", "2=adapter_rank:4", "--tenant", "3=adapter_bytes:20KiB")
        self.assertEqual([self.load(f"a{i}", "llama_r1", 1)[0] for i in range(3)], [200, 200, 429])
        self.assertEqual(self.unload("a0", 1)[0], 200)
        self.assertEqual(self.load("a2", "llama_r1", 1)[0], 200)
        rank = self.load("a", "llama_r8", 2)
        self.assertEqual(rank[0], 413, rank)
        self.assertIn("4", self.message(rank))
        self.assertEqual(self.load("a", "llama_r1", 2)[0], 200)
        self.assertEqual(self.load("a", "llama_r64_rslora", 3)[0], 413)
        self.assertEqual(self.load("a", "llama_r64_rslora", 4)[0], 200)

        async def upload_third(client):
            with self.assertRaises(quire.QuotaExceeded) as caught:
                await client.upload_adapter("a3", self.adapters / "llama_r1")
            return str(caught.exception)
        self.assertIn("adapter_count_max", self.on_client(upload_third, 1))
        status = serving.quire("status", "--server", self.url, "--json", QUIRE_KEY=self.keys[1]).stdout
        figures = {each["tenant"]: each["figures"] for each in json.loads(status)["detail"]["tenants"]}[1]
        self.assertEqual(figures["adapter_count_max"], [2, 2])
        self.assertEqual(self.metric('quire_tenant_adapters{tenant="1"}', "admin"), 2)

    # ---- Uploads.

    def test_an_upload_is_the_same_adapter_as_its_files(self):
        self.serve()
        digests = [self.on_client(lambda client, path=path, i=i: client.upload_adapter(f"a{i}", self.adapters / path)).digest
                   for i, path in enumerate(("llama_r1", "llama_r1.gguf"))]
        self.assertEqual(digests[0], digests[1])
        self.load("b", "llama_r1")
        self.assertEqual(self.text_of("a0"), self.text_of("b"))

    def test_an_upload_whose_parts_do_not_fit_together_leaves_nothing(self):
        self.serve()
        name, part = "adapter.gguf", (self.adapters / "llama_r1.gguf").read_bytes()
        head = {"verb": "upload_adapter", "name": "a", "files": [{"name": name, "bytes": len(part)}],
                "digest": "sha256:" + "0" * 64}

        async def wrong(client):
            for offset, bytes_, files in ((1, part[1:], head["files"]), (0, part, head["files"]),
                                          (0, part[:-1], [{"name": name, "bytes": 10}]), (0, part, [])):
                with self.assertRaises(quire.InvalidArgument):
                    await client.ask({**head, "files": files, "offset": offset}, bytes_)
            await client.ask({**head, "offset": 0}, part[:100])  # And is gone.
        self.on_client(wrong)
        with self.assertRaises(quire.InvalidArgument):
            self.on_client(lambda client: client.ask({**head, "offset": 100}, part[100:]))
        self.assertEqual(self.models(), [])

    # ---- The verb.

    def test_the_verb_adds_lists_shows_and_removes(self):
        self.serve()
        pirate = str(self.adapters / "llama_r8")
        model = ("--model", serving.ROOT / "tests/golden/tiny_llama")
        shown = json.loads(self.quire_adapter("show", pirate, *model, "--json"))
        added = json.loads(self.quire_adapter("add", "pirate", pirate, "--server", self.url, "--json"))
        self.assertEqual((shown["digest"], shown["rank_max"]), (added["digest"], added["rank_max"]))
        self.assertIn("added r1 to tiny_llama (rank 1", self.quire_adapter("add", "r1", "llama_r1.gguf", "--on-server", "--server", self.url))
        listed = json.loads(self.quire_adapter("list", "--server", self.url, "--json"))
        self.assertEqual([each["name"] for each in listed], ["pirate", "r1"])
        self.assertIn("sha256:", self.quire_adapter("show", "pirate", "--server", self.url))
        self.assertIn("llama_r64_rslora", self.quire_adapter("list", self.adapters, *model))
        self.assertEqual(self.quire_adapter("remove", "pirate", "--server", self.url), "removed pirate\n")
        self.assertIn("it has: r1", self.quire_adapter("remove", "pirate", "--server", self.url, code=3))
        self.assertIn("which has: r1", self.quire_adapter("show", "nothing", "--server", self.url, code=3))


if __name__ == "__main__":
    unittest.main()
