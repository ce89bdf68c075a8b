"""`quire model add` against a hub that works, and one that does not."""
import hashlib
import json
import resource
import signal
import threading
import time

import harness
import hub as hubs
from harness import CHECKPOINT, LARGE, SHARDS, SMALL, UNREAD


class Fetches(harness.HubTest):
    def test_a_model_is_fetched_by_its_quantization_checked_and_answers(self):
        self.hub.add("user/tiny-GGUF", {LARGE: self.files[LARGE], SMALL: self.files[SMALL], "README.md": b"# tiny\n"})
        text = self.add("hf:user/tiny-GGUF:q8_0")
        self.assert_says(text, f"fetching tiny-q8_0 (181.6 KiB) from user/tiny-GGUF of {self.hub.url}")
        self.assert_stored("tiny-q8_0", {"tiny-q8_0.gguf": self.files[SMALL]})
        answer = self.quire("chat", "--model", "tiny-q8_0", "--max-tokens", "4", "Hello")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(harness.tokens_of(answer.stderr), 4)
        # All files are those of one commit, not of a branch that may move.
        commit = self.hub.repositories["user/tiny-GGUF"].refs["main"]
        self.assertIn(f"/resolve/{commit}/", self.hub.of("hub")[-1].path)

    def test_every_form_of_a_reference_names_the_same_file(self):
        self.hub.add("user/tiny", {SMALL: self.files[SMALL]})
        forms = ["hf:user/tiny", "hf.co/user/tiny:latest", "huggingface.co/user/tiny:Q8_0", f"hf:user/tiny/{SMALL}",
                 "hf:user/tiny@main", "https://huggingface.co/user/tiny",
                 f"https://hf.co/user/tiny/resolve/main/{SMALL}?download=true"]
        for number, form in enumerate(forms):
            with self.subTest(form):
                self.add(form, "--name", f"m{number}")
                self.assert_stored(f"m{number}", {f"m{number}.gguf": self.files[SMALL]})

    def test_a_mirror_may_have_its_routes_below_a_path(self):
        self.hub.add("user/tiny", {SMALL: self.files[SMALL]})
        self.add("hf:user/tiny", HF_ENDPOINT=f"{self.hub.url}{hubs.MIRROR}/")
        self.assert_stored("tiny-q8_0", {"tiny-q8_0.gguf": self.files[SMALL]})
        self.assertTrue(all(each.path.startswith(hubs.MIRROR) for each in self.hub.of("hub")))

    def test_a_revision_is_fetched_and_not_the_newest(self):
        repository = self.hub.add("user/tiny", {SMALL: self.files[SMALL]})
        old = repository.refs["main"]
        repository.push({SMALL: self.files[LARGE]})
        self.add(f"hf:user/tiny@{old}")
        self.assert_stored("tiny-q8_0", {"tiny-q8_0.gguf": self.files[SMALL]})

    def test_several_models_are_listed_with_their_sizes(self):
        self.hub.add("user/tiny", {LARGE: self.files[LARGE], SMALL: self.files[SMALL]})
        self.assert_says(self.refused("hf:user/tiny"), "fits 2 models", "hf:user/tiny:QUANT", f"{LARGE}  604.6 KiB",
                         f"{SMALL}  181.6 KiB")
        self.assert_says(self.refused("hf:user/tiny:Q4_0", code=3), "quantization Q4_0; there are:", SMALL)
        self.assertEqual(self.hub.of("cdn"), [])
        self.assert_none_is_stored()

    def test_shards_are_one_model(self):
        self.hub.add("user/tiny", {f"F32/{each}": self.files[each] for each in SHARDS})
        self.hub.page_entries = 2  # The list comes in pages.
        self.add("hf:user/tiny:F32", "--name", "mine")
        self.assert_stored("mine", {f"mine/mine-0000{i + 1}-of-00003.gguf": self.files[each]
                                    for i, each in enumerate(SHARDS)})
        self.assertEqual(len(self.hub.of("hub", "/tree/")), 2)
        answer = self.quire("generate", "--model", "mine", "--max-tokens", "4", "--json", "Hello")
        self.assertEqual(answer.returncode, 0, answer.stderr)

    def test_a_checkpoint_is_a_folder_and_its_texts_are_checked_as_git_blobs(self):
        tiny = harness.SOURCE / "tests" / "golden" / "tiny_qwen2"
        files = {each: (tiny / each).read_bytes() for each in CHECKPOINT}
        # Two files with the same bytes come once.
        files["special_tokens_map.json"] = files["generation_config.json"]
        self.hub.add("user/Tiny-Qwen2", {**files, "README.md": b"# tiny\n", "onnx/model.onnx": b"x"})
        self.add("hf:user/Tiny-Qwen2")
        self.assert_stored("tiny-qwen2", {f"tiny-qwen2/{path}": data for path, data in files.items()})
        self.assertEqual(len(self.hub.of("cdn")), 1)
        answer = self.quire("generate", "--model", "tiny-qwen2", "--max-tokens", "4", "Hello")
        self.assertEqual(answer.returncode, 0, answer.stderr)

    def test_what_this_build_cannot_run_is_refused_before_its_weights_come(self):
        self.hub.add("user/gemma", {SMALL: self.files[SMALL]}, architecture="gemma3")
        self.assert_says(self.refused("hf:user/gemma"), 'architecture "gemma3"', "llama, qwen2, qwen3, qwen2moe, qwen3moe, qwen35, qwen35moe, olmo2 and smollm3")
        # The hub may have read the part for pictures that lies beside the model.
        self.hub.add("user/seeing", {SMALL: self.files[SMALL], "mmproj-F16.gguf": b"GGUF"}, architecture="clip")
        self.add("hf:user/seeing", "--name", "seeing")
        self.assert_stored("seeing", {"seeing.gguf": self.files[SMALL]})
        self.assertEqual(self.quire("model", "remove", "seeing").returncode, 0)
        self.hub.forget()
        config = b'{"model_type": "gemma3", "architectures": ["Gemma3ForCausalLM"]}'
        self.hub.add("user/folder", {"config.json": config, "tokenizer.json": b"{}", "model.safetensors": self.files[LARGE]})
        self.assert_says(self.refused("hf:user/folder"), "config.json")
        self.assertEqual(self.hub.of("cdn"), [])
        self.assertEqual(list(self.models.iterdir()), [])

    def test_a_file_of_weights_is_refused_by_its_beginning(self):
        rest = bytes(8 << 20)
        # The hub read no architecture, and gives no more than the beginning: the rest is not waited for.
        self.hub.faults.cut_at, self.hub.faults.pause = 3 << 20, threading.Event()
        self.addCleanup(self.hub.faults.pause.set)
        self.hub.add("user/mamba", {LARGE: self.files[LARGE].replace(b"qwen2", b"mamba") + rest})
        self.assert_says(self.refused("hf:user/mamba"), LARGE, 'general.architecture is "mamba"', "llama, qwen2, qwen3, qwen2moe, qwen3moe, qwen35, qwen35moe, olmo2 and smollm3")
        self.hub.add("user/tiny", {UNREAD: self.files[UNREAD] + rest})
        self.assert_says(self.refused("hf:user/tiny"), UNREAD, "IQ2_XXS", "Q4_K")
        self.hub.add("user/part", {SHARDS[0]: self.files[SHARDS[0]].replace(b"qwen2", b"mamba") + rest,
                                   SHARDS[1]: self.files[SHARDS[1]], SHARDS[2]: self.files[SHARDS[2]]})
        self.assert_says(self.refused("hf:user/part"), 'general.architecture is "mamba"')
        tiny = harness.SOURCE / "tests" / "golden" / "tiny_qwen2"
        files = {each: (tiny / each).read_bytes() for each in CHECKPOINT}
        head = b'{"x": {"dtype": "F8_E4M3", "shape": [8388608], "data_offsets": [0, 8388608]}}'
        files["model.safetensors"] = len(head).to_bytes(8, "little") + head + rest
        self.hub.add("user/folder", files)
        self.assert_says(self.refused("hf:user/folder"), "model.safetensors", "F8_E4M3")
        self.assertEqual(list(self.models.iterdir()), [])

    def test_a_checkpoint_that_can_never_be_used_is_refused_before_its_weights(self):
        tiny = harness.SOURCE / "tests" / "golden" / "tiny_qwen2"
        files = {each: (tiny / each).read_bytes() for each in CHECKPOINT}
        without = {path: data for path, data in files.items() if path != "tokenizer.json"}
        self.hub.add("user/plain", {**without, "tokenizer.model": b"x"})
        self.assert_says(self.refused("hf:user/plain"), "no tokenizer.json", "it has tokenizer.model")
        for number, (config, *parts) in enumerate([
                (b'{"architectures": ["Qwen2ForRewardModel"], "model_type": "qwen2"}', "Qwen2ForRewardModel", "Qwen2ForCausalLM"),
                (b'{"architectures": ["XForCausalLM"], "model_type": "x"}', 'model_type is "x"', "smollm3 are supported"),
                (b'{"architectures": ["LlamaForCausalLM"]}', "model_type"), (b"[]", "not a JSON object"),
                (files["config.json"].replace(b"{", b'{"quantization_config": {"quant_method": "awq"},', 1), "awq", "GGUF")]):
            self.hub.add(f"user/m{number}", {**files, "config.json": config})
            self.assert_says(self.refused(f"hf:user/m{number}"), *parts)
        self.assertEqual(self.hub.of("cdn"), [])
        self.assertEqual(list(self.models.iterdir()), [])

    def test_additional_chat_templates_come_with_a_checkpoint(self):
        tiny = harness.SOURCE / "tests" / "golden" / "tiny_qwen2"
        files = {each: (tiny / each).read_bytes() for each in CHECKPOINT}
        files["chat_template.jinja"] = b"PLAIN {{ messages[0].content }}"
        files["additional_chat_templates/tool_use.jinja"] = b"TOOLS {{ messages[0].content }}"
        self.hub.add("user/tools", files)
        self.add("hf:user/tools")
        self.assert_stored("tools", {f"tools/{path}": data for path, data in files.items()})
        # A copy of the folder has them too.
        self.add(self.models / "tools", "--name", "copy")
        self.assert_stored("copy", {f"copy/{path}": data for path, data in files.items()})
        request = self.data / "request.json"
        for tools, wanted in (([], "PLAIN hi"), ([{"type": "function", "function": {"name": "f"}}], "TOOLS hi")):
            request.write_text(json.dumps({"messages": [{"role": "user", "content": "hi"}], **({"tools": tools} if tools else {})}))
            for model in ("tools", "copy"):
                done = self.quire("template", "--model", model, request)
                self.assertEqual((done.returncode, done.stdout), (0, wanted + "\n"), done.stderr)

    def test_a_file_that_is_not_a_model_is_not_stored(self):
        self.hub.add("user/tiny", {SMALL: b"GGUF and no more"})
        self.assert_says(self.refused("hf:user/tiny"), "GGUF")
        self.assert_none_is_stored()
        self.assertEqual(list(self.models.iterdir()), [])

    def test_a_name_of_the_list_is_listed_and_an_unknown_one_says_which_there_are(self):
        listed = self.quire("model", "list", "--available")
        self.assert_says(listed.stdout, "smollm2-135m-instruct", "93.8 MiB", "Apache-2.0")
        self.assert_says(self.refused("smollm", code=3), 'cannot add "smollm"', "not a name of the list (smollm2-135m-instruct, ")
        for verb in (["generate", "Hi"], ["chat", "Hi"], ["serve"]):
            done = self.quire(*verb)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("`quire model add smollm2-135m-instruct` fetches it", done.stderr)
        self.assertEqual(self.hub.requests, [])


