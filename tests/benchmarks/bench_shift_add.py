"""Unrolled networks without multipliers: our networks of adders beside da4ml's, layer by layer through the same Yosys.

Both get the same weights, biases, formats, rounding (half up: da4ml has no half even) and saturation, and are exact:
ours in GHDL, theirs by their own ``predict``. A layer is its product, and but for the last rectifying, rounding and
limiting to the next one's format. da4ml's modules are plain pipelines; ours are components with handshake, whose cost
is in the numbers. LUT and INV are counted as Yosys does; sites are what a slice needs of look-up tables, see `_sites`.
CPU s is the time of generation, all threads together.
``pip install da4ml==0.6.0 pyosys==0.70``; set SHIFT_ADD to the networks or layers to run (``jet8,jet16,classes``, or
``classes.fc4``; the larger ones take minutes in Yosys), JET_MODEL to the file of the jet tagger (hls4ml's
``three_layer_keras.onnx``), and SHIFT_ADD_ROUNDING=half_even for ours as lowering gives them. Without da4ml there are
only our rows.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from graphrewrite import models
from graphrewrite.hdl.arithmetic.adder_network import network
from graphrewrite.hdl.checking import check_component
from graphrewrite.hdl.component import Site
from graphrewrite.hdl.components.adder_graph import ADDER_GRAPH, adder_graph
from graphrewrite.hdl.emission.entity import ports, source_of
from graphrewrite.hdl.generics import literal
from graphrewrite.hdl.synthesis.verilog import to_verilog
from graphrewrite.hdl.synthesis.yosys import run_yosys
from graphrewrite.lowering.shift_add import adders_of
from graphrewrite.types import FixedPoint, Stream
from tests.benchmarks.figures import print_table

JET = Path(os.environ.get("JET_MODEL", "three_layer_keras.onnx"))
CLASSES = Path(models.__file__).parent / "classes.onnx"
TEMPLATES = Path(__file__).parents[2] / "hdl" / "templates"
SYNTHESIS = "synth_xilinx -family xc7 -nodsp -flatten -noiopad -noclkbuf -top"
STAGES = 2
ROUNDING = os.environ.get("SHIFT_ADD_ROUNDING", "half_up")
ACTIVATION = FixedPoint(False, 6, 3)
COLUMNS = ("layer", "of", "adders", "depth", "LUT", "INV", "CARRY4", "FF", "sites", "cycles", "CPU s", "Yosys s")


class Layer(NamedTuple):
    """Integer weights and bias, the format of what they multiply, and the places that are rounded off; None: no end."""

    weights: np.ndarray
    bias: np.ndarray
    element: FixedPoint
    shift: int | None

    @property
    def finish(self) -> dict[str, Any]:
        """Attributes of an `adder_graph`."""
        if self.shift is None:
            ends = self.weights * self.element.minimum, self.weights * self.element.maximum
            low, high = np.minimum(*ends).sum(axis=1) + self.bias, np.maximum(*ends).sum(axis=1) + self.bias
            return {"element": FixedPoint.holding(int(low.min()), int(high.max()))}
        return {"element": ACTIVATION, "shift": self.shift, "rounding": ROUNDING}


def _arrays(path: Path) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}


def _rounded(w: np.ndarray, b: np.ndarray, element: FixedPoint, *, last: bool) -> Layer:
    """Six bits, with the finest power of two at which at most 0.4 % of the weights saturate."""
    fraction = next(f for f in range(10, -9, -1) if np.mean(np.abs(np.round(w * 2.0**f)) > 31) < 0.004)
    weights = np.clip(np.round(w * 2.0**fraction), -32, 31).astype(np.int64)
    bias = np.round(b * 2.0 ** (fraction + element.fraction)).astype(np.int64)
    return Layer(weights, bias, element, None if last else fraction + element.fraction - ACTIVATION.fraction)


def _layers() -> dict[str, Layer]:
    """Layers of all networks; ``jet16`` differs from ``jet8`` in its first."""
    networks, classes = {}, _arrays(CLASSES)
    if JET.exists():
        jet = _arrays(JET)
        for name, first in (("jet8", FixedPoint(True, 8, 4)), ("jet16", FixedPoint(True, 16, 10))):
            networks[name] = [(jet[f"W{n}"].T, jet[f"B{n}"]) for n in ("", 1, 2, 3)], first
    pairs = [(classes[f"fc{n}.weight"], classes[f"fc{n}.bias"]) for n in (1, 2, 3, 4)]
    networks["classes"] = pairs, FixedPoint(True, 6, 3)
    return {
        f"{name}.fc{n + 1}": _rounded(*pair, ACTIVATION if n else first, last=n == 3)
        for name, (pairs, first) in networks.items()
        for n, pair in enumerate(pairs)
    }


def _cells(folder: Path, sources: list[Path], top: str) -> tuple[Counter[str], float]:
    """Cells by kind, and the time that Yosys took."""
    folder.mkdir(exist_ok=True)
    started = time.perf_counter()
    commands = [*(f"read_verilog -sv {path}" for path in sources), f"{SYNTHESIS} {top}", "write_json netlist.json"]
    counted: Counter[str] = Counter()
    for kind, count in run_yosys(commands, top, folder, where=top).cells.items():
        counted["LUT" if kind.startswith("LUT") else "FF" if kind.startswith("FD") else kind] += count
    counted["sites"] = _sites(folder / "netlist.json", top)
    return counted, time.perf_counter() - started


def _sites(path: Path, top: str) -> int:
    """Places of look-up tables that a slice must give.

    One for each bit of a carry chain that is no constant, for its S comes out of one, even where Yosys has a wire or an
    INV there; one for each LUT elsewhere. An INV at DI is the second output of the one at S, and costs nothing.
    """
    cells = json.loads(path.read_text())["modules"][top]["cells"].values()
    chains = [cell["connections"] for cell in cells if cell["type"] == "CARRY4"]
    selecting = [bit for wires in chains for bit in wires["S"] if isinstance(bit, int)]
    absorbed = {*selecting, *(bit for wires in chains for bit in wires["DI"])}
    tables = [cell["connections"]["O"][0] for cell in cells if cell["type"].startswith("LUT")]
    inverters = [cell["connections"]["O"][0] for cell in cells if cell["type"] == "INV"]
    apart = {*tables} - {*selecting} | {*inverters} - absorbed
    return len(selecting) + len(apart)


def _row(name: str, of: str, adders: int, depth: int, cells: Counter[str], *rest: float) -> tuple[object, ...]:
    return (name, of, adders, depth, *(cells[kind] for kind in ("LUT", "INV", "CARRY4", "FF", "sites")), *rest)


def _ours(name: str, layer: Layer, folder: Path) -> tuple[object, ...]:
    started = time.process_time()
    adders, outputs = adders_of(layer.weights, layer.element)
    generation = time.process_time() - started
    x = Stream(layer.element, (layer.weights.shape[1],))
    shared = {"adders": adders, "outputs": outputs, "bias": layer.bias}
    site = Site.of(adder_graph, x, **shared, **layer.finish, stages=STAGES)
    check_component(ADDER_GRAPH, corners=[site], count=0, timeout=None)
    top = f"ours_{name.replace('.', '_')}"
    source, component = folder / f"{top}.vhd", folder / "adder_graph.vhd"
    component.write_text(source_of(ADDER_GRAPH))
    source.write_text(_wrapper(top, site))
    verilog = to_verilog([TEMPLATES / "lanes.vhd", component, source], top)
    path = folder / f"{top}.v"
    path.write_text(verilog.closure(top))
    cells, seconds = _cells(folder / top, [path], top)
    depth = network(adders, outputs, len(layer.weights[0]), layer.element).levels - 1
    return _row(name, "graphrewrite", len(adders), depth, cells, STAGES, generation, seconds)


def _wrapper(top: str, site: Site) -> str:
    """An entity without generics."""
    signals = ["clk, rst : in std_logic"]
    wires = ["clk => clk", "rst => rst"]
    for name, stream, is_input in ports(site):
        there, back = ("in", "out") if is_input else ("out", "in")
        signals.append(f"{name}_payload : {there} std_logic_vector({stream.payload_width - 1} downto 0)")
        signals += [f"{name}_valid : {there} std_logic", f"{name}_ready : {back} std_logic"]
        wires += [f"{name}_{part} => {name}_{part}" for part in ("payload", "valid", "ready")]
    generics = ",\n".join(f"{name} => {literal(value)}" for name, value in ADDER_GRAPH.generics(site).items())
    return (
        f"library ieee;\nuse ieee.std_logic_1164.all;\nentity {top} is port ({'; '.join(signals)}); end entity;\n"
        f"architecture rtl of {top} is\nbegin\n  dut : entity work.adder_graph generic map (\n{generics})\n"
        f"    port map ({', '.join(wires)});\nend architecture;\n"
    )


def _theirs(name: str, layer: Layer, folder: Path) -> tuple[object, ...]:
    from da4ml.codegen import RTLModel
    from da4ml.trace import FixedVariableArrayInput, comb_trace

    element = layer.element
    started = time.process_time()
    given = FixedVariableArrayInput((layer.weights.shape[1],))
    x = given.quantize(int(element.signed), element.width - element.signed, 0)
    half = 2 ** (layer.shift - 1) if layer.shift else 0  # joined to the bias here, which saves them an adder
    sums = x @ layer.weights.T.astype(np.float64) + (layer.bias + half).astype(np.float64)
    if layer.shift is not None:
        sums = sums.quantize(0, layer.shift + ACTIVATION.width, -layer.shift, overflow_mode="SAT")
    solved = comb_trace(given, sums)
    generation = time.process_time() - started
    samples = np.random.default_rng(0).integers(element.minimum, element.maximum, (50, x.shape[0]), endpoint=True)
    expected = samples @ layer.weights.T + layer.bias
    if layer.shift is not None:
        expected = np.clip((expected + half) >> layer.shift, 0, ACTIVATION.maximum) << layer.shift
    assert (solved.predict(samples.astype(np.float64)).reshape(expected.shape) == expected).all()
    depth = int(max(np.max(solved.out_latency), 1))
    top = f"theirs_{name.replace('.', '_')}"
    target = folder / f"{top}_rtl"
    cutoff = -(-depth // STAGES)
    model = RTLModel(solved, top, target, flavor="verilog", latency_cutoff=cutoff, print_latency=False)
    model.write()
    sources = [
        path for path in sorted(target.glob("src/**/*.v")) if "wrapper" not in path.name and "lookup" not in path.name
    ]
    cells, seconds = _cells(folder / top, sources, top)
    adders = sum(op.opcode in (0, 1) for op in solved.ops)
    return _row(name, "da4ml", adders, depth, cells, len(model._pipe.solutions), generation, seconds)


def _total(network: str, rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Sums over the layers of a network, for either side; depth, cycles and seconds add up as well."""
    found = []
    for of in dict.fromkeys(row[1] for row in rows):
        columns = list(zip(*(row[2:] for row in rows if row[1] == of), strict=True))
        found.append((network, of, *(sum(column) for column in columns)))
    return found


@pytest.mark.ghdl
def test_networks_of_adders_beside_those_of_da4ml(tmp_path):
    pytest.importorskip("pyosys")
    beside = find_spec("da4ml") is not None
    layers, rows, totals = _layers(), {}, []
    wanted = os.environ.get("SHIFT_ADD", "jet8.fc4" if JET.exists() else "classes.fc4").split(",")
    for name, layer in layers.items():
        network, same = name.split(".")[0], name.replace("jet16", "jet8")
        if not {name, network} & {*wanted}:
            continue
        known = rows.get(same) if not name.endswith("fc1") else None
        rows[name] = known or [_ours(name, layer, tmp_path)]
        if beside and ROUNDING == "half_up" and not known:
            rows[name].append(_theirs(name, layer, tmp_path))
        print(*rows[name], sep="\n", flush=True)
    for network in dict.fromkeys(name.split(".")[0] for name in rows):
        if network in wanted:
            totals += _total(network, [row for name in rows if name.startswith(network) for row in rows[name]])
    print_table("Unrolled layers without multipliers", COLUMNS, [row for pair in rows.values() for row in pair])
    print_table("Unrolled networks without multipliers", COLUMNS, totals)
