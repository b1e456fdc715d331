"""E7 to E12 of the elastic-ai.creator's document: typed, documented access to a dictionary of JSON-able data."""

from __future__ import annotations

import copy
import enum
import inspect
import json
import pickle
from typing import Annotated, Any, ClassVar, Generic, Literal, NewType, TypeVar

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from graphrewrite.errors import DataError, FieldError, GraphRewriteError
from graphrewrite.schema import IrData, field
from graphrewrite.types import FixedPoint, Tensor

T = TypeVar("T")
Metres = NewType("Metres", float)


class Node(IrData):
    name: str
    type: str


class VhdlNode(Node):
    """A node with an implementation."""

    implementation: str = field(doc="Name of a graph in the library.")
    lanes: int = field(default=1, doc="How many work side by side.")


class Padding(enum.Enum):
    SAME = "same"
    PAIR = (1, 2)


class Shape(IrData):
    channels: int
    length: int = 1


class Dims:
    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes


class Layer(Node):
    input_shape: Shape
    output_shape: Dims = field(set_convert=lambda dims: tuple(dims.sizes), get_convert=lambda sizes: Dims(*sizes))


class Tree(IrData):
    name: str = ""
    children: list[Tree] = []  # noqa: RUF012  # each object gets its own
    by_name: dict[str, Tree] = field(factory=dict)
    parts: tuple[Tree, ...] = ()
    anything: Any = None


class Box(IrData, Generic[T]):
    item: T


class Lengths(Box[list[int]]):
    pass


class Boxed(IrData):
    box: Box[int] | None = None
    lengths: Lengths | None = None


# ------------------------------------------------------------------ E7: data is the truth


def test_E7_annotations_are_fields_of_a_dictionary():
    node = Node(name="conv_1", type="conv")
    assert node.data == {"name": "conv_1", "type": "conv"}
    node.type = "linear"
    assert node.data["type"] == node.type == "linear"
    node.data["name"] = "by hand"
    assert node.name == "by hand"
    assert repr(node) == str(node) == "Node.of({'name': 'by hand', 'type': 'linear'})"
    assert eval(repr(node)) == node
    with pytest.raises(DataError, match=r"^Node.name: expected str, got int 3$"):
        node.name = 3  # type: ignore[assignment]
    node.data["name"] = 3
    with pytest.raises(DataError, match=r"^Node.name: expected str, got int 3$"):
        print(node.name)


def test_E7_of_a_graph_s_node_is_the_networkx_dictionary():
    graph = nx.DiGraph()
    graph.add_node("a", name="a", type="conv")
    graph.add_edge("a", "a", slots=((0, 1),))
    view = Node.of(graph.nodes["a"])
    view.type = "relu"
    assert graph.nodes["a"] == {"name": "a", "type": "relu"}
    assert view.data is graph.nodes["a"]

    class Edge(IrData):
        slots: tuple[tuple[int, int], ...]

    edge = Edge.of(graph.edges["a", "a"])
    edge.slots = (*edge.slots, (1, 0))
    assert graph.edges["a", "a"] == {"slots": ((0, 1), (1, 0))}
    with pytest.raises(DataError, match="Node: is a view of a dictionary, not of DiGraph"):
        Node.of(graph)


def test_defaults_are_stored_by_the_constructor_and_read_without_storing_from_a_view():
    assert Shape(channels=3).data == {"channels": 3, "length": 1}
    data = {"channels": 3}
    view = Shape.of(data)
    assert view.length == 1
    assert data == {"channels": 3}
    with pytest.raises(FieldError, match=r"^Shape.length: has no value that could be deleted"):
        del view.length
    view.length = 2
    del view.length, view.channels
    assert data == {}
    with pytest.raises(FieldError, match=r"^Shape.channels: is required and missing; assign it \(int\)$"):
        print(view.channels)
    assert not hasattr(view, "channels")
    assert getattr(view, "channels", 7) == 7