class Refusals(harness.HubTest):
    def setUp(self):
        super().setUp()
        self.repository = self.hub.add("user/tiny", {SMALL: self.files[SMALL]})

    def test_a_token_goes_to_the_hub_alone(self):
        self.repository.is_private = True
        text = self.refused("hf:user/tiny")
        self.assert_says(text, "user/tiny: the hub answered 401", "Invalid username or password", "set HF_TOKEN")
        self.assertEqual(self.hub.of("hub")[0].header("Authorization"), None)
        self.hub.forget()
        self.add("hf:user/tiny", HF_TOKEN=hubs.TOKEN)
        self.assert_stored("tiny-q8_0", {"tiny-q8_0.gguf": self.files[SMALL]})
        self.assertEqual(len(self.hub.of("cdn")), 1)
        self.assert_no_token_left()

    def test_a_wrong_token_is_named_and_never_shown(self):
        text = self.refused("hf:user/tiny", HF_TOKEN="hf_wrong")
        self.assert_says(text, "401", "Invalid credentials", "does not take HF_TOKEN")
        self.assertNotIn("hf_wrong", text)
        self.assert_says(self.refused("hf:user/tiny", HF_TOKEN="two words"), "HF_TOKEN is not a token")

    def test_a_token_goes_to_no_other_machine_without_encryption(self):
        text = self.refused("hf:user/tiny", HF_TOKEN=hubs.TOKEN, HF_ENDPOINT="http://hub.example.com")
        self.assert_says(text, "HF_TOKEN would go to http://hub.example.com", "without encryption")
        self.assert_says(self.refused("hf:user/tiny", HF_ENDPOINT="hub"), "HF_ENDPOINT")

    def test_a_gated_repository_says_what_to_accept(self):
        self.repository.is_gated = True
        self.assert_says(self.refused("hf:user/tiny"), "401", "gated", "accept its terms", "HF_TOKEN")
        self.hub.forget()
        self.add("hf:user/tiny", HF_TOKEN=hubs.TOKEN)
        self.assert_no_token_left()

    def test_what_is_not_there_is_named(self):
        self.assert_says(self.refused("hf:user/other", code=3, HF_TOKEN=hubs.TOKEN), "404", "no such repository")
        self.assert_says(self.refused("hf:user/tiny@v9", code=3), "user/tiny@v9", "404", "no such revision")
        self.assert_says(self.refused("hf:user/tiny/m.gguf", code=3), 'no GGUF model "m.gguf"', SMALL)
        self.assert_says(self.refused("hf:user/tiny:"), "the quantization is a word")
        self.assert_none_is_stored()

    def test_too_many_requests_say_how_long_to_wait(self):
        self.hub.faults.answer = (429, [("Retry-After", "37")])
        self.assert_says(self.refused("hf:user/tiny"), "429", "too many requests", "try again after 37 s")
        self.hub.forget()
        self.hub.faults.cdn_answers = [(429, [("Retry-After", "5")])]
        self.assert_says(self.refused("hf:user/tiny"), "429", "after 5 s")
        self.assertEqual(len(self.hub.of("cdn")), 1)
        self.assert_none_is_stored()

    def test_a_hub_that_is_not_there_or_not_a_hub_is_named(self):
        self.assert_says(self.refused("hf:user/tiny", HF_ENDPOINT="http://127.0.0.1:1"),
                         "cannot ask http://127.0.0.1:1", "onnect")
        self.hub.faults.answer = (200, [])
        self.assert_says(self.refused("hf:user/tiny"), "the hub's list of user/tiny", '"sha" is not a commit')

    def test_redirects_that_lead_elsewhere_are_errors(self):
        for location, part in (("file:///etc/passwd", "does not begin with http"), ("ftp://127.0.0.1/x", "does not begin with http"),
                               ("http://[", "leads to"), (f"{self.hub.url}/user/tiny/resolve/main/{SMALL}", "more than 10 redirects")):
            with self.subTest(location):
                self.hub.faults.location = location
                text = self.refused("hf:user/tiny")
                self.assert_says(text, part)
                self.assert_none_is_stored()
        # A page of another server is not the file.
        self.hub.faults.location = f"{self.hub.cdn_url}/repos/nothing?{hubs.SIGNATURE}"
        self.assert_says(self.refused("hf:user/tiny", HF_TOKEN=hubs.TOKEN), "the server that the hub leads to answered 403")
        self.assertEqual([each for each in self.hub.of("cdn") if each.header("Authorization")], [])

    def test_a_list_that_goes_on_at_another_server_is_an_error(self):
        self.hub.page_entries = 1
        self.repository.push({SMALL: self.files[SMALL], "README.md": b"# tiny\n"})
        self.hub.faults.next_page = f"{self.hub.cdn_url}/api/models/user/tiny/tree/main"
        self.assert_says(self.refused("hf:user/tiny", HF_TOKEN=hubs.TOKEN), "its next page is at " + self.hub.cdn_url)
        self.assertEqual(self.hub.of("cdn"), [])

    def test_a_text_with_other_bytes_is_refused_by_its_git_blob(self):
        self.hub.add("user/folder", {"config.json": b"{}", "tokenizer.json": b"{}", "model.safetensors": self.files[LARGE]})
        self.hub.faults.text = b"[]"
        self.assert_says(self.refused("hf:user/folder"), "config.json came as the git blob ", hubs.git_blob(b"{}"))
        self.assertEqual(self.hub.of("cdn"), [])
        self.assertEqual(list(self.models.iterdir()), [])

    def test_two_do_not_fetch_one_model(self):
        self.hub.faults.cut_at = 1000
        self.hub.faults.pause = threading.Event()
        first = self.start("model", "add", "hf:user/tiny")
        deadline = time.monotonic() + 30
        while not self.hub.of("cdn") and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assert_says(self.refused("hf:user/tiny"), "another process is fetching the model")
        self.hub.faults.pause.set()
        _, text = first.communicate(timeout=harness.PATIENCE)
        self.assertEqual(first.returncode, 0, text)
        self.assert_stored("tiny-q8_0", {"tiny-q8_0.gguf": self.files[SMALL]})
        self.assert_says(self.refused("hf:user/tiny"), "there is a model \"tiny-q8_0\" already")


