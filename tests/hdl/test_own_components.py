"""A component from outside of the package: emitted, cosimulated, checked; refused where it is broken."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Module, Tensor, define_op, evaluate, op
from graphrewrite.errors import ImplementationError
from graphrewrite.hdl import COMPONENTS, Component, NetlistError, Schedule, Site, cosimulate, emit, predict, simulate
from graphrewrite.hdl.buffering import insert_fifos, insert_forks
from graphrewrite.hdl.checking import check, check_component
from graphrewrite.hdl.component import per_beat
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.fork import FORK, fork
from graphrewrite.hdl.errors import ComponentError, ContractError, GhdlMissingError, MismatchError, SimulatorError
from graphrewrite.lowering import quantise, search_widths, to_integer, to_stream
from graphrewrite.lowering.implementations import with_implementations
from graphrewrite.types import Stream
from tests.support.own_components import absolute, component, draw, generics

NIBBLE = FixedPoint(True, 4)


def network() -> Graph:
    """|x| + x, with two channels in one lane."""
    g = Graph("own", ops=[absolute])
    x = g.input("x", Stream(NIBBLE, (2, 3), 1))
    g.output("y", add(g.add(absolute, [x]), x, element=FixedPoint(True, 6)))
    return g


@pytest.mark.ghdl
def test_emitted_cosimulated_and_checked(tmp_path: Path) -> None:
    mine = component(tmp_path)
    components = (*COMPONENTS, mine)
    graph = insert_fifos(insert_forks(network()), components)
    found = simulate(graph, {"x": np.array([[[-1, 2, 3], [-8, 0, 7]]])}, components=components)
    assert found.values["y"].tolist() == [[[0, 4, 6], [0, 0, 14]]]
    assert predict(graph, 3, components=components).interval == 6
    design = emit(graph, frames=4, components=components)
    assert design.files["components/absolute.vhd"] == (tmp_path / "absolute.vhd").read_text()
    shutil.rmtree(tmp_path)  # the design holds all that it needs
    report = cosimulate(design)
    assert report.equal, report
    assert report.beats == 24


@pytest.mark.ghdl
@pytest.mark.parametrize("name", ["absolute", "block"])
def test_nodes_name_it_as_their_implementation(tmp_path: Path, name: str) -> None:
    """At the integer level and at that of streams; itself, or a graph of it."""
    components = (*COMPONENTS, component(tmp_path))
    block, stream = Graph("block"), Stream(NIBBLE, (2, 3))
    block.output("y", absolute(block.input("x", stream)))
    integer = Graph.parse(f"""graph g