def test_a_mutable_default_becomes_data_when_it_is_written_to_and_is_nobody_else_s():
    data: dict[str, Any] = {}
    tree = Tree.of(data)
    first, second = tree.children, tree.children
    assert list(first) == []
    assert data == {}
    first.append(Tree(name="a"))
    second.append(Tree(name="b"))
    assert [child.name for child in tree.children] == ["a", "b"]
    assert Tree().children == []
    tree.by_name["c"] = Tree()
    tree.by_name["c"].children.append(Tree(name="d"))
    assert data["by_name"]["c"]["children"][0]["name"] == "d"

    class Outer(IrData):
        tree: Tree = Tree(children=[Tree(name="default")])

    outer = Outer.of({})
    outer.tree.children[0].by_name["x"] = Tree()
    assert outer.data["tree"]["children"][0]["by_name"].keys() == {"x"}
    assert Outer().tree.children[0].by_name == {}
    waiting = Outer.of({}).tree
    stale = Outer.of({"tree": {}})
    late = Outer.of(stale.data)
    del late.tree
    waiting = late.tree
    late.data["tree"] = 5
    with pytest.raises(DataError, match="tree: was replaced by int; read it again"):
        waiting.name = "x"


# ------------------------------------------------------------------ E8: little to write, help, inheritance


def test_E8_fields_are_inherited_and_documented():
    assert list(inspect.signature(VhdlNode).parameters) == ["name", "type", "implementation", "lanes"]
    assert all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(VhdlNode).parameters.values())
    assert inspect.getdoc(VhdlNode.implementation) == "str. Name of a graph in the library."
    assert inspect.getdoc(VhdlNode.lanes) == "int, 1 if missing. How many work side by side."
    assert {"name", "type", "implementation", "lanes", "data", "of", "like"} <= set(dir(VhdlNode.of({})))

    class Narrow(VhdlNode):
        kind: ClassVar[str] = "class variables are no fields"
        lanes: Literal[1, 2] = 2

        @property
        def entity(self) -> str:
            return self.implementation + "_entity"

    narrow = Narrow(name="a", type="b", implementation="c")
    assert (narrow.lanes, narrow.entity, narrow.kind) == (2, "c_entity", "class variables are no fields")
    with pytest.raises(DataError, match=r"Narrow.lanes: expected Literal\[1, 2\], got int 3; it is one of 1, 2"):
        narrow.lanes = 3  # type: ignore[assignment]
    with pytest.raises(FieldError, match=r"^Narrow.entity: is computed from other data; assign that"):
        narrow.entity = "no setter"  # type: ignore[misc]
    with pytest.raises(FieldError, match="has no field 'kind'"):
        narrow.kind = "x"  # type: ignore[misc]


def test_classes_may_be_defined_anywhere_and_in_any_order():
    class Chain(IrData):
        link: Link | None = None

    class Link(IrData):
        back: Chain
        others: dict[str, list[Chain]] = field(factory=dict)

    chain = Chain(link=Link(back=Chain(), others={"a": [Chain()]}))
    assert chain.data == {"link": {"back": {"link": None}, "others": {"a": [{"link": None}]}}}

    class Unknown(IrData):
        other: Undefined  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(
        DataError, match=r"Unknown.other: its annotation Undefined mentions 'Undefined', .* not defined"
    ):
        Unknown(other=1)


