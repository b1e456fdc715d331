"""Networks of PyTorch in and out, compared with PyTorch; skipped where it is not installed."""

from dataclasses import replace

import numpy as np
import pytest

from graphrewrite import Graph, load, op, optimise
from graphrewrite.errors import GraphRewriteError
from graphrewrite.lowering import Hook, from_torch, to_torch
from graphrewrite.lowering.errors import ModelError, UnsupportedOpsError
from graphrewrite.lowering.exchange.torch.in_place import without_in_place
from graphrewrite.lowering.exchange.torch_import import TORCH

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the extra [torch]")
nn, functional = torch.nn, torch.nn.functional
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of PyTorch, about its own code


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.act, self.linear = nn.ReLU(inplace=True), nn.Linear(64, 8)
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.lstm, self.out = nn.LSTM(8, 6, bidirectional=True, batch_first=True), nn.Linear(12, 3)

    def forward(self, x):
        y = functional.max_pool2d(self.act(self.norm(self.conv(x))), 2).flatten(1)
        y = self.encoder(self.linear(y)[:, None].expand(-1, 3, -1))
        return {"logits": self.out(self.lstm(y)[0][:, -1])}


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return Network().eval()


@pytest.fixture(scope="module")
def graph(network):
    return from_torch(network, torch.zeros(1, 1, 8, 8), dynamic={"x": {0: "batch"}})


def _logits(network, x):
    with torch.no_grad():
        return network(x)["logits"].numpy()


def test_a_module_equals_torch_at_any_batch(network, graph):
    x = torch.randn(5, 1, 8, 8)
    assert str(graph.result_type("x")) == "f32[batch,1,8,8]"
    np.testing.assert_allclose(graph.evaluate(x.numpy())["logits"], _logits(network, x), rtol=1e-5, atol=1e-6)


def test_nodes_have_the_names_of_modules_and_know_their_lines(graph):
    assert {"conv", "norm", "act", "linear", "encoder.norm1", "lstm", "conv.weight"} <= set(graph)
    record = graph.graph["origin"]["nodes"]["conv"]["metadata"]
    assert record["module"] == "torch.nn.modules.conv.Conv2d"
    assert __file__ in record["source"]


def test_weights_share_memory(network, graph):
    array = graph.nodes["conv.weight"]["value"]
    assert np.shares_memory(array, network.conv.weight.detach().numpy())
    assert not array.flags.writeable


def test_a_file_and_a_program_give_the_same(network, tmp_path):
    open_batch = ({0: torch.export.Dim("b")},)
    program = torch.export.export(network, (torch.zeros(2, 1, 8, 8),), dynamic_shapes=open_batch)
    torch.export.save(program, tmp_path / "net.pt2")
    (tmp_path / "net.pt2").rename(tmp_path / "net.bin")
    x = torch.randn(3, 1, 8, 8)
    for found in (load(tmp_path / "net.bin"), from_torch(program)):
        np.testing.assert_allclose(found.evaluate(x.numpy())["logits"], _logits(network, x), rtol=1e-5, atol=1e-6)


def test_there_and_back_it_trains(network, graph):
    x, wanted = torch.randn(6, 1, 8, 8), torch.tensor([0, 1, 2, 0, 1, 2])
    module = to_torch(optimise(graph))
    np.testing.assert_allclose(module(x).detach().numpy(), _logits(network, x), rtol=1e-4, atol=1e-5)
    steps = torch.optim.SGD(module.parameters(), 0.1)
    losses = []
    for _ in range(6):
        loss = functional.cross_entropy(module(x), wanted)
        steps.zero_grad()
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert all(each.grad is not None for each in module.parameters())


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return self.function(*tensors)


def _real(*shape):
    return torch.randn(*shape)


def _changed(x, y):
    z = x + y
    z += x
    functional.relu(z, inplace=True).mul_(0.5)
    return torch.cat([z, x]).clamp_(-1, 1) + 1


