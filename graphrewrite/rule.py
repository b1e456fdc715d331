"""Rules: a generator function with one yield; the pattern above it, the replacement below."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, overload

from graphrewrite.edit import closes_cycle
from graphrewrite.errors import GraphRewriteError, RuleError
from graphrewrite.graph import Graph, Operand
from graphrewrite.match import Found, Obstacle, find_at
from graphrewrite.pattern import Constant, Nodes, Pattern, PatternNode, Variable
from graphrewrite.replacement import Bound, Declined, Part, Replay

__all__ = ["Match", "Rule", "rule"]


@dataclass(frozen=True)
class Match:
    """A place where a rule applies.

    Attributes
    ----------
    rule : Rule
        The rule.
    nodes : tuple of str
        The matched nodes, in the order in which the rule's source makes them.
    bindings : dict
        Variable name to `Operand` or attribute value.
    roots : tuple of str
        The nodes whose values are replaced.
    """

    rule: Rule
    nodes: tuple[str, ...]
    bindings: dict[str, Any]

    @property
    def roots(self) -> tuple[str, ...]:
        """The nodes whose values are replaced."""
        pattern = self.rule.pattern
        return tuple(self.nodes[pattern.nodes.index(root)] for root in pattern.roots)

    def __str__(self) -> str:
        shown = (f"{k}={v.node if isinstance(v, Operand) else v!r}" for k, v in self.bindings.items())
        return f"{self.rule.name} at {', '.join(self.roots)} with {', '.join(shown)}"


class Rule:
    """A rewrite rule; made by the decorator `rule`.

    Attributes
    ----------
    name : str
        The function's name.
    pattern : Pattern
        What it looks for.
    keeps : str
        ``"exact"`` (same bits), ``"rounding"`` (within rounding errors of floats) or ``"assumes"`` (what its
        docstring states).
    shared : str
        ``"refuse"`` a match whose inner nodes have readers outside, or ``"keep"`` those nodes for them.
    file, line : str, int
        Where it is written.
    """

    def __init__(self, function: Callable[..., Any], *, keeps: str = "exact", shared: str = "refuse") -> None:
        self.function, self.keeps, self.shared = function, keeps, shared
        self.name: str = function.__name__
        self.__doc__ = inspect.getdoc(function)
        self.__name__, self.__module__, self.__qualname__ = (
            function.__name__,
            function.__module__,
            function.__qualname__,
        )
        self.file, self.line = function.__code__.co_filename, function.__code__.co_firstlineno
        if not inspect.isgeneratorfunction(function):
            raise self.complain("has no yield; put the pattern above one yield and the replacement below it")
        if keeps not in ("exact", "rounding", "assumes") or shared not in ("refuse", "keep"):
            raise self.complain("keeps is 'exact', 'rounding' or 'assumes', and shared is 'refuse' or 'keep'")
        self.pattern = self._trace()

    def complain(self, message: str) -> RuleError:
        """Return an error that names this rule and its place."""
        return RuleError(f"rule {self.name!r} ({self.file}:{self.line}): {message}")

    def _trace(self) -> Pattern:
        parameters = inspect.signature(self.function).parameters
        for name, parameter in parameters.items():
            if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.default is not parameter.empty:
                raise self.complain(f"its parameter {name!r} is not plain; a variable has no default and no star")
        if sum(step.opname == "YIELD_VALUE" for step in dis.get_instructions(self.function.__code__)) > 1:
            raise self.complain("yields twice; a rule has one yield")
        made = Nodes()
        variables = tuple(Variable(made, name, self._narrowed(p.annotation)) for name, p in parameters.items())
        run = self.function(*variables)
        try:
            yielded = next(run)
        except (GraphRewriteError, AttributeError) as error:  # of a misspelt op, the library suggests the right one
            raise self.complain(str(error)) from None
        except StopIteration:
            raise self.complain("returns before its yield") from None
        except Exception as error:
            raise self.complain(f"fails above its yield: {type(error).__name__}: {error}") from error
        made.closed = True
        roots = yielded if isinstance(yielded, tuple) else (yielded,)
        for name, value in run.gi_frame.f_locals.items():
            if isinstance(value, PatternNode) and value.name is None:
                value.name = name
        run.close()
        return Pattern.of(roots, variables, self.complain)

    def _narrowed(self, annotation: Any) -> bool:
        if annotation is inspect.Parameter.empty:
            return False
        if annotation is Constant or annotation in ("Constant", "graphrewrite.Constant"):
            return True
        raise self.complain(
            f"does not understand the annotation {annotation!r}; a variable may be annotated with Constant"
        )

    # ------------------------------------------------------------------ using it

    def find(self, graph: Graph) -> list[Match]:
        """Return every match that the rule accepts, in topological order of the roots.

        Parameters
        ----------
        graph : Graph
            Any graph.

        Returns
        -------
        list of Match
        """
        kind = self.pattern.roots[0].op.name
        return [
            match
            for node in graph.in_order()
            if graph.nodes[node].get("type") == kind
            for match in self.matches_at(graph, node)
            if not isinstance(self.replacement(graph, match)[1], Declined)
        ]

    def matches_at(self, graph: Graph, node: str, obstacle: Obstacle | None = None) -> Iterator[Match]:
        """Yield the matches whose first root is a node; the rule may still decline them.

        Parameters
        ----------
        graph : Graph
            Any graph.
        node : str
            The node.
        obstacle : Obstacle, optional
            Collects why there is none.

        Yields
        ------
        Match
        """
        for found in find_at(self.pattern, graph, node, shared=self.shared, obstacle=obstacle):
            yield Match(self, found.nodes, found.bindings)

    def replacement(self, graph: Graph, match: Match | Found) -> tuple[Replay, Declined | tuple[Part, ...]]:
        """Run what stands below the yield on a match.

        Parameters
        ----------
        graph : Graph
            The graph of the match, which is only read.
        match : Match
            The match.

        Returns
        -------
        replay : Replay
            Holds the new nodes.
        parts : Declined or tuple of Part
            The refusal, or one value a root.

        Raises
        ------
        RuleError
            If the function raises, or returns something that is no replacement.
        """
        replay = Replay(graph, match.nodes)
        arguments = [
            Bound(replay, v) if isinstance(v, Operand) else v
            for v in (match.bindings[p.name] for p in self.pattern.variables)
        ]
        run = self.function(*arguments)
        try:
            next(run)
            replay.below = True
            next(run)
        except StopIteration as stop:
            returned = stop.value
        except GraphRewriteError as error:
            raise self.complain(f"failed at {self._roots(match)[0]!r}: {error}") from error
        except Exception as error:
            where = self._roots(match)[0]
            raise self.complain(f"fails below its yield, at {where!r}: {type(error).__name__}: {error}") from error
        else:
            raise self.complain("yields twice; a rule has one yield")
        if isinstance(returned, Declined):
            return replay, returned
        if returned is None:
            raise self.complain("returns nothing; return the replacement, or decline(reason)")
        values = returned if isinstance(returned, tuple) else (returned,)
        if len(values) != len(self.pattern.roots):
            raise self.complain(
                f"yields {len(self.pattern.roots)} nodes and returns {len(values)} values; return one for each"
            )
        roots = self._roots(match)
        parts = tuple(replay.part(v, graph.result_type(r)) for v, r in zip(values, roots, strict=True))
        if closes_cycle(graph, tuple(roots), parts):
            return replay, Declined("its replacement would read a value that depends on it")
        return replay, parts

    def _roots(self, match: Match | Found) -> list[str]:
        return [match.nodes[self.pattern.nodes.index(root)] for root in self.pattern.roots]

    def explain(self, graph: Graph, *, at: str) -> str:
        """Say in one sentence why the rule does or does not apply at a node.

        Parameters
        ----------
        graph : Graph
            Any graph.
        at : str
            The node that should be the pattern's (first) root.

        Returns
        -------
        str
        """
        graph.value(at)
        obstacle = Obstacle()
        for match in self.matches_at(graph, at, obstacle):
            _, parts = self.replacement(graph, match)
            if not isinstance(parts, Declined):
                return f"{self.name} matches at {at!r}: {match}."
            obstacle.note(len(self.pattern.nodes) + 1, parts.at or at, f"declined: {parts.reason}")
        return f"{self.name} does not match at {at!r}: {obstacle.node!r} {obstacle.reason}."

    def __call__(self, graph: Graph) -> Graph:
        """Return the graph with this rule applied until nothing matches."""
        from graphrewrite.rewrite import rewrite  # the engine applies rules; a rule only offers itself to it

        return rewrite(graph, (self,))

    def __repr__(self) -> str:
        return f"<rule {self.name}>"

    def _repr_svg_(self) -> str | None:
        """Let Jupyter draw the rule: pattern and replacement side by side."""
        from graphrewrite.view import show  # the view is a leaf that knows rules, loaded when asked for

        return show(self)._repr_svg_()

    def _repr_html_(self) -> str | None:
        """Let Jupyter show the text, and a hint, where nothing can be drawn."""
        from graphrewrite.view import show  # see above

        return show(self)._repr_html_()

    def __str__(self) -> str:
        return f"{self.name}: {self.pattern}"


@overload
def rule(function: Callable[..., Any], /) -> Rule: ...
@overload
def rule(*, keeps: str = ..., shared: str = ...) -> Callable[[Callable[..., Any]], Rule]: ...
def rule(
    function: Callable[..., Any] | None = None, /, *, keeps: str = "exact", shared: str = "refuse"
) -> Rule | Callable[[Callable[..., Any]], Rule]:
    """Make a rule of a generator function with one ``yield``: the pattern above it, the replacement below.

    Parameters
    ----------
    function : callable
        Its parameters are the variables.
    keeps : {"exact", "rounding", "assumes"}
        What the rewrite keeps: the same bits, the same up to rounding of floats, or the same under a stated assumption.
    shared : {"refuse", "keep"}
        What to do about an inner node with a reader outside the match: refuse the match, or keep the node for that
        reader.

    Returns
    -------
    Rule

    Raises
    ------
    RuleError
        If the rule is written wrongly, with its file and line.

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

    def wrap(body: Callable[..., Any]) -> Rule:
        return Rule(body, keeps=keeps, shared=shared)

    return wrap if function is None else wrap(function)