def test_generic_data():
    assert Lengths(item=[1]).item == [1]
    with pytest.raises(DataError, match=r"Lengths.item\[0\]: expected int"):
        Lengths(item=["x"])  # type: ignore[list-item]
    assert Boxed(box=Box(item=1), lengths=Lengths(item=[2])).data == {"box": {"item": 1}, "lengths": {"item": [2]}}
    with pytest.raises(DataError, match=r"Boxed.box.item: expected int, got str 'x'"):
        Boxed(box=Box(item="x"))  # type: ignore[arg-type]
    boxed = Boxed(box=Box(item=1))
    assert boxed.box is not None
    with pytest.raises(DataError, match=r"Boxed.box.item: expected int, got str 'x'"):
        boxed.box.item = "x"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("annotation", "default", "message"),
    [
        (
            set[int],
            None,
            r"^Wrong.x: set\[int\] is not a type of JSON-able data; write list\[…\], or field\(set_convert",
        ),
        (Dims, None, r"^Wrong.x: Dims is not a type of JSON-able data; derive it from IrData, or write field"),
        (list[complex], None, r"^Wrong.x: complex is not a type"),
        (dict[int, str], None, r"^Wrong.x: dictionaries in JSON-able data have keys of type str, got int"),
        (Literal[b"x"], None, r"Wrong.x: Literal\[b'x'\]: b'x' is not a JSON-able value"),
        ("1 +", None, r"^Wrong.x: cannot understand the annotation 1 \+"),
        (int, "x", r"^Wrong.x: expected int, got str 'x'"),
        (list[int], [1, None], r"^Wrong.x\[1\]: expected int, got None"),
    ],
)
def test_a_class_that_makes_no_sense_is_refused_when_it_is_defined(annotation, default, message):
    names = {"__annotations__": {"x": annotation}, "__module__": __name__}
    with pytest.raises(DataError, match=message):
        type("Wrong", (IrData,), names if default is None else {**names, "x": default})


def test_names_that_are_taken():
    for name in ("data", "of", "like", "get_missing_required_fields", "__eq__", "_backing"):
        with pytest.raises(DataError, match=f"^Wrong.{name}: is a reserved name; rename the field and pass key="):
            type("Wrong", (IrData,), {"__annotations__": {name: int}})
    with pytest.raises(DataError, match=r"^Wrong.name: is a field without an annotation; write `name: str = …`"):
        type("Wrong", (Node,), {"name": "x"})
    with pytest.raises(DataError, match="pass a default or a factory, not both"):
        field(default=1, factory=int)  # type: ignore[call-overload]

    class Renamed(IrData):
        data_: dict[str, int] = field(key="data", factory=dict)

    renamed = Renamed(data_={"a": 1})
    renamed.data_["b"] = 2
    assert renamed.data == {"data": {"a": 1, "b": 2}}
    assert Renamed.of({}).get_missing_required_fields() == {}


# ------------------------------------------------------------------ E9: conversions


def test_E9_conversions_serialise_on_the_fly_and_fail_at_once():
    layer = Layer(name="a", type="conv", input_shape=Shape(channels=1), output_shape=Dims(3, 4))
    assert layer.data["output_shape"] == (3, 4)
    assert layer.output_shape.sizes == (3, 4)
    layer.output_shape = Dims(5)
    assert layer.data["output_shape"] == (5,)
    before = copy.deepcopy(layer.data)
    for wrong, message in [
        ((1, 2), r"^Layer.output_shape: expected Dims, got tuple \(1, 2\)"),
        (Dims(object()), r"^Layer.output_shape\[0\]: object .* is not JSON-able data"),  # type: ignore[arg-type]
    ]:
        with pytest.raises(DataError, match=message):
            layer.output_shape = wrong  # type: ignore[assignment]
        assert layer.data == before
    layer.data["output_shape"] = 5
    with pytest.raises(DataError, match=r"^Layer.output_shape: get_convert failed on int 5: TypeError"):
        print(layer.output_shape)

    class Sorted(IrData):
        names: list[str] = field(set_convert=sorted, default=[])
        shape: Dims | None = field(
            set_convert=lambda dims: list(dims.sizes), get_convert=lambda sizes: Dims(*sizes), default=None
        )

    names = Sorted(names=["b", "a"])
    names.names.append("c")
    assert names.data == {"names": ["a", "b", "c"], "shape": None}
    assert names.shape is None
    names.shape = Dims(1)
    assert names.data["shape"] == [1]