class BrokenTransfers(harness.HubTest):
    def setUp(self):
        super().setUp()
        self.repository = self.hub.add("user/tiny", {LARGE: self.files[LARGE]})
        self.size = len(self.files[LARGE])

    def assert_fetched(self):
        self.assert_stored("tiny-f32", {"tiny-f32.gguf": self.files[LARGE]})

    def break_off(self):
        """A run of which 100,000 bytes stay."""
        self.hub.faults.cut_at = 100_000
        text = self.refused("hf:user/tiny")
        self.assertEqual(self.parts("tiny-f32"), [(".part", 100_000)])
        self.assert_none_is_stored()
        self.hub.forget()
        return text

    def test_half_a_file_stays_a_part_and_the_same_command_goes_on(self):
        text = self.break_off()
        self.assert_says(text, "97.7 KiB of 604.6 KiB of tiny-F32.gguf are kept", "the same command goes on")
        self.assertIn("97.7 KiB are here already", self.add("hf:user/tiny"))
        self.assertEqual(self.ranges(), ["bytes=100000-"])
        self.assert_fetched()

    def test_a_connection_that_breaks_is_taken_up_by_the_same_run(self):
        self.hub.faults.cut_at = 100_000
        self.hub.faults.cut_count_max = 1
        self.add("hf:user/tiny")
        self.assertEqual(self.ranges(), [None, "bytes=100000-"])
        self.assert_fetched()

    def test_a_server_that_fails_for_a_moment_is_asked_again(self):
        # A signature that is too old is 403; the hub signs anew.
        self.hub.faults.cdn_answers = [(503, []), (403, [])]
        self.add("hf:user/tiny")
        self.assertEqual(len(self.hub.of("hub", "/resolve/")), 3)
        self.assert_fetched()

    def test_a_run_that_is_killed_or_interrupted_leaves_its_part(self):
        for number in (signal.SIGKILL, signal.SIGINT):
            with self.subTest(number):
                self.hub.faults.cut_at = 100_000
                self.hub.faults.pause = threading.Event()
                run = self.start("model", "add", "hf:user/tiny")
                folder = self.models / ".fetch.tiny-f32"
                deadline = time.monotonic() + 30
                while time.monotonic() < deadline and not any(
                        each.stat().st_size == 100_000 for each in folder.glob("*.part")):
                    time.sleep(0.01)
                run.send_signal(number)
                run.communicate(timeout=harness.PATIENCE)
                self.assertEqual(run.returncode, -number)
                self.hub.faults.pause.set()
                self.assertEqual(self.parts("tiny-f32"), [(".part", 100_000)])
                self.assert_none_is_stored()
                self.hub.forget()
        self.add("hf:user/tiny")
        self.assertEqual(self.ranges(), ["bytes=100000-"])
        self.assert_fetched()

    def test_a_file_that_changed_between_attempts_begins_anew(self):
        self.break_off()
        changed = self.files[LARGE][:-1] + bytes([self.files[LARGE][-1] ^ 1])
        self.repository.push({LARGE: changed})
        self.add("hf:user/tiny")
        self.assertEqual(self.ranges(), [None])
        self.assert_stored("tiny-f32", {"tiny-f32.gguf": changed})

    def test_a_shard_that_changed_begins_anew_and_the_others_do_not(self):
        shards = {each: self.files[each] for each in SHARDS}
        repository = self.hub.add("user/shards", shards)
        self.stop_after_files(2)
        self.assertEqual([suffix for suffix, size in self.parts("tiny-shards") if size > 0], [".whole", ".whole"])
        changed = shards[SHARDS[1]][:-1] + bytes([shards[SHARDS[1]][-1] ^ 1])
        repository.push({**shards, SHARDS[1]: changed})
        self.hub.forget()
        self.add("hf:user/shards")
        digests = [each.path.split("/")[2].split("?")[0] for each in self.hub.of("cdn")]
        self.assertEqual(digests, [hashlib.sha256(each).hexdigest() for each in (changed, shards[SHARDS[2]])])
        self.assert_stored("tiny-shards", {f"tiny-shards/{path}": data for path, data in {**shards, SHARDS[1]: changed}.items()})

    def stop_after_files(self, count):
        """A run of hf:user/shards that gets so many files and then no more."""
        self.hub.faults.cdn_answers = [None] * count + [(400, [])]
        self.refused("hf:user/shards")

    def test_bytes_that_are_wrong_are_not_kept(self):
        self.hub.faults.flip_at = 200_000
        text = self.refused("hf:user/tiny")
        self.assert_says(text, "tiny-F32.gguf came with the SHA-256 ", hashlib.sha256(self.files[LARGE]).hexdigest(), "nothing of it is kept")
        self.assertEqual(list(self.models.iterdir()), [])
        self.hub.forget()
        self.add("hf:user/tiny")
        self.assertEqual(self.ranges(), [None])
        self.assert_fetched()

    def test_a_part_whose_bytes_are_wrong_begins_anew_by_itself(self):
        self.break_off()
        part = next((self.models / ".fetch.tiny-f32").glob("*.part"))
        part.write_bytes(b"\0" * 100_000)
        self.add("hf:user/tiny")
        self.assertEqual(self.ranges(), ["bytes=100000-", None])
        self.assert_fetched()

    def test_a_server_without_ranges_gives_the_whole_file_again(self):
        self.break_off()
        self.hub.faults.has_no_ranges = True
        self.add("hf:user/tiny")
        self.assertEqual(self.ranges(), ["bytes=100000-"])
        self.assert_fetched()

    def test_a_range_that_does_not_begin_where_the_part_ends_begins_anew(self):
        self.break_off()
        self.hub.faults.range_shift = 10
        self.add("hf:user/tiny")
        self.assertEqual(self.ranges(), ["bytes=100000-", None])
        self.assert_fetched()

    def test_a_file_of_another_length_is_another_file(self):
        for length, hides in ((self.size - 1, False), (self.size + 1, False), (self.size + 1, True)):
            with self.subTest(length=length, hides=hides):
                self.hub.faults = hubs.Faults(length=length, hides_length=hides)
                self.assert_says(self.refused("hf:user/tiny"), "the hub has another file", f"{self.size} ", "wanted")
                self.assert_none_is_stored()
        # Shorter, in chunks: the connection may have broken, so that it is tried again before it is an error.
        self.hub.forget()
        self.hub.faults = hubs.Faults(length=self.size - 1, hides_length=True, has_no_ranges=True)
        self.assert_says(self.refused("hf:user/tiny"), "tiny-F32.gguf: the server ended after")
        self.assert_none_is_stored()

    def test_a_digest_that_differs_from_the_list_is_another_file(self):
        self.hub.faults.linked_etag = "0" * 64
        self.assert_says(self.refused("hf:user/tiny"), "another file", "its SHA-256 is " + "0" * 64)
        self.assert_none_is_stored()

    def test_a_length_in_chunks_is_fine(self):
        self.hub.faults.hides_length = True
        self.add("hf:user/tiny")
        self.assert_fetched()

    def test_a_full_disk_is_an_error_and_its_part_stays(self):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        text = self.refused("hf:user/tiny", preexec_fn=small_files)
        self.assert_says(text, "cannot write ", "File too large", " of 604.6 KiB of tiny-F32.gguf are kept")
        self.assertEqual(self.parts("tiny-f32"), [(".part", 100_000)])
        self.assert_none_is_stored()
        self.add("hf:user/tiny")
        self.assert_fetched()

    def test_remove_forgets_what_has_come(self):
        self.break_off()
        removed = self.quire("model", "remove", "tiny-f32")
        self.assertEqual(removed.returncode, 0, removed.stderr)
        self.assertEqual(list(self.models.iterdir()), [])
        self.assertEqual(self.quire("model", "remove", "tiny-f32").returncode, 3)


if __name__ == "__main__":
    harness.main()