CASES = {
    "angles": lambda: (
        lambda x, y: (torch.atan2(x, y), torch.hypot(x, y)),
        *torch.meshgrid(*[torch.tensor([0.0, -0.0, 1.0, -3.0, 1e30, torch.inf])] * 2, indexing="ij"),
    ),
    "bags": lambda: (
        lambda i, w: tuple(functional.embedding_bag(i, w, mode=mode) for mode in ("sum", "mean", "max")),
        torch.tensor([[0, 3, 1], [2, 2, 4]]),
        _real(5, 3),
    ),
    "distances": lambda: (
        lambda x, y: (torch.cdist(x, y), torch.cdist(x[0], y, 1), torch.cdist(y, x)),
        _real(2, 5, 3),
        _real(4, 3),
    ),
    "bilinear": lambda: (functional.bilinear, _real(3, 4), _real(3, 5), _real(6, 4, 5)),
    "median": lambda: (lambda x: (*x.median(1), *x.median(0, keepdim=True)), _real(5, 4)),
    "random slope": lambda: (lambda x: functional.rrelu(x, 0.1, 0.3), _real(9)),
    "clamp": lambda: (lambda x: x.clamp(-0.3, 0.4), _real(9)),
    "floor division": lambda: (torch.floor_divide, _real(3, 4) * 5, _real(4) + 3),
    "remainder": lambda: (torch.remainder, _real(3, 4) * 5, _real(4) + 3),
    "promotion": lambda: (lambda x, y: x + y, torch.arange(3), _real(3)),
    "two tensors of indices": lambda: (
        lambda x, i, j: x[:, i, j],
        _real(3, 5, 5, 2),
        torch.arange(4)[:, None],
        torch.arange(2),
    ),
    "in place on a view": lambda: (lambda x: (y := x.clone(), y[:, 1].add_(1))[0], _real(3, 2)),
    "in place on values of their own": lambda: (_changed, _real(3, 4), _real(3, 4)),
    "in place, and read before": lambda: (lambda x: (y := x * 2, z := y + 1, y.relu_(), y + z)[3], _real(3, 2)),
    "in place, with a view": lambda: (lambda x: (y := x * 2, z := y.view(-1), y.add_(1), z * 1)[3], _real(3, 2)),
    "in place, on what is perhaps a view": lambda: (
        lambda x: (y := x * 2, z := functional.dropout(y, 0.5, False), y.add_(1), z * 1)[3],
        _real(3, 2),
    ),
    "in place, returned by its first name": lambda: (lambda x: (y := x * 2, y.add_(1))[0], _real(3, 2)),
    "in place, half precision with float": lambda: (lambda x, y: (x * 2).add_(y) * 1, _real(3).half(), _real(3)),
    "uneven pool": lambda: (lambda x: functional.adaptive_avg_pool2d(x, (4, 7)), _real(2, 3, 6, 5)),
    "pool to the ceiling": lambda: (lambda x: functional.avg_pool2d(x, 2, 3, 1, True), _real(2, 3, 10, 7)),
    "scale that fits no size": lambda: (
        lambda x: functional.interpolate(x, scale_factor=1.3, mode="bilinear"),
        _real(1, 2, 5, 7),
    ),
    "even kernel, same size": lambda: (
        lambda x, w: functional.conv2d(x, w, padding="same"),
        _real(1, 2, 6, 5),
        _real(3, 2, 4, 2),
    ),
    "mask of attention": lambda: (
        lambda q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m > -1),
        *(_real(2, 2, 5, 4) for _ in range(3)),
        _real(2, 1, 5, 5),
    ),
    "variance": lambda: (lambda x: torch.var_mean(x, 1), _real(3, 4)),
    "window views": lambda: (lambda x: x.unfold(1, 3, 2), _real(2, 9)),
}


