"""A real model on torch and, exported by our own command, on ONNX Runtime: one model under two names."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from app.encoder import Encoder, open_encoder
from app.main import create_app
from app.settings import Settings
from warp_core import InvalidInputError

pytestmark = [
    pytest.mark.model,
    # transformers' and torch's own notices
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

SENTENCES = [
    "What do guests think about the breakfast?",
    "pool",
    "",
    "  Café crème, naïve résumé: 12,50 €; 日本語 русский 😀 ",
    "The room was clean, but the walls are thin and the street is loud all night long. " * 3,
    "A text that is far longer than the model reads, so that both have to cut it off at the same word. " * 60,
    "x" * 5000,
]


@pytest.fixture(scope="module")
def exported(model_path: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("onnxscript", reason="the exporter is missing: make test FULL=1")
    folder = tmp_path_factory.mktemp("onnx") / "minilm"
    command = [sys.executable, "-c", "from app.cli import main; main()", "export-encoder", model_path, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "cosine 1.000000 or more" in done.stderr
    return folder


@pytest.fixture(scope="module")
def on_torch(model_path: str) -> Encoder:
    opened = open_encoder(model_path, threads=1)
    assert opened is not None
    return opened


@pytest.fixture(scope="module")
def on_onnx(exported: Path) -> Encoder:
    opened = open_encoder(f"onnx:{exported}", threads=1)
    assert opened is not None
    return opened


async def test_both_backends_make_the_same_vectors_of_any_text(on_torch: Encoder, on_onnx: Encoder) -> None:
    cosines = np.sum(await on_torch.encode(SENTENCES) * await on_onnx.encode(SENTENCES), axis=1)
    assert cosines.min() > 0.9999
    queries = np.sum(await on_torch.encode_queries(SENTENCES) * await on_onnx.encode_queries(SENTENCES), axis=1)
    assert queries.min() > 0.9999


def test_a_collection_takes_either_backend_for_the_other(on_torch: Encoder, on_onnx: Encoder) -> None:
    assert on_torch.space != on_onnx.space  # their names differ
    assert on_torch.made(on_onnx.space)
    assert on_onnx.made(on_torch.space)


def test_a_service_on_onnx_goes_on_where_one_on_torch_began(
    model_path: str,
    exported: Path,
    tmp_path: Path,
) -> None:
    documents = [
        {"id": name, "text": text, "opinions": [{"entity": "stay", "si": -20}]}
        for name, text in (("cold", "The eggs were cold and stale."), ("loud", "We could not sleep, it was loud."))
    ]
    with TestClient(create_app(Settings(data_dir=tmp_path, encoder=model_path))) as client:
        assert client.post("/ingest", json={"documents": documents[:1]}).json()["created"] == 1
    with TestClient(create_app(Settings(data_dir=tmp_path, encoder=f"onnx:{exported}"))) as client:
        assert client.post("/ingest", json={"documents": documents[1:]}).json()["created"] == 1
        for query, nearest in (("noise at night", "loud"), ("breakfast", "cold")):
            answer = client.post("/search", json={"query": query, "k": 1, "variant": "top_k"}).json()
            assert answer["results"][0]["id"] == nearest
    with TestClient(create_app(Settings(data_dir=tmp_path, encoder="wordllama"))) as client:
        answer = client.post("/search", json={"query": "noise"})
        assert answer.status_code == 422
        assert f"run the service with WARP_ENCODER={model_path}" in answer.json()["detail"]


def changed(exported: Path, folder: Path, file: str, change: dict[str, object] | None) -> str:
    """A copy of the folder with some keys of a JSON file set, or without the file."""
    shutil.copytree(exported, folder)
    target = folder / file
    if change is None:
        target.unlink()
    else:
        target.write_text(json.dumps({**json.loads(target.read_text()), **change}))
    return f"onnx:{folder}"


@pytest.mark.parametrize(
    ("file", "change", "complaint"),
    [
        ("model.onnx", None, "no model.onnx"),
        ("tokenizer.json", None, "tokenizer.json"),
        ("tokenizer.json", {"model": 5}, "tokenizer.json"),
        ("1_Pooling/config.json", {"pooling_mode": "lasttoken"}, "pooling must be one of mean, cls, max"),
        ("1_Pooling/config.json", {"pooling_mode": ["mean", "max"]}, "pooling must be one of mean, cls, max"),
        ("1_Pooling/config.json", {"include_prompt": False}, "leaves out the prompt"),
    ],
)
def test_a_folder_that_would_give_other_vectors_is_refused_by_name(
    exported: Path, tmp_path: Path, file: str, change: dict[str, object] | None, complaint: str
) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        open_encoder(changed(exported, tmp_path / "changed", file, change), threads=1)


def test_a_part_that_is_not_supported_is_refused_by_name(exported: Path, tmp_path: Path) -> None:
    name = changed(exported, tmp_path / "dense", "config.json", {})
    modules = tmp_path / "dense" / "modules.json"
    modules.write_text(json.dumps([*json.loads(modules.read_text()), {"path": "3_Dense", "type": "x.models.Dense"}]))
    with pytest.raises(InvalidInputError, match="modules of the kinds Dense"):
        open_encoder(name, threads=1)


def test_a_damaged_graph_is_refused(exported: Path, tmp_path: Path) -> None:
    name = changed(exported, tmp_path / "damaged", "config.json", {})
    graph = tmp_path / "damaged" / "model.onnx"
    graph.write_bytes(graph.read_bytes()[:100_000])
    with pytest.raises(InvalidInputError, match="cannot be loaded"):
        open_encoder(name, threads=1)


async def test_the_layout_of_older_versions_and_of_the_hub_is_read_too(
    exported: Path, on_onnx: Encoder, tmp_path: Path
) -> None:
    """`onnx/model.onnx`, the pooling in flags, the length in sentence_bert_config.json."""
    name = changed(exported, tmp_path / "hub", "sentence_bert_config.json", {"max_seq_length": 256})
    folder = tmp_path / "hub"
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    hub = open_encoder(name, threads=1)
    assert hub is not None
    assert np.array_equal(await hub.encode(SENTENCES), await on_onnx.encode(SENTENCES))
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    first = open_encoder(name, threads=1)
    assert first is not None
    assert not first.made(on_onnx.space)  # pooled otherwise, it is another model


def test_a_folder_that_holds_something_is_not_written_over(model_path: str, tmp_path: Path) -> None:
    onnx_export = pytest.importorskip("app.encoder.onnx_export")
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(InvalidInputError, match="is not empty"):
        onnx_export.export(model_path, tmp_path)
    with pytest.raises(InvalidInputError, match="cannot be exported"):
        onnx_export.export("./no/such/model", tmp_path / "new")
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]
