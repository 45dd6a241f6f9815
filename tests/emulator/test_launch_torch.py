"""Launches with torch tensors: read and written in place, whatever part of their storage they are."""

import numpy as np
import pytest

import mfma
from corpus.case import OBJECTS
from hip_tools import missing
from mfma import LaunchError


@pytest.fixture(scope="module")
def torch():
    try:
        import torch
    except ImportError:
        missing("torch")
    return torch


@pytest.fixture(scope="module")
def add():
    """out[i] = x[i] + y[i] for i < n."""
    return mfma.load(OBJECTS / "hip_vector.co")["add_f32"]


@pytest.mark.parametrize("engine", ["native", "interpreter"])
def test_tensors_are_read_and_written_in_place(torch, add, engine):
    x, y, out = torch.arange(100.0), torch.full((100,), 0.5), torch.zeros(100)
    add.launch(2, 64, [x, y, out, 100], engine=engine)
    assert torch.equal(out, x + 0.5)


def test_tensors_and_arrays_mix(torch, add):
    x, out = np.arange(64, dtype=np.float32), torch.zeros(64)
    add.launch(1, 64, [x, torch.from_numpy(x), out, 64])  # one memory, given twice
    assert np.array_equal(out.numpy(), 2 * x)


def test_views_point_into_their_storage(torch, add):
    whole = torch.arange(200.0)
    add.launch(1, 64, [whole[10:74], whole[20:84], whole[100:164], 64])
    assert torch.equal(whole[100:164], torch.arange(30.0, 158, 2))
    assert torch.equal(whole[:100], torch.arange(100.0))
    assert torch.equal(whole[164:], torch.arange(164.0, 200))
    add.launch(1, 64, [whole[20:84].view(8, 8).T, whole[0:64], whole[0:64], 64])  # the order is the storage's
    assert torch.equal(whole[:64], torch.arange(20.0, 148, 2))


def test_the_end_of_the_storage_is_the_end(torch, add):
    whole = torch.zeros(100)
    add.launch(1, 64, [whole[90:], whole[90:], whole[90:], 10])
    with pytest.raises(mfma.MemoryFault, match="1 byte behind 'argument 0, argument 1, argument 2'"):
        add.launch(1, 64, [whole[90:], whole[90:], whole[90:], 11])


def test_parameters_and_other_types_go_as_bits(torch, add):
    weight = torch.nn.Parameter(torch.ones(64))
    halves = torch.zeros(128, dtype=torch.bfloat16)
    add.launch(1, 64, [weight, weight, halves, 64])
    assert weight.requires_grad
    assert weight.grad is None
    assert halves.view(torch.float32).tolist() == [2.0] * 64
    codes = torch.full((64, 4), 0x40, dtype=torch.uint8).view(torch.float8_e4m3fnuz)
    add.launch(1, 64, [codes, codes, weight, 64])
    assert weight.tolist() == [2 * float(np.array([0x40404040], np.uint32).view(np.float32)[0])] * 64


def test_numbers_can_be_tensors_without_dimensions(torch, add):
    x, out = torch.ones(64), torch.zeros(64)
    add.launch(1, 64, [x, x, out, torch.tensor(3, dtype=torch.int32)])
    assert out.tolist() == [2.0] * 3 + [0.0] * 61
    with pytest.raises(LaunchError, match=r"^argument 3 has 4 bytes and 8 were given\.$"):
        add.launch(1, 64, [x, x, out, torch.tensor(3)])
    with pytest.raises(LaunchError, match=r"^argument 3 is a value of 4 bytes and Tensor of 8 bytes was given;"):
        add.launch(1, 64, [x, x, out, torch.zeros(2)])


def test_empty_tensors(torch, add):
    for empty in (torch.empty(0), torch.zeros(8)[8:]):
        add.launch(1, 64, [empty, empty, empty, 0])


REFUSED = {
    "device": (
        lambda torch: torch.ones(64, device="meta"),
        r"argument 0 is a torch tensor on meta; copy it to the CPU with \.cpu\(\)\.",
    ),
    "layout": (
        lambda torch: torch.eye(8).to_sparse(),
        r"argument 0 is a torch\.sparse_coo tensor; make it dense with \.to_dense\(\)\.",
    ),
    "conjugate": (
        lambda torch: torch.ones(64, dtype=torch.complex64).conj(),
        r"argument 0 is a lazily conjugated or negated tensor; pass \.resolve_conj\(\)\.resolve_neg\(\) of it\.",
    ),
    "negative": (
        lambda torch: torch.ones(64, dtype=torch.complex64).conj().imag,
        r"argument 0 is a lazily conjugated or negated tensor; pass \.resolve_conj\(\)\.resolve_neg\(\) of it\.",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_kernel_cannot_have_is_refused(torch, add, name):
    make, message = REFUSED[name]
    out = torch.zeros(64)
    with pytest.raises(LaunchError, match=f"^{message}$"):
        add.launch(1, 64, [make(torch), out, out, 64])
    assert not out.any()