# ------------------------------------------------------------------ E10: missing fields, prototypes


def test_E10_missing_required_fields_and_prototypes():
    empty = VhdlNode.of({})
    assert empty.get_missing_required_fields() == {"name": "str", "type": "str", "implementation": "str"}
    node = Node(name="conv_1", type="conv")
    view = VhdlNode.of(node)
    assert view.get_missing_required_fields() == {"implementation": "str"}
    assert view.data is node.data
    made = VhdlNode.like(node, implementation="matvec", type="vhdl")
    assert made.data == {"name": "conv_1", "type": "vhdl", "implementation": "matvec", "lanes": 1}
    assert node.data == {"name": "conv_1", "type": "conv"}
    kept = VhdlNode.like({**made.data, "extra": [1]})
    assert kept.data["extra"] == [1]
    with pytest.raises(FieldError, match=r"VhdlNode: required fields are missing: implementation: str; VhdlNode.of"):
        VhdlNode.like(node)
    with pytest.raises(DataError, match=r"^VhdlNode.name: expected str, got int 3"):
        VhdlNode.like({"name": 3, "type": "x"}, implementation="y")
    assert VhdlNode.like({"name": 3, "type": "x"}, implementation="y", name="replaced").name == "replaced"
    with pytest.raises(FieldError, match=r"has no field 'implementatoin'.*did you mean 'implementation'"):
        VhdlNode.like(node, implementatoin="x")
    nested = Layer.of({"input_shape": {}, "name": "x"})
    assert nested.get_missing_required_fields() == {
        "type": "str",
        "input_shape.channels": "int",
        "output_shape": "Dims",
    }
    deep = Boxed.of({"box": {}})
    assert deep.get_missing_required_fields() == {"box.item": "T"}


def test_a_prototype_is_copied_deeply():
    tree = Tree(children=[Tree(name="a")], anything={"x": [1]})
    other = Tree.like(tree)
    other.children[0].name = "changed"
    other.anything["x"].append(2)
    assert (tree.children[0].name, tree.anything) == ("a", {"x": [1]})


# ------------------------------------------------------------------ E11: nested data writes through


def test_E11_nested_data_writes_through_at_any_depth():
    layer = Layer(name="a", type="conv", input_shape=Shape(channels=1), output_shape=Dims(1))
    layer.input_shape.length = 5
    assert layer.data["input_shape"] == {"channels": 1, "length": 5}
    with pytest.raises(DataError, match=r"^Layer.input_shape.length: expected int, got str 'x'$") as caught:
        layer.input_shape.length = "x"  # type: ignore[assignment]
    assert caught.value.path == "Layer.input_shape.length"
    with pytest.raises(DataError, match=r"expected Shape, got dict \{'channels': 3\}; Shape.of\(…\) is a view"):
        layer.input_shape = {"channels": 3}  # type: ignore[assignment]
    with pytest.raises(FieldError, match=r"^Layer.input_shape: has no field 'lenght' .*; did you mean 'length'\?"):
        layer.input_shape.lenght = 3  # type: ignore[attr-defined]
    shape = Shape(channels=8)
    layer.input_shape = shape
    shape.length = 9
    assert layer.input_shape.length == 9
    tree = Tree(parts=(Tree(name="p"),), by_name={"k": Tree()}, children=[Tree(), Tree()])
    tree.parts[0].name = "q"
    tree.by_name["k"].name = "r"
    tree.children[-1].name = "s"
    for child in tree.children[:1]:
        child.name = "t"
    assert (tree.data["parts"][0]["name"], tree.data["by_name"]["k"]["name"]) == ("q", "r")
    assert [child["name"] for child in tree.data["children"]] == ["t", "s"]
    with pytest.raises(DataError, match=r"^Tree.children\[1\].by_name\['z'\]: expected Tree, got int 1"):
        tree.children[1].by_name["z"] = 1  # type: ignore[assignment]