@pytest.mark.parametrize("case", CASES)
def test_ops_equal_torch_both_ways(case):
    function, *tensors = CASES[case]()
    with torch.no_grad():
        found = function(*tensors)
    wanted = [each.numpy() for each in (found if isinstance(found, tuple) else (found,))]
    graph = from_torch(Function(function), *tensors)
    inputs = [each.numpy() for each in tensors]
    for array, expected in zip(
        graph.evaluate(dict(zip(graph.inputs, inputs, strict=True))).values(), wanted, strict=True
    ):
        assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-5)
    try:
        module = to_torch(graph)
    except GraphRewriteError:  # not every op has a form there
        return
    again = module(*tensors)
    for tensor, expected in zip(again.values() if isinstance(again, dict) else (again,), wanted, strict=True):
        np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("case", "is_own"),
    [
        ("in place on values of their own", True),
        ("in place, and read before", True),
        ("in place on a view", False),
        ("in place, with a view", False),
        ("in place, on what is perhaps a view", False),
        ("in place, returned by its first name", True),
        ("in place, half precision with float", False),
    ],
)
def test_operations_in_place_that_need_no_second_trace(case, is_own):
    torch.manual_seed(1)
    function, *arguments = CASES[case]()
    program = torch.export.export(Function(function), tuple(arguments), strict=False)
    before = str(program.graph)
    functional_form = without_in_place(program, TORCH)
    assert (functional_form is not None) == is_own
    assert str(program.graph) == before


def test_hooks(network, tmp_path):
    told, seen = [], []

    def halved(node):
        seen.append((node.op, node.name, len(node.inputs), dict(node.attributes)))
        return op.mul(op.relu(node.inputs[0]), np.float32(0.5)) if node.model.framework == "torch" else None

    def wider(node):
        return replace(node, attributes={**node.attributes, "padding": (2, 2)}, op="aten.conv2d")

    program = torch.export.export(nn.Sequential(nn.ReLU(), nn.Conv2d(1, 1, 3, padding=1)), (torch.zeros(1, 1, 4, 4),))
    hooks = [
        Hook(before=lambda model: told.append(model.ops) or {"output": "y"}),
        Hook(before=halved, node="0"),
        Hook(after=lambda node, y: op.neg(y), op="aten.relu"),
    ]
    graph = from_torch(program, hooks=hooks)
    assert (told, seen) == ([{"0": "aten.relu", "1": "aten.conv2d"}], [("aten.relu", "0", 1, {})])
    assert graph.outputs == ("y",)
    assert [graph.nodes[n]["type"] for n in graph.in_order()].count("neg") == 1
    torch.export.save(program, tmp_path / "net.pt2")
    with pytest.raises(ModelError, match="PyTorch says"):  # the changed node gives another shape
        load(tmp_path / "net.pt2", hooks=[Hook(before=wider, op="aten.conv2d")])


def test_buffers_stay_buffers():
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.table = nn.Linear(3, 3), nn.Parameter(torch.ones(3, 3))
            self.register_buffer("mask", torch.ones(3, 3))

        def forward(self, x):
            return self.linear(x) @ self.table @ self.mask

    graph = from_torch(Shifted(), torch.zeros(2, 3))
    for each in (graph, optimise(graph)):  # equal numbers, too
        module = to_torch(each)
        assert {"linear.weight", "linear.bias", "table"} == {name for name, _ in module.named_parameters()}
        assert {name for name, _ in module.named_buffers()} == {"mask"}
    assert [name for name, _ in to_torch(graph, trainable=["mask"]).named_parameters()] == ["mask"]


def test_buffers_that_change_are_inputs_and_outputs():
    graph = from_torch(nn.BatchNorm1d(3), x := torch.randn(4, 3))
    assert graph.nodes["running_mean"]["next"] == "running_mean.next"
    inputs = {name: graph.nodes[name].get("initial", x.numpy()) for name in graph.inputs}
    found, module = graph.evaluate(inputs), nn.BatchNorm1d(3)
    np.testing.assert_allclose(found["output"], module(x).detach().numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["running_var.next"], module.running_var.numpy(), rtol=1e-5)


def test_what_is_not_supported_is_named_at_once():
    with pytest.raises(UnsupportedOpsError, match=r"aten\.cummax.*aten\.erfinv"):
        from_torch(Function(lambda x: torch.cummax(x, 0)[0] + torch.erfinv(x)), torch.ones(3))
    with pytest.raises(ModelError, match=r"model\.eval\(\)"):
        from_torch(nn.Dropout(), torch.ones(3))
    with pytest.raises(UnsupportedOpsError, match="nonzero"):
        to_torch(Graph.parse("graph g\nx = input() : f32[4]\nn = nonzero(x)\ny = output(n)"))