x = input() : f32[B,2,3]
f = to_fixed(x, element=s4f0)
a = ?Magnitude(f) {{implementation={name!r}}} : u4f0[B,2,3]
z = from_fixed(a, fraction=0)
y = output(z)""")
    given: dict[str, Any] = {"components": components, "implementations": {"block": block}}
    lowered = to_stream(integer, **given)
    hand_made = Graph("g")
    unknown = op.generic("Magnitude")(hand_made.input("x", stream), result=Stream(FixedPoint(False, 4), (2, 3)))
    hand_made.output("y", unknown)
    hand_made.nodes["Magnitude_1"]["implementation"] = name
    for graph in (lowered, hand_made):
        design = emit(graph, frames=3, **given)
        report = cosimulate(design)
        assert report.equal, report
        assert "components/absolute.vhd" in design.files
    frame = np.array([[[-1, 2, 3], [-8, 0, 7]]])
    values = evaluate(integer, {"x": frame}, implementations={"block": block, "absolute": components[-1]})
    np.testing.assert_array_equal(values["y"], abs(frame))
    np.testing.assert_array_equal(evaluate(lowered, {"x": frame})["y"], abs(frame))
    hand_made.nodes["Magnitude_1"]["implementation"] = integer.nodes["a"]["implementation"] = "absolut"
    for lower, graph in ((to_stream, integer), (emit, hand_made)):
        with pytest.raises(ImplementationError, match=r"'absolut', and there is no such .* did you mean 'absolute'"):
            lower(graph, **given)


def marked(float_net: Callable[[Any], Any], node: str) -> Graph:
    """Return a float network of which a node is implemented by the component."""
    graph = Graph("g")
    graph.output("y", float_net(graph.input("x", Tensor("f32", ("N", 4)))))
    graph.nodes[node]["implementation"] = "mine"
    return graph


def test_nodes_of_nested_graphs_name_it_too(tmp_path: Path) -> None:
    """In a module, which does not have it: it is passed."""
    given, module = {"mine": component(tmp_path)}, Module("net")
    module["block"] = marked(lambda x: op.linear(op.abs(x), WEIGHTS), "abs_1")
    main, block = module.add_graph("main"), module.op("block")
    main.output("y", block(block(main.input("x", Tensor("f32", ("N", 4))))))
    integer = to_integer(quantise(module, SAMPLES, implementations=given))
    stream = to_stream(integer, implementations=given)
    assert [data["type"] for _, data in stream.nodes(data=True)].count("absolute") == 2
    values = evaluate(integer, SAMPLES, implementations=None)["y"]
    np.testing.assert_array_equal(evaluate(integer, SAMPLES, implementations=given)["y"], values)
    for run in (evaluate, quantise):
        with pytest.raises(ImplementationError, match="'mine', and there is no such graph"):
            run(main, SAMPLES)


SAMPLES = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
WEIGHTS = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)


@pytest.mark.ghdl
@pytest.mark.parametrize("is_in_module", [False, True])
def test_a_float_node_names_it_all_the_way_down(tmp_path: Path, is_in_module: bool) -> None:
    """Its table gives way to the component, whose values are rounded to the format that was chosen for the node."""
    graph, mine = marked(lambda x: op.relu(op.linear(op.abs(x), WEIGHTS)), "abs_1"), component(tmp_path)
    given: dict[str, Any] = {"mine": mine}
    if is_in_module:  # a graph of it
        module, given = Module("net"), {"absolute": mine}
        block = module.add_graph("mine")
        block.output("y", absolute(block.input("x", Stream(FixedPoint(True, 8, 5), (4,)))))
        module["main"] = graph
        graph = module["main"]
    widths = 8 if is_in_module else search_widths(graph, SAMPLES, implementations=given)
    fixed = quantise(graph, SAMPLES, bits=widths, implementations=given)
    integer = to_integer(fixed)
    values = evaluate(integer, SAMPLES, implementations=None)["y"]
    for each in (fixed, integer):
        np.testing.assert_array_equal(evaluate(each, SAMPLES, implementations=given)["y"], values)
    if not is_in_module:
        for run in (quantise, evaluate):
            with pytest.raises(ImplementationError, match=r"'mine', and there is no such graph.*pass implementations="):
                run(graph, SAMPLES)
    design = emit(to_stream(integer, implementations=given), frames=3, implementations=given)
    assert "components/absolute.vhd" in design.files
    assert "components/lookup.vhd" not in design.files
    report = cosimulate(design)
    assert report.equal, report


@pytest.mark.parametrize(
    ("float_net", "node", "told"),
    [
        (lambda x: op.tanh(op.clip(op.relu(x), high=0.7)), "tanh_1", "lookup .* together with clip_1"),
        (lambda x: op.relu(op.linear(x, WEIGHTS)), "linear_1", "integer_linear .* together with relu_1"),
        (lambda x: op.mul(op.linear(x, WEIGHTS), np.float32([2, 2, 2, 2])), "mul_1", "becomes "),
    ],
)
def test_a_name_that_would_be_lost_is_refused(
    tmp_path: Path, float_net: Callable[[Any], Any], node: str, told: str
) -> None:
    graph = marked(float_net, node)
    with pytest.raises(ImplementationError, match=f"node '.*': its implementation 'mine' would be lost, .*{told}"):
        to_integer(quantise(graph, SAMPLES, implementations={"mine": component(tmp_path)}))


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_name_is_kept_by_what_computes_with_mantissas(is_kept: bool) -> None:
    kind, call = ("s8f4", "clip(x, low=0)") if is_kept else ("f32", "relu(x)")
    graph = Graph.parse("graph g\nx = input() : f32[N]\na = abs(x) {implementation='mine'}\ny = output(a)")
    lowered = Graph.parse(f"graph g\nx = input() : {kind}[N]\na = {call}\ny = output(a)")
    if is_kept:
        assert with_implementations(lowered, graph).nodes["a"]["implementation"] == "mine"
    else:
        with pytest.raises(ImplementationError, match="would be lost, for the node becomes relu"):
            with_implementations(lowered, graph)


def test_hardware_that_the_host_would_stand_in_for_is_refused(tmp_path: Path) -> None:
    given = {"mine": component(tmp_path)}
    graph = marked(lambda x: op.softmax(op.linear(x, WEIGHTS)), "softmax_1")
    integer = to_integer(quantise(graph, SAMPLES, implementations=given))
    with pytest.raises(ImplementationError, match="hardware 'mine', but the host computes it, with floats"):
        to_stream(integer, implementations=given)


@pytest.mark.ghdl
def test_one_line_checks_it(tmp_path: Path, hdl_seed: int) -> None:
    mine = component(tmp_path)
    corner = Site.of(absolute, Stream(FixedPoint(True, 1), (1,)))
    report = check_component(mine, draw, corners=[corner], count=30, seed=hdl_seed)
    assert report.configurations == 31
    assert report.beats > 31 * 4
    assert str(report).startswith("absolute: values and cycles of 31 configurations equal GHDL's")
    assert check_component(mine, draw, corners=[corner], count=30, seed=hdl_seed, only=7).configurations == 1


OUTPUT = "z_payload => z_payload, z_valid => z_valid, z_ready => z_ready"
INNER = (
    "signal room, step : std_logic;",
    """signal room, step : std_logic;
  signal o_payload : std_logic_vector(z_payload'range);
  signal o_valid, o_ready : std_logic;
  signal count : natural := 0;""",
)
BETWEEN = (OUTPUT, "z_payload => o_payload, z_valid => o_valid, z_ready => o_ready")


def between(text: str) -> tuple[tuple[str, str], ...]:
    """Faults between the output buffer and the output."""
    counted = "count <= 0 when rst = '1' else count + 1 when rising_edge(clk) and o_valid = '1';"
    return INNER, BETWEEN, ("end architecture;", f"  {counted}\n  {text}\nend architecture;")


BROKEN: dict[str, tuple[tuple[tuple[str, str], ...], dict[str, Callable[..., Any]], type[Exception], str]] = {
    "valid falls": (
        between(
            "z_payload <= o_payload; z_valid <= o_valid when count mod 3 /= 2 else '0';"
            " o_ready <= z_ready when count mod 3 /= 2 else '0';"
        ),
        {},
        ContractError,
        r"configuration \d+ of seed 0, absolute\(stream .*: z breaks the stream contract in cycle \d+ after reset \d: "
        "valid fell before the transfer",
    ),
    "payload changes": (
        between(
            "z_payload <= o_payload when count mod 3 /= 2 else not o_payload; z_valid <= o_valid; o_ready <= z_ready;"
        ),
        {},
        ContractError,
        "z breaks the stream contract in cycle .*: the payload changed before the transfer",
    ),
    "payload is unknown": (
        between("z_payload <= (others => 'X'); z_valid <= o_valid; o_ready <= z_ready;"),
        {},
        ContractError,
        "the payload holds a metavalue",
    ),
    "ready is ignored": (
        between("z_payload <= o_payload; z_valid <= o_valid; o_ready <= '1';"),
        {},
        ContractError,
        r"z breaks the stream contract in cycle .*: (valid fell|the payload changed) before the transfer",
    ),
    "never ready": (
        (("x_ready <= room;", "x_ready <= '0';"), ("room and x_valid;", "'0';")),
        {},
        MismatchError,
        r"configuration \d of seed 0, absolute.*: z, frame 0, beat 0: expected .* in cycle \d+, got nothing "
        r"\(no beat came at all\)",
    ),
    "wrong latency": (
        (),
        {"schedule": lambda site: per_beat(site, latency=2)},
        MismatchError,
        r"\(all values are right, (1 cycle early|in other cycles)\)",
    ),
    "wrong value": ((("when x(ELEMENT_WIDTH - 1) = '1'", "when x(0) = '1'"),), {}, MismatchError, "expected .*, got"),
    "a beat too many": (
        between("z_payload <= o_payload; z_valid <= o_valid; o_ready <= z_ready when count mod 7 /= 3 else '0';"),
        {},
        MismatchError,
        r"z, frame \d.*: expected .*, got .*",
    ),
    "an index out of range": (
        (
            ("signal beat", "signal n : natural range 0 to 5 := 0;\n  signal beat"),
            ("end architecture;", "  n <= n + 1 when rising_edge(clk);\nend architecture;"),
        ),
        {},
        ContractError,
        r"configuration 0 of seed 0.*: GHDL stops in it; correct the VHDL:(.|\n)*bound check failure",
    ),
    "a generic too many": (
        (),
        {"generics": lambda site: {**generics(site), "LANE": 3}},
        ComponentError,
        "has no generic LANE; did you mean 'LANES'",
    ),
    "a generic too few": (
        (),
        {"generics": lambda site: {"LANES": 3}},
        ComponentError,
        "needs the generic ELEMENT_WIDTH",
    ),
    "a port too few": ((("x_ready   :", "x_redy :"),), {}, ComponentError, "has no port x_ready"),
    "a port too many": (
        (("z_ready   :", "more : out bit; z_ready :"),),
        {},
        ComponentError,
        "has the port more, which",
    ),
    "another entity": ((("entity absolute", "entity other"),), {}, ComponentError, "declares entity other; name"),
    "no VHDL": ((("begin\n\n  x_ready", "begin begin x_ready"),), {}, SimulatorError, r"absolute\.vhd:\d+"),
    "schedule of other beats": (
        (),
        {"schedule": lambda site: Schedule(9, (range(9),), (range(9),))},
        ComponentError,
        r"the schedule takes 9 beats a frame of stream s\d+f0.*, which has \d+; correct `schedule`",
    ),
    "schedule of other ports": (
        (),
        {"schedule": lambda site: Schedule(9, (range(9),) * 2, (range(9),))},
        ComponentError,
        "the schedule has 2 inputs and 1 outputs; give one of each stream",
    ),
}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=() if error is ComponentError else pytest.mark.ghdl)  # GHDL does not come into it
        for fault, (_, _, error, _) in BROKEN.items()
    ],
)
def test_a_broken_one_is_told_what_is_wrong(fault: str, tmp_path: Path) -> None:
    changes, parts, error, told = BROKEN[fault]
    with pytest.raises(error, match=told) as found:
        check_component(component(tmp_path, *changes, **parts), draw, count=8)
    assert str(tmp_path) not in str(found.value) or error is ComponentError
    if error is MismatchError:
        assert found.value.difference.port == "z"


@pytest.fixture
def nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in for GHDL: it is asked before the meaning is."""
    monkeypatch.setattr(check, "simulate_cases", lambda cases, **options: [{}] * len(cases))


@pytest.mark.usefixtures("nothing_comes")
def test_a_meaning_that_is_no_meaning(tmp_path: Path) -> None:
    meanings: dict[str, Callable[[np.ndarray], Any]] = {
        r"gives the shape \[\d+, 7\]": lambda x: np.zeros((len(x), 7), int),
        "gives float64; return integers": lambda x: x * 0.5,
        "gives 99999999, which is no u": lambda x: 0 * x.astype(int) + 99999999,
    }
    for told, meaning in meanings.items():
        op = define_op(level="stream", infer=_same)(_named(meaning))
        mine = Component(op, component(tmp_path).template, generics, per_beat)
        with pytest.raises(ComponentError, match=told):
            check_component(mine, lambda rng, op=op: Site.of(op, *draw(rng).operands), count=2)


def _same(x: Stream) -> Stream:
    return Stream(FixedPoint(False, x.element.width), x.shape, x.lanes)


def _named(meaning: Callable[[np.ndarray], Any]) -> Callable[..., Any]:
    def odd(x: np.ndarray) -> Any:
        """Anything."""
        return meaning(x)

    return odd


class TestIncomplete:
    """A component without all of its parts does not come into being."""

    def test_parts_missing(self, tmp_path: Path) -> None:
        file = component(tmp_path).template
        with pytest.raises(ComponentError, match=r"absolute has no entity; give template=, the pathlib.Path"):
            Component(absolute)
        with pytest.raises(ComponentError, match=r"absolute has no generics; give generics="):
            Component(absolute, file)
        with pytest.raises(ComponentError, match=r"absolute has no timing; give schedule=.* per_beat"):
            Component(absolute, file, generics)
        with pytest.raises(ComponentError, match=r"no op of the level stream; define it with define_op"):
            Component(np.abs, file, generics, per_beat)  # type: ignore[arg-type]

    def test_files(self, tmp_path: Path) -> None:
        with pytest.raises(ComponentError, match=r"there is no file .*absolute.vhd'; write its entity there"):
            Component(absolute, tmp_path / "absolute.vhd", generics, per_beat)
        with pytest.raises(ComponentError, match=r"'a b.vhd' is no name for a VHDL file"):
            Component(absolute, tmp_path / "a b.vhd", generics, per_beat)
        lost = Component(absolute, "absolute.vhd", generics, per_beat)
        with pytest.raises(ComponentError, match=r"'absolute.vhd' of absolute cannot be read .*give the pathlib.Path"):
            emit(insert_forks(network()), components=(*COMPONENTS, lost))
        (tmp_path / "absolute.vhd").write_bytes(b"\xff")
        odd = Component(absolute, tmp_path / "absolute.vhd", generics, per_beat)
        with pytest.raises(ComponentError, match=r"cannot be read \('utf-8' codec can't decode"):
            emit(insert_forks(network()), components=(*COMPONENTS, odd))

    def test_not_passed(self) -> None:
        with pytest.raises(
            NetlistError, match=r"is absolute, which is no component.*components=\(\*COMPONENTS, yours\)"
        ):
            emit(insert_forks(network()))

    def test_names_of_others(self, tmp_path: Path) -> None:
        mine = component(tmp_path)
        again = Component(absolute, tmp_path / mine.template.name, generics, lambda site: per_beat(site, 2))
        with pytest.raises(ComponentError, match="two components have the op absolute; rename one"):
            emit(insert_forks(network()), components=(*COMPONENTS, mine, again))
        taken = tmp_path / "fork.vhd"
        taken.write_text("entity fork is end entity;")
        with pytest.raises(ComponentError, match="two files have the entity fork; rename one"):
            emit(insert_forks(network()), components=(*COMPONENTS, Component(absolute, taken, generics, per_beat)))
        shared = tmp_path / "lanes.vhd"
        shared.write_text("entity lanes is end entity;")
        with pytest.raises(
            ComponentError, match="entity lanes of absolute has the same name as one of every design; rename"
        ):
            emit(insert_forks(network()), components=(*COMPONENTS, Component(absolute, shared, generics, per_beat)))

    def test_replacing_one_of_the_library(self, tmp_path: Path) -> None:
        own = Component(fork, FORK.template, FORK.generics, FORK.schedule)
        others = tuple(c for c in COMPONENTS if c.op is not fork)
        mine = component(tmp_path)
        assert emit(insert_forks(network()), frames=1, components=(*others, own, mine)).name == "own"


class TestNothingToCheck:
    def test_no_configuration(self, tmp_path: Path) -> None:
        mine = component(tmp_path)
        with pytest.raises(ComponentError, match="there is nothing to check; give draw"):
            check_component(mine)
        with pytest.raises(ComponentError, match="there is no configuration 9"):
            check_component(mine, draw, count=3, only=9)
        with pytest.raises(ComponentError, match=r"a configuration is a Site, not 3; return Site.of"):
            check_component(mine, lambda rng: 3)  # type: ignore[arg-type, return-value]

    def test_no_ghdl(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda _: None)
        with pytest.raises(GhdlMissingError, match="apt-get install ghdl"):
            check_component(component(tmp_path), draw, count=1)


def _failing(site: Site) -> Any:
    raise KeyError(3)


@define_op(level="stream", infer=lambda x: x)
def overflowing(x: np.ndarray) -> np.ndarray:
    """What does not fit into the bytes that it gets."""
    return x * 1000


@pytest.mark.ghdl
@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"generics": lambda site: None}, r"`generics` gives NoneType; return a dictionary"),
        ({"generics": lambda site: {"LANES": "a"}}, r"`generics` gives 'LANES': 'a'; give names, and whole numbers"),
        ({"generics": _failing}, r"`generics` failed \(KeyError: 3\); correct it"),
        ({"schedule": lambda site: [1]}, r"absolute\(.*`schedule` gives list; return a Schedule"),
        ({"schedule": _failing}, r"absolute\(.*`schedule` failed \(KeyError: 3\); correct it"),
    ],
)
def test_what_its_functions_give_is_looked_at(tmp_path: Path, parts: dict[str, Any], told: str) -> None:
    with pytest.raises(ComponentError, match=told):
        check_component(component(tmp_path, **parts), draw, count=2)


@pytest.mark.usefixtures("nothing_comes")
def test_a_meaning_that_fails_is_named(tmp_path: Path) -> None:
    mine = Component(overflowing, component(tmp_path).template, generics, per_beat)
    with pytest.raises(ComponentError, match=r"overflowing\(.*the meaning in numpy, of int8, failed \(OverflowError"):
        check_component(mine, lambda random: Site.of(overflowing, Stream(FixedPoint(True, 8), (2,))), count=2)