def test_data_cannot_contain_itself():
    tree = Tree(children=[Tree()], anything={"a": []})
    child = tree.children[0]
    before = copy.deepcopy(tree.data)
    for attempt in (
        lambda: child.children.append(tree),
        lambda: tree.by_name.update(x=tree),
        lambda: setattr(child, "parts", (tree,)),
        lambda: tree.children.__setitem__(slice(0, 1), [Tree(), tree]),
    ):
        with pytest.raises(DataError, match="data cannot contain itself; give it a copy"):
            attempt()
        assert tree.data == before
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(DataError, match=r"^Tree.anything: is nested too deeply, or contains itself"):
        tree.anything = loop
    child.children.append(Tree.like(tree))
    json.dumps(tree.data)


def test_kinds_of_fields():
    class Everything(IrData):
        padding: Padding = Padding.SAME
        mode: Literal["a", 1] | None = None
        weights: NDArray[np.float32] | None = None
        array: np.ndarray | None = None
        dtype: np.dtype[Any] = np.dtype("float32")
        pair: tuple[int, str] = (1, "x")
        nothing: tuple[()] = ()
        distance: Metres = Metres(1.0)
        limited: Annotated[int, "positive"] = 1
        number: int | float | str = 0
        tensor: Tensor | None = None
        element: FixedPoint | str = "f32"
        shapes: Shape | Node | None = None

    thing = Everything()
    thing.padding = Padding.PAIR
    assert thing.data["padding"] == (1, 2)
    thing.data["padding"] = [1, 2]  # as JSON gives it back
    assert thing.padding is Padding.PAIR
    thing.distance = 3  # type: ignore[assignment]
    assert type(thing.distance) is float
    for number, stored in [(1, 1), (1.0, 1.0), ("1", "1"), (np.int8(1), 1), (np.float32(1), 1.0)]:
        thing.number = number  # type: ignore[assignment]
        assert (thing.data["number"], type(thing.data["number"])) == (stored, type(stored))
    thing.tensor = Tensor("f32", ("N", 3))
    thing.element = FixedPoint(True, 8)
    assert (thing.tensor.shape, thing.element) == (("N", 3), FixedPoint(True, 8))
    thing.dtype = np.dtype(">i2")
    assert (thing.data["dtype"], thing.dtype) == (">i2", np.dtype(">i2"))
    thing.shapes = Node(name="a", type="b")
    assert isinstance(thing.shapes, Node)
    thing.shapes = Shape(channels=1)
    assert isinstance(thing.shapes, Shape)
    thing.weights = np.ones(3, np.float32)
    assert thing.data["weights"] is thing.weights
    before = copy.deepcopy(thing)
    for name, wrong, message in [
        ("padding", "same", r"expected Padding, got str 'same'; it is one of Padding.SAME"),
        ("mode", True, "got bool True"),
        ("weights", np.ones(3), r"got array float64\[3\]"),
        ("array", np.array([object()]), "arrays of Python objects cannot be stored"),
        ("array", [1.0], "np.asarray makes an array of it"),
        ("dtype", "f4", "np.dtype"),
        ("dtype", np.dtype([("a", "f4")]), "expected numpy.dtype"),
        ("pair", (1, "x", 2), "that is 3 entries, not 2"),
        ("pair", [1, "x"], "write it as a tuple"),
        ("pair", ("x", 1), r"^Everything.pair\[0\]: expected int"),
        ("nothing", (1,), r"expected tuple\[\(\)\]"),
        ("distance", True, "expected float, got bool True"),
        ("distance", 10**400, "it is too large"),
        ("limited", 1.0, "expected int, got float 1.0"),
        ("limited", np.bool_(True), "expected int"),
        ("tensor", "f32[N]", "expected Tensor | None"),
    ]:
        with pytest.raises(DataError, match=message):
            setattr(thing, name, wrong)
        assert thing == before


