"""Training: a network, samples and an optimiser give a network with other weights."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from graphrewrite import Graph, Module, Pass, Rule, Tensor
from graphrewrite.errors import did_you_mean
from graphrewrite.graph.arguments import as_graph
from graphrewrite.hierarchy.blocks import flattened, main_graph
from graphrewrite.learning.checkpoints import State, load_state, save_state
from graphrewrite.learning.errors import TrainingError
from graphrewrite.learning.losses import cross_entropy, hinge, squared_error
from graphrewrite.learning.optimisers import Adam, Optimiser
from graphrewrite.learning.samples import Samples, samples
from graphrewrite.learning.trainer import Programs, Trainer
from graphrewrite.learning.training_forms import parameters
from graphrewrite.op import Op
from graphrewrite.runtime.progress import counting

__all__ = ["VALIDATED", "Fit", "Interrupted", "check_numbers", "fit", "flat_network", "parted"]

LOSSES: Mapping[str, Op] = {"cross_entropy": cross_entropy, "hinge": hinge, "squared_error": squared_error}
"""By name."""
VALIDATED = 0.1
"""The share of the samples that is held out where nothing else is said."""
Pair = tuple[Mapping[str, np.ndarray], np.ndarray]
"""Inputs by name, and targets."""


@dataclass(frozen=True, eq=False)
class Fit:
    """What training gave.

    Attributes
    ----------
    graph : Graph
        The network with the learnt constants, without nested graphs.
    history : tuple of mapping
        For each epoch its mean ``loss``, the share of right answers ``accuracy`` where there are labels, and of the
        samples of validation ``validation_loss`` and ``validation_accuracy``.
    module : Module or None
        Where a module was given, that with the learnt constants.
    """

    graph: Graph
    history: tuple[Mapping[str, Any], ...]
    module: Module | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        last = ", ".join(f"{name} {value:.4g}" for name, value in self.history[-1].items()) if self.history else ""
        return f"<fit of {self.graph.name!r}, {len(self.history)} epochs{': ' if last else ''}{last}>"


class Interrupted(KeyboardInterrupt):
    """Training was interrupted; `fit` is what it had reached.

    Attributes
    ----------
    fit : Fit
        The network as it was after the last step.
    """

    def __init__(self, fit: Fit) -> None:
        super().__init__(f"training was interrupted after {len(fit.history)} epochs; .fit is what it had reached")
        self.fit = fit


def fit(
    graph: Graph | Module,
    data: tuple[Any, Any],
    *,
    loss: str | Op | None = None,
    optimiser: Optimiser | None = None,
    epochs: int = 10,
    batch: int = 32,
    seed: int = 0,
    wrt: str | Iterable[str] | None = None,
    validation: float | tuple[Any, Any] | None = VALIDATED,
    patience: int | None = None,
    teacher: Graph | None = None,
    checkpoint: str | PathLike[str] | None = None,
    augment: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None,
    watch: Callable[[Mapping[str, Any]], None] | None = None,
    rules: Iterable[Rule | Pass] = (),
) -> Fit:
    r"""Train a network on samples.

    Norms take the statistics of the batch and keep running ones, dropout drops entries, and gradients come from
    `differentiate`. The same arguments give the same bits on the same machine, also where training was interrupted and
    goes on from a checkpoint.

    Parameters
    ----------
    graph : Graph or Module
        A network with one output, of scores or numbers; a closing softmax or arg_max over them is left out. Of nested
        graphs, each use has weights of its own, but for the constants of a module, which all its graphs share.
    data : (inputs, targets)
        Inputs are an array, one row a sample, or arrays by the names of the inputs. Targets are classes, whole numbers
        from 0, or numbers of the shape of the output.
    loss : {"cross_entropy", "hinge", "squared_error"} or Op, optional
        An op of a prediction and the targets, with the results prediction and loss. Where not given, cross entropy for
        whole numbers and the squared error for others.
    optimiser : Optimiser, optional
        `SGD`, `Adam` or one's own; `Adam` at its defaults where not given.
    epochs : int
        How often all samples are seen.
    batch : int
        Samples of a step; the last step of an epoch may have fewer.
    seed : int
        Decides the order of the samples, dropout and what `augment` draws.
    wrt : str or iterable of str, optional
        Names of the constants to learn; weights, biases and gains of layers where not given.
    validation : float or (inputs, targets), optional
        Samples that are not learnt from: given ones, or a share of the data that the seed draws, a tenth by default and
        none of fewer than ten. The network is returned as it was after the last epoch whose loss on them is the least
        but for a standard error. With None or 0 all samples are learnt from, and the network after the last epoch is
        returned.
    patience : int, optional
        Epochs without a lesser loss of validation after which training stops.
    teacher : Graph, optional
        A network of the same inputs and output. Half of the loss is then the distance to its answers, to the same
        inputs: the cross entropy with its probabilities, or of numbers the squared error.
    checkpoint : path, optional
        A file to go on from if it is there, and written after each epoch and at an interrupt.
    augment : callable, optional
        Changes the rows of a batch, of a graph with one input; gets a generator of random numbers.
    watch : callable, optional
        Gets what each epoch gave.
    rules : iterable of Rule, optional
        Gradients of ops of one's own, as for `differentiate`.

    Returns
    -------
    Fit
        With the trained network, and the history.

    Raises
    ------
    TrainingError
        If samples are missing or wrong, there is nothing to learn, or the loss is no number any more: then it has what
        was reached as ``fit``.
    DifferentiationError
        If an op of the network has no gradient.
    Interrupted
        By a `KeyboardInterrupt`: it is one itself, and has what was reached.

    Examples
    --------
    >>> from graphrewrite.hierarchy import layers, sequential
    >>> net = sequential(layers.linear(1)).graph(Tensor("f32", ("N", 2)))
    >>> x = np.random.default_rng(0).normal(size=(64, 2))
    >>> trained = fit(net, (x, x @ [[2.0], [-1.0]]), optimiser=Adam(0.1), epochs=50)
    >>> trained.history[-1]["loss"] < 1e-4
    True
    """
    module, graph = graph if isinstance(graph, Module) else None, flat_network(graph)
    check_numbers(epochs=epochs, batch=batch, patience=patience)
    head, scores = _head(graph)
    given, held_out = _parted(graph, data, loss, validation, scores, seed)
    if patience is not None and held_out is None:
        raise TrainingError(
            "patience counts epochs without a lesser loss of validation; give validation=(inputs, targets), or a share "
            "of more samples"
        )
    loss_op = _loss_op(loss, given, scores)
    learnt = _learnt(head, wrt)
    optimiser = Adam() if optimiser is None else optimiser
    _check_functions(optimiser, augment=augment, watch=watch)
    trainer = Trainer(
        Programs.of(head, loss_op, given.targets, learnt, tuple(rules), _taught_by(teacher, head)),
        optimiser,
        given,
        held_out,
        batch,
        seed,
        augment,
    )
    run = {
        "seed": str(seed),
        "batch": str(batch),
        "optimiser": type(optimiser).__name__,
        "network": _digest(graph, learnt),
        "teacher": "" if teacher is None else _digest(teacher, ()),
        "data": "" if checkpoint is None else _digest_of(given, held_out),
    }
    if checkpoint is not None and not Path(checkpoint).parent.is_dir():
        raise TrainingError(f"there is no folder {str(Path(checkpoint).parent)!r} for the checkpoint; make it first")
    found = None if checkpoint is None else load_state(checkpoint, run)
    state = trainer.start() if found is None else found
    if module is not None:
        _check_variables(module, state.arrays)
    total = epochs * trainer.count

    def reached(arrays: Mapping[str, np.ndarray]) -> Fit:
        return Fit(_with_arrays(graph, arrays), state.history, module=module and _with_variables(module, arrays))

    try:
        with counting(f"training {graph.name}", total) as report:
            while state.epoch < epochs and not _is_enough(state, patience):
                finished = state.epoch
                state = trainer.step(state)
                if report is not None:
                    report(state.epoch * trainer.count + state.step)
                if state.epoch > finished:
                    if checkpoint is not None:
                        save_state(checkpoint, state, run)
                    if watch is not None:
                        watch(state.history[-1])
    except KeyboardInterrupt:
        if checkpoint is not None:
            save_state(checkpoint, state, run)
        raise Interrupted(reached(state.arrays)) from None
    except TrainingError as error:
        error.fit = reached(state.best or state.arrays)
        raise
    return reached(state.best or state.arrays)


def flat_network(graph: Any) -> Graph:
    """Return the graph to train, of a module its main one, without nested graphs."""
    return flattened(as_graph(main_graph(graph), "that can be trained"))


def check_numbers(**numbers: Any) -> None:
    """Raise unless each is a whole number from 1 on, or None."""
    for name, value in numbers.items():
        if value is not None and not (isinstance(value, int | np.integer) and value >= 1):
            raise TrainingError(f"{name} is a whole number from 1 on, got {value!r}")


def _learnt(graph: Graph, wrt: Any) -> tuple[str, ...]:
    """Return the names of the constants to learn."""
    if wrt is None:
        if not (learnt := parameters(graph)):
            raise TrainingError(
                f"the graph {graph.name!r} has no weights of layers; name the constants to learn by wrt=…"
            )
        return learnt
    constants = [node for node in graph if graph.nodes[node]["type"] == "constant"]
    if not isinstance(wrt, Iterable) or not (learnt := (wrt,) if isinstance(wrt, str) else tuple(wrt)):
        raise TrainingError(f"wrt is the name of a constant, or several; without it weights are learnt; got {wrt!r}")
    for name in learnt:
        if name not in constants:
            near = did_you_mean(str(name), constants)
            raise TrainingError(f"wrt names constants, and {name!r} is none of the graph {graph.name!r}{near}")
    return learnt


def _check_functions(optimiser: Any, **functions: Any) -> None:
    """Raise before the first step unless an optimiser is one, and functions can be called."""
    if isinstance(optimiser, type) or not (hasattr(optimiser, "start") and hasattr(optimiser, "step")):
        raise TrainingError(f"an optimiser has start and step, as Adam() and SGD(0.01), got {optimiser!r}")
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise TrainingError(f"{name} is a function, got {function!r}")


def _check_variables(module: Module, names: Iterable[str]) -> None:
    """Raise if something learnt is of one use of a nested graph, and none of the module."""
    own = main_graph(module)
    for name in names:
        if name not in own and name not in module.constants:
            raise TrainingError(
                f"{name!r} is a constant of a nested graph, and each use would learn another; make it one of the "
                f"module by module.constant(…), or train the graph: fit(module[{own.name!r}], …)"
            )


def _with_variables(module: Module, arrays: Mapping[str, np.ndarray]) -> Module:
    """Return a module with other values of its constants, and of those of its main graph."""
    new, own = module.copy(), main_graph(module).name
    new[own] = _with_arrays(new[own], {name: array for name, array in arrays.items() if name not in module.constants})
    for name in arrays.keys() & module.constants.keys():
        new.set_constant(name, arrays[name])
    return new


def _head(graph: Graph) -> tuple[Graph, Tensor]:
    """Return a network without a closing softmax or arg_max, and the type of what it gives."""
    if len(graph.outputs) != 1:
        raise TrainingError(
            f"a network to train has one output, and {graph.name!r} has {', '.join(graph.outputs) or 'none'}"
        )
    (name,) = graph.outputs
    head, source = graph.copy(), graph.operands(graph.outputs[0])[0]
    while graph.nodes[source.node]["type"] in ("softmax", "arg_max"):
        before = graph.operands(source.node)[0]
        if graph.attributes(source.node)["axis"] % len(graph.result_type(*before).shape) != 1:
            break
        source = before
    if source != graph.operands(name)[0]:
        head.remove_node(name)
        head.output(name, head.value(*source))
    kind = head.result_type(*source)
    if not isinstance(kind, Tensor) or not kind.shape or not isinstance(kind.shape[0], str):
        raise TrainingError(f"the output of a network to train has one row a sample, and {name!r} is {kind}")
    return head, kind


def parted(
    graph: Graph, data: Any, loss: str | Op | None, validation: float | tuple[Any, Any] | None, seed: int
) -> tuple[Pair, Pair | None]:
    """Return checked inputs and targets to learn from, and those of validation, as `fit` parts them."""
    given, held_out = _parted(graph, data, loss, validation, _head(graph)[1], seed)
    return (given.inputs, given.targets), None if held_out is None else (held_out.inputs, held_out.targets)


def _parted(
    graph: Graph,
    data: Any,
    loss: str | Op | None,
    validation: float | tuple[Any, Any] | None,
    scores: Tensor,
    seed: Any,
) -> tuple[Samples, Samples | None]:
    """Return samples to learn from, and samples of validation, if there are some."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise TrainingError(f"seed is a whole number from 0 on, got {seed!r}")
    labelled = {"cross_entropy": True, "hinge": True, "squared_error": False}.get(str(loss))
    given = samples(graph, data, scores, labelled=labelled)
    if validation is None:
        return given, None
    if isinstance(validation, int | float):
        if isinstance(validation, bool) or not 0 <= validation < 1:
            raise TrainingError(
                f"validation is a share of the samples, from 0 to less than 1, or (inputs, targets), got {validation!r}"
            )
        return given.parted(validation, int(seed))
    labelled = given.targets.ndim < len(scores.shape)
    return given, samples(graph, validation, scores, labelled=labelled, what="the samples of validation")


