"""huggingface_hub of PyPI agrees that the hub of these tests has the routes of a hub, and quire with it on the bytes.

`tools/fetch_clients.sh hub` installs it. The cases skip by name if it is missing.
"""
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import harness
import hub as hubs
from harness import CHECKPOINT, LARGE, SHARDS, SMALL

FOLDER = pathlib.Path(os.environ.get("QUIRE_CLIENTS") or pathlib.Path.home() / ".cache" / "quire-clients") / "hub"
# Set before it is imported: it reads these once, and would report its use or look for tokens of the user.
CACHE = tempfile.mkdtemp(prefix="quire-hub-judge-")
os.environ.update({"HF_HOME": CACHE, "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1",
                   "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1", "DO_NOT_TRACK": "1"})
for each in list(os.environ):
    if each.lower().endswith("_proxy") or each in ("HF_ENDPOINT", "HF_TOKEN"):
        del os.environ[each]
FIRST = next((i for i, each in enumerate(sys.path) if each.endswith("site-packages")), len(sys.path))
sys.path[FIRST:FIRST] = [str(each) for each in FOLDER.glob(
    f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages")]
try:
    import huggingface_hub
    from huggingface_hub import errors
except ModuleNotFoundError:
    huggingface_hub = None


@unittest.skipUnless(huggingface_hub, "no client huggingface_hub: tools/fetch_clients.sh hub installs it")
class TheHubIsAHub(harness.HubTest):
    def setUp(self):
        super().setUp()
        self.cache = pathlib.Path(tempfile.mkdtemp(dir=CACHE))
        self.api = huggingface_hub.HfApi(endpoint=self.hub.url, token=False)

    def download(self, name, file, **more):
        path = huggingface_hub.hf_hub_download(name, file, endpoint=self.hub.url, cache_dir=self.cache,
                                               **{"token": False, **more})
        return pathlib.Path(path)

    def test_its_lists_of_files_are_read(self):
        repository = self.hub.add("user/tiny", {**{f"F32/{each}": self.files[each] for each in SHARDS}, SMALL: self.files[SMALL],
                                                "config.json": b"{}"})
        self.hub.page_entries = 2
        commit = repository.refs["main"]
        self.assertEqual(self.api.model_info("user/tiny").sha, commit)
        about = self.api.model_info("user/tiny", revision=commit, files_metadata=True)
        listed = {each.rfilename: (each.size, each.lfs and each.lfs.sha256) for each in about.siblings}
        tree = {each.path: (each.size, each.lfs and each.lfs.sha256) for each in
                self.api.list_repo_tree("user/tiny", recursive=True, revision=commit)
                if isinstance(each, huggingface_hub.hf_api.RepoFile)}
        expected = {path: (len(each.data), each.sha256 if each.is_lfs else None)
                    for path, each in repository.commits[commit].items()}
        self.assertEqual(listed, expected)
        self.assertEqual(tree, expected)
        self.assertEqual(len(self.hub.of("hub", "/tree/")), 3)

    def test_what_it_says_of_a_file_is_understood(self):
        repository = self.hub.add("user/tiny", {SMALL: self.files[SMALL], "config.json": b"{}"})
        for path in (SMALL, "config.json"):
            about = huggingface_hub.get_hf_file_metadata(huggingface_hub.hf_hub_url("user/tiny", path, endpoint=self.hub.url),
                                                         token=False)
            file = repository.commits[repository.refs["main"]][path]
            self.assertEqual(about.etag, file.sha256 if file.is_lfs else file.blob)
            self.assertEqual(about.size, len(file.data))
            self.assertEqual(about.commit_hash, repository.refs["main"])

    def test_it_fetches_the_bytes_that_quire_does(self):
        self.hub.add("user/tiny", {LARGE: self.files[LARGE], SMALL: self.files[SMALL]})
        theirs = self.download("user/tiny", SMALL)
        self.assertEqual(theirs.read_bytes(), self.files[SMALL])
        # The name of its blob is the digest by which it knows the file.
        digest = theirs.resolve().name
        self.add("hf:user/tiny:Q8_0")
        record = (self.models / "tiny-q8_0.sha256").read_text()
        self.assertEqual(record, f"{digest}  tiny-q8_0.gguf\n")
        self.assertEqual((self.models / "tiny-q8_0.gguf").read_bytes(), theirs.read_bytes())
        # Both ask the hub for the same, and none brings a token to the CDN.
        self.assertEqual({each.path for each in self.hub.of("cdn")}, {self.hub.of("cdn")[0].path})

    def test_it_fetches_the_checkpoint_that_quire_does(self):
        tiny = harness.SOURCE / "tests" / "golden" / "tiny_qwen2"
        self.hub.add("user/tiny", {each: (tiny / each).read_bytes() for each in CHECKPOINT})
        theirs = pathlib.Path(huggingface_hub.snapshot_download("user/tiny", endpoint=self.hub.url, cache_dir=self.cache, token=False))
        self.add("hf:user/tiny")
        for each in CHECKPOINT:
            self.assertEqual((self.models / "tiny" / each).read_bytes(), (theirs / each).read_bytes(), each)

    def test_it_takes_up_a_part_by_a_range(self):
        self.hub.add("user/tiny", {LARGE: self.files[LARGE]})
        self.hub.faults.cut_at = 100_000
        self.hub.faults.cut_count_max = 1
        # The package keeps whole chunks alone, of 10 MiB.
        with unittest.mock.patch.object(huggingface_hub.constants, "DOWNLOAD_CHUNK_SIZE", 1000):
            self.assertEqual(self.download("user/tiny", LARGE).read_bytes(), self.files[LARGE])
        self.assertEqual([each.header("Range") for each in self.hub.of("cdn") if each.method == "GET"], [None, "bytes=100000-"])

    def test_a_token_goes_to_the_hub_alone(self):
        self.hub.add("user/tiny", {SMALL: self.files[SMALL]}, is_private=True)
        self.download("user/tiny", SMALL, token=hubs.TOKEN)
        self.assertTrue(self.hub.of("cdn"))
        self.assert_no_token_left()

    def test_its_refusals_are_those_of_a_hub(self):
        repository = self.hub.add("user/tiny", {SMALL: self.files[SMALL]})
        with self.assertRaises(errors.RepositoryNotFoundError):
            self.api.model_info("user/other")
        with self.assertRaises(errors.RevisionNotFoundError):
            self.api.model_info("user/tiny", revision="v9")
        with self.assertRaises(errors.EntryNotFoundError):
            self.download("user/tiny", "m.gguf")
        repository.is_gated = True
        with self.assertRaises(errors.GatedRepoError):
            self.download("user/tiny", SMALL)
        repository.is_gated = False
        repository.is_private = True
        with self.assertRaises(errors.RepositoryNotFoundError):
            self.download("user/tiny", SMALL)
        with self.assertRaises(errors.HfHubHTTPError) as wrong:
            self.api.model_info("user/tiny", token="hf_wrong")
        self.assertIn("Invalid credentials", str(wrong.exception))


if __name__ == "__main__":
    harness.main()