def test_anything_means_anything_that_json_can_say():
    tree = Tree()
    tree.anything = {"a": (1, None, [np.float32(2.0), "x"]), "tree": Tree(name="t")}
    assert tree.data["anything"]["a"] == (1, None, [2.0, "x"])
    assert tree.data["anything"]["tree"]["name"] == "t"
    json.dumps(tree.data)
    tree.anything["a"][2].append({})
    tree.anything["a"][2][2]["deep"] = 1
    for wrong, message in [
        ({"b": {1: 2}}, r"^Tree.anything\['b'\]\[1\]: its key: expected str, got int 1"),
        (
            [{"c": np.zeros(1)}],
            r"^Tree.anything\[0\]\['c'\]: array float64\[1\] .* annotate the field as numpy.ndarray",
        ),
        ({1j}, r"^Tree.anything: set \{1j\} is not JSON-able data"),
    ]:
        with pytest.raises(DataError, match=message):
            tree.anything = wrong
    with pytest.raises(DataError, match=r"^Tree.anything\['a'\]\[2\]\[2\]\['x'\]: object"):
        tree.anything["a"][2][2]["x"] = object()
    assert tree.anything["a"][2][2] == {"deep": 1}


# ------------------------------------------------------------------ E12: constructors


def test_E12_the_constructor_takes_fields_by_name():
    with pytest.raises(FieldError, match=r"^Node: required fields are missing: name: str, type: str; Node.of\(\{\}\)"):
        Node()  # type: ignore[call-arg]
    with pytest.raises(FieldError, match=r"^Node: has no field 'nmae' \(known: name, type\); did you mean 'name'\?"):
        Node(nmae="x", type="y")  # type: ignore[call-arg]
    with pytest.raises(DataError, match=r"^Node: takes fields by keyword only; Node.of\(…\) is a view of a dictionary"):
        Node({"name": "x"})  # type: ignore[misc, call-arg]
    with pytest.raises(DataError, match=r"^Node.type: expected str, got None"):
        Node(name="x", type=None)  # type: ignore[arg-type]
    with pytest.raises(FieldError, match=r"Node.data: is the dictionary itself"):
        Node(name="a", type="b").data = {}  # type: ignore[misc]
    with pytest.raises(FieldError, match=r"Node: has no field 'nam'.*did you mean 'name'"):
        print(Node(name="a", type="b").nam)  # type: ignore[attr-defined]
    with pytest.raises(FieldError, match="has no field 'x'"):
        del Node(name="a", type="b").x  # type: ignore[attr-defined]
    assert issubclass(FieldError, AttributeError)
    assert issubclass(DataError, GraphRewriteError)


def test_equality_copies_and_pickles():
    layer = Layer(name="a", type="b", input_shape=Shape(channels=1), output_shape=Dims(1))
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert copied == layer
        assert type(copied) is Layer
        copied.input_shape.length = 7
        assert layer.input_shape.length == 1
    shallow = copy.copy(layer)
    shallow.name = "b"
    assert layer.name == "a"
    shallow.input_shape.length = 3
    assert layer.input_shape.length == 3
    assert layer != shallow
    assert layer != layer.data
    assert Node.of(layer) == layer
    with pytest.raises(TypeError, match="unhashable"):
        hash(layer)
    tree = Tree(children=[Tree()], by_name={"a": Tree()})
    assert type(copy.copy(tree.children)) is list
    assert type(copy.deepcopy(tree.by_name)) is dict
    assert pickle.loads(pickle.dumps(tree.children)) == [Tree()]


def test_arrays_compare_by_entries():
    class Weights(IrData):
        w: np.ndarray

    one = Weights(w=np.array([1.0, np.nan]))
    assert one == Weights(w=np.array([1.0, np.nan]))
    assert one != Weights(w=np.array([1.0, np.nan], np.float32))
    assert one != Weights(w=np.array([[1.0, np.nan]]))
    assert one != Weights.of({"w": 1.0})
