"""Steps of training: the programs that compute losses and gradients, and what one step makes of a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphrewrite import Graph, Pass, Rule, Tensor, rewrite
from graphrewrite.execution import Program, compile_graph
from graphrewrite.learning.checkpoints import State
from graphrewrite.learning.differentiation import gradient_graph
from graphrewrite.learning.errors import TrainingError
from graphrewrite.learning.losses import soft_cross_entropy, squared_error
from graphrewrite.learning.optimisers import Arrays, Optimiser
from graphrewrite.learning.preparation import prepared
from graphrewrite.learning.samples import Samples
from graphrewrite.learning.training_forms import TrainingForm, training_form
from graphrewrite.op import Op
from graphrewrite.rules import RULES

__all__ = ["Programs", "Trainer"]

_KEPT = 31 << 20
"""Bytes of a block that is freed at once: glibc then keeps so much for the next step, see "dynamic" in mallopt(3)."""
_MANY, _PARTS = 256, 16
"""Samples that are validated at once, and parts at least, whose losses tell how sure their mean is."""
_TAUGHT = 0.5
"""Share of the loss that is the distance to a teacher."""


@dataclass(frozen=True, eq=False)
class Programs:
    """The programs of a step, of a validation and of a teacher, and what they begin with."""

    form: TrainingForm
    learning: Program
    validating: Program
    teaching: Program | None
    target: str
    taught: str
    start: Arrays
    learnt: tuple[str, ...]
    gradients: Mapping[str, str]
    """The outputs that are the gradients of what is learnt."""

    @classmethod
    def of(
        cls,
        head: Graph,
        loss_op: Op,
        targets: np.ndarray,
        learnt: tuple[str, ...],
        rules: tuple[Rule | Pass, ...],
        teacher: Graph | None,
    ) -> Programs:
        """Return the programs of a network with a loss."""
        form = training_form(head)
        changed = (*learnt, *(name for name in form.statistics if name not in learnt))
        learning, target, taught = _with_loss(form.graph, loss_op, targets, is_taught=teacher is not None)
        validating, *_ = _with_loss(head, loss_op, targets, is_taught=teacher is not None)
        derived = gradient_graph(learning, "loss", learnt, changed, rules)
        start = {name: np.asarray(head.nodes[name]["value"]) for name in changed}
        return cls(
            form,
            compile_graph(_optimised(derived)),
            compile_graph(_optimised(prepared(validating, changed))),
            None if teacher is None else compile_graph(_optimised(prepared(teacher, ()))),
            target,
            taught,
            start,
            learnt,
            dict(zip(learnt, derived.outputs[-len(learnt) :], strict=True)),
        )

    def targets(self, inputs: Mapping[str, np.ndarray], targets: np.ndarray) -> Arrays:
        """Return what the loss compares scores with: the targets, and what a teacher says of the inputs."""
        if self.teaching is None:
            return {self.target: targets}
        (answers,) = self.teaching(inputs).values()
        return {self.target: targets, self.taught: answers}


def _optimised(graph: Graph) -> Graph:
    return rewrite(graph, RULES)


def _with_loss(graph: Graph, loss_op: Op, targets: np.ndarray, *, is_taught: bool) -> tuple[Graph, str, str]:
    """Return a network with a loss, and the names of the inputs that have the targets and a teacher's scores."""
    new = graph.copy()
    new.adopt(loss_op)
    (name, *others) = new.outputs
    scores = new.value(*new.operands(name)[0])
    kind, is_labelled = scores.type, targets.ndim < len(scores.type.shape)
    own = Tensor("i64", (kind.shape[0], *kind.shape[2:])) if is_labelled else Tensor(kind.element, kind.shape)
    target, taught = new.input(new.fresh("targets"), own), new.fresh("taught")
    _, error = loss_op(scores, target)
    if is_taught:
        teaching = soft_cross_entropy if is_labelled else squared_error
        new.adopt(teaching)
        _, apart = teaching(scores, new.input(taught, Tensor(kind.element, kind.shape)))
        error = error * (1 - _TAUGHT) + apart * _TAUGHT
    again = {each: new.value(*new.operands(each)[0]) for each in others}
    for each in (name, *others):
        new.remove_node(each)
    new.output("scores", scores)
    new.output("loss", error)
    for each, value in again.items():
        new.output(each, value)
    return new, target.node, taught


