"""The rule language: the decorator `rule`, the forms of patterns, and the other ways to write a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.op.op import Op
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.rewriting.pattern import Constant, forms
from graphrewrite.rewriting.pattern.condition import Where
from graphrewrite.rewriting.rule.chain import chained
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.example import from_example_graphs
from graphrewrite.rewriting.rule.outcome import NOTHING, decline

__all__ = ["rule"]


class _Language:
    """Make a rule of a generator function with one ``yield``: the pattern above it, the replacement below.

    Parameters
    ----------
    function : callable
        Its parameters are the variables. One annotated with ``rule.Constant`` binds constants only, one with a set or
        range of values those, one with ``rule.where(...)`` what meets the condition; one with the default None is an
        operand that may be missing.
    keeps : {"exact", "rounding", "assumes"}
        What the rewrite preserves: all bits, values up to rounding of floats, or values under a stated assumption.
    interval : float
        Of a rule about streams: by what factor a frame may take more cycles after it, such as 2, or ``math.inf`` of one
        that trades time for area. By default, none.
    kind : {"transformation", "lowering"}
        Whether it stays on its level, or goes to a more specific one, such as from layers to integer arithmetic.
    shared : {"refuse", "keep", "duplicate"}
        How to treat an inner node with a reader outside the match: refuse the match, keep the node for that reader,
        or duplicate it where the replacement uses it.

    Raises
    ------
    RuleError
        If the rule is written wrongly, with its file and line.

    Notes
    -----
    Above the yield, ``a | b`` is one of two sub-patterns, ``(op.conv | op.linear)(x, w)`` one of two ops, ``~a`` what
    must not be there, ``*xs`` any number of operands, a set or a range one of its values; `rule.where`, `rule.any_op`,
    `rule.repeated` and `rule.every` say the rest. Below it, `rule.decline` refuses a match for a reason, and
    `rule.nothing` lets nodes go that nobody reads. `rule.from_graphs` makes a rule of two graphs, for digraphs that are
    no dataflow, `rule.from_example` one of a graph before and after, and `rule.chain` one that fuses ops.

    A new node that replaces a root takes its annotations; with ``like=node`` it takes attributes and annotations of
    that node, with ``annotations={**node.annotations, "latency": 3}`` exactly those. Other new nodes have none.

    Examples
    --------
    >>> from graphrewrite import op
    >>> @rule
    ... def fuse_mul_add(x, c, d):
    ...     "x·c + d is one fused multiply-add."
    ...     yield op.add(op.mul(x, c), d)
    ...     return op.fma(x, c, d)
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... m = mul(x, x)
    ... a = add(x, m)
    ... y = output(a)''')
    >>> print(fuse_mul_add(g))
    graph g
    x = input() : f32[N]
    fma_1 = fma(x, x, x) : f32[N]
    y = output(fma_1)
    """

    is_rule_language = True
    Constant = Constant
    any_op = staticmethod(forms.any_op)
    every = staticmethod(forms.every)
    repeated = staticmethod(forms.repeated)
    where: staticmethod[..., Where] = staticmethod(forms.where)
    from_graphs = staticmethod(from_graphs)
    decline = staticmethod(decline)
    nothing = NOTHING

    @overload
    def __call__(self, function: Callable[..., Any], /) -> Rule: ...
    @overload
    def __call__(
        self, /, *, keeps: str = ..., shared: str = ..., kind: str = ..., interval: float = ...
    ) -> Callable[[Callable[..., Any]], Rule]: ...
    def __call__(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        keeps: str = "exact",
        shared: str = "refuse",
        kind: str = "transformation",
        interval: float = 1.0,
    ) -> Rule | Callable[[Callable[..., Any]], Rule]:
        def wrap(body: Callable[..., Any]) -> Rule:
            return Rule(body, keeps=keeps, shared=shared, kind=kind, interval=interval)

        return wrap if function is None else wrap(function)

    def chain(self, links: str, name: str, *, ops: Iterable[Op] = (), shared: str = "refuse") -> Rule:
        """Return the rule that fuses a chain of ops into one node that is a graph.

        Parameters
        ----------
        links : str
            Ops with ``->`` between them, each of which reads the one before; ``a | b`` is one of two, ``a?`` may be
            missing, ``a+`` is one or more in a row, ``a*`` any number. The last one is there.
        name : str
            The graph, and the type of its nodes. Chains that differ, but for the weights and other values that they
            read, are graphs ``name_2``, ``name_3``, ….
        ops : iterable of Op
            Ops beside the library's that the chain names.
        shared : {"refuse", "keep", "duplicate"}
            As for any rule.

        Raises
        ------
        RuleError
            If the text is no chain, or names an op that is not known.

        Examples
        --------
        >>> from graphrewrite import rewrite
        >>> g = Graph.parse('''graph g
        ... x = input() : f32[N,4]
        ... a = neg(x)
        ... b = relu(a)
        ... c = abs(b)
        ... d = neg(c)
        ... y = output(d)''')
        >>> fused = rewrite(g, rule.chain("neg -> relu? -> abs", "block"))
        >>> [data["type"] for _, data in fused.nodes(data=True)]
        ['input', 'neg', 'output', 'block']
        >>> print(fused.op("block_1").body)
        graph block
        x = input() : f32[N,4]
        neg_1 = neg(x) : f32[N,4]
        relu_1 = relu(neg_1) : f32[N,4]
        abs_1 = abs(relu_1) : f32[N,4]
        y = output(abs_1)
        """
        return Rule(chained(links, name, ops), shared=shared)

    def from_example(
        self,
        before: Graph,
        after: Graph,
        *,
        name: str = "example",
        variables: Iterable[str] = (),
        keeps: str = "exact",
        shared: str = "refuse",
        kind: str = "transformation",
    ) -> Rule:
        r"""Return the rule that replaces what looks like one graph by another.

        Parameters
        ----------
        before : Graph
            The pattern: its inputs stand for any values, its ops and their attributes are those of the match, its
            constants match constants that are equal bit for bit. What its types are does not matter.
        after : Graph
            The replacement: its inputs have names of inputs of the example, or of its variables; its outputs replace
            those of the example, in order.
        name : str
            The rule's name.
        variables : iterable of str
            Constants of the example that stand for any constant.
        keeps, shared, kind : str
            As for any rule.

        Raises
        ------
        RuleError
            If the example is no pattern, or the replacement reads what it does not bind.

        Examples
        --------
        >>> before = Graph.parse("graph twice\nx = input() : f32[N]\na = relu(x)\nb = relu(a)\ny = output(b)")
        >>> after = Graph.parse("graph once\nx = input() : f32[N]\na = relu(x)\ny = output(a)")
        >>> once = rule.from_example(before, after, name="one_relu")
        >>> print(once)
        one_relu: relu(relu(x))
        >>> g = Graph.parse("graph g\nx = input() : f32[3,4]\na = relu(x)\nb = relu(a)\ny = output(b)")
        >>> print(once(g))
        graph g
        x = input() : f32[3,4]
        relu_1 = relu(x) : f32[3,4]
        y = output(relu_1)
        """
        function = from_example_graphs(before, after, name, variables)
        return Rule(function, keeps=keeps, shared=shared, kind=kind)

    def __getattr__(self, name: str) -> Any:
        words = [word for word in dir(type(self)) if not word.startswith("_")]
        raise AttributeError(f"rule has no {name!r}{did_you_mean(name, words)}")

    def __repr__(self) -> str:
        return "<the decorator rule>"


rule: _Language = _Language()