def _taught_by(teacher: Graph | None, head: Graph) -> Graph | None:
    """Return the head of a teacher, which must fit that of the network."""
    if teacher is None:
        return None
    own, _ = _head(flattened(as_graph(teacher, "that can teach")))
    wanted, found = (f"{_types(each)} -> {_head(each)[1]}" for each in (head, own))
    if wanted != found:
        raise TrainingError(
            f"a teacher has the inputs and scores of the network, {wanted}; {teacher.name!r} has {found}"
        )
    return own


def _types(graph: Graph) -> str:
    return ", ".join(f"{name} {graph.result_type(name)}" for name in graph.inputs)


def _loss_op(loss: str | Op | None, given: Samples, scores: Tensor) -> Op:
    if isinstance(loss, Op):
        return loss
    name = loss or ("cross_entropy" if given.targets.ndim < len(scores.shape) else "squared_error")
    if name not in LOSSES:
        raise TrainingError(f"unknown loss {name!r}; known are {', '.join(LOSSES)}{did_you_mean(str(name), LOSSES)}")
    return LOSSES[name]


def _digest(graph: Graph, learnt: Sequence[str]) -> str:
    """Return what tells networks apart, and what they begin with."""
    return hashlib.sha256(f"{graph.structure_hash()} {','.join(learnt)}".encode()).hexdigest()[:16]


def _digest_of(*parts: Samples | None) -> str:
    """Return what tells samples apart, those of validation too."""
    found = hashlib.sha256()
    for part in parts:
        for array in () if part is None else (*part.inputs.values(), part.targets):
            found.update(f"{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
        found.update(b";")
    return found.hexdigest()[:16]


def _is_enough(state: State, patience: int | None) -> bool:
    losses = [entry["validation_loss"] for entry in state.history] if patience is not None else []
    return bool(losses) and patience is not None and len(losses) - 1 - losses.index(min(losses)) >= patience


def _with_arrays(graph: Graph, arrays: Mapping[str, np.ndarray]) -> Graph:
    """Return a graph with other values of some constants."""
    new = graph.copy()
    for name, array in arrays.items():
        array = np.array(array)
        array.flags.writeable = False
        new.nodes[name]["value"] = array
    return new