class Trainer:
    """Steps from one state to the next."""

    def __init__(
        self,
        steps: Programs,
        optimiser: Optimiser,
        given: Samples,
        held_out: Samples | None,
        batch: int,
        seed: int,
        augment: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None,
    ) -> None:
        self.steps, self.optimiser, self.given, self.held_out = steps, optimiser, given, held_out
        self.batch, self.seed, self.augment = batch, seed, augment
        self.count = -(-len(given) // batch)
        if augment is not None and len(given.inputs) != 1:
            raise TrainingError("augment changes the rows of one input, and the graph has several")
        np.empty(_KEPT, np.uint8)

    def start(self) -> State:
        """Return the state before the first step."""
        learnt = {name: self.steps.start[name] for name in self.steps.learnt}
        return State(self.steps.start, self.optimiser.start(learnt))

    def step(self, state: State) -> State:
        """Return the state after the next step, which may be the last one of an epoch."""
        order = np.random.default_rng((self.seed, state.epoch)).permutation(len(self.given))
        rng = np.random.default_rng((self.seed, state.epoch, state.step + 1))
        some = self.given.rows(order[state.step * self.batch : (state.step + 1) * self.batch])
        inputs = dict(some.inputs)
        if self.augment is not None:
            ((name, array),) = inputs.items()
            inputs[name] = self._augmented(self.augment(array, rng), array)
        drawn = self.steps.form.draw(rng, len(some))
        with np.errstate(all="ignore"):  # what is no number is named below
            found = self.steps.learning({**inputs, **self.steps.targets(inputs, some.targets), **state.arrays, **drawn})
        error = float(found["loss"])
        gradients = {name: found[out] for name, out in self.steps.gradients.items()}
        self._check(error, gradients, state)
        learnt = {name: state.arrays[name] for name in self.steps.learnt}
        after, memory = self.optimiser.step(learnt, gradients, state.memory)
        arrays = {**state.arrays, **{name: found[out] for name, out in self.steps.form.statistics.items()}, **after}
        state = replace(
            state,
            arrays=arrays,
            memory=memory,
            step=state.step + 1,
            total=state.total + error * len(some),
            right=state.right + _right(found["scores"], some.targets),
        )
        return state if state.step < self.count else self._finished(state)

    def _augmented(self, made: Any, array: np.ndarray) -> np.ndarray:
        if np.shape(made) != array.shape:
            raise TrainingError(
                f"augment gives as many rows as it gets, of shape {list(array.shape)}, and gave {list(np.shape(made))}"
            )
        return np.asarray(made, array.dtype)

    def _check(self, error: float, gradients: Mapping[str, np.ndarray], state: State) -> None:
        where = f"in step {state.step + 1} of epoch {state.epoch + 1}"
        if not np.isfinite(error):
            raise TrainingError(f"the loss is {error} {where}; lower the learning rate, or look for such inputs")
        for name, gradient in gradients.items():
            if not np.isfinite(gradient).all():
                raise TrainingError(
                    f"the gradient of {name!r} is no number {where}, though the loss is {error:.4g}: a function on the "
                    "way has an infinite slope there, such as the root of zero"
                )

    def _finished(self, state: State) -> State:
        """Return the state at the beginning of the next epoch."""
        count = len(self.given)
        entry: dict[str, Any] = {"loss": state.total / count}
        if self._is_labelled(self.given):
            entry["accuracy"] = state.right / count
        best, limit = state.best, state.limit
        if self.held_out is not None:
            losses = [each["validation_loss"] for each in state.history]
            validated, error = self._validated(state.arrays, self.held_out)
            if not np.isfinite(loss := validated["validation_loss"]):
                raise TrainingError(
                    f"the loss of validation is {loss} after epoch {state.epoch + 1}; lower the learning rate, or look "
                    "for such inputs"
                )
            entry.update(validated)
            if entry["validation_loss"] < min(losses, default=np.inf):
                limit = entry["validation_loss"] + error
            best = state.arrays if entry["validation_loss"] <= limit else best
        history = (*state.history, entry)
        return replace(
            state, epoch=state.epoch + 1, step=0, total=0.0, right=0.0, history=history, best=best, limit=limit
        )

    def _is_labelled(self, some: Samples) -> bool:
        return some.targets.dtype == np.int64

    def _validated(self, arrays: Mapping[str, np.ndarray], held_out: Samples) -> tuple[dict[str, float], float]:
        """Return what is measured on samples of validation, and the standard error of their loss, by parts of them."""
        losses, right = [], 0.0
        for some in held_out.batches(min(_MANY, -(-len(held_out) // _PARTS))):
            with np.errstate(all="ignore"):
                targets = self.steps.targets(some.inputs, some.targets)
                found = self.steps.validating({**some.inputs, **targets, **arrays})
            losses.append((float(found["loss"]), len(some)))
            right += _right(found["scores"], some.targets)
        total = sum(loss * count for loss, count in losses)
        entry = {"validation_loss": total / len(held_out)}
        if self._is_labelled(held_out):
            entry["validation_accuracy"] = right / len(held_out)
        return entry, float(np.std([loss for loss, _ in losses]) / np.sqrt(len(losses)))


def _right(scores: np.ndarray, targets: np.ndarray) -> float:
    """Return how many samples got the greatest score for their label; the mean over positions of each."""
    if targets.dtype != np.int64:
        return 0.0
    same = scores.argmax(1) == targets
    return float(same.reshape(len(same), -1).mean(1).sum())
