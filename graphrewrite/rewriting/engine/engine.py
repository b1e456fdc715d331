"""One rewrite in place: nodes to look at, rules to try there, nodes to look at again."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import networkx as nx

from graphrewrite.errors import RewriteError
from graphrewrite.graph import Graph
from graphrewrite.graph.edit import Edit, apply_directly, apply_edit, apply_publicly
from graphrewrite.graph.edit_lock import frozen
from graphrewrite.graph.fresh_names import GreatestNumbers
from graphrewrite.graph.provenance import Provenance
from graphrewrite.graph.storage import stores_plainly, survey
from graphrewrite.hierarchy.implementations import is_implemented
from graphrewrite.hierarchy.region_tracking import RegionTracking
from graphrewrite.rewriting.engine.affected_nodes import affected_nodes_of
from graphrewrite.rewriting.engine.attempt import Attempt, Change, attempt_of, has_unknown_ops
from graphrewrite.rewriting.engine.bodies import BodyRewriting
from graphrewrite.rewriting.engine.dormant_rules import DormantRules
from graphrewrite.rewriting.engine.journal import Journal
from graphrewrite.rewriting.engine.members import PatternRule
from graphrewrite.rewriting.engine.neighbourhood import Neighbourhood
from graphrewrite.rewriting.engine.rule_index import ANY, Entry, Index, entries_of, root_kinds
from graphrewrite.rewriting.engine.strategy import Strategy
from graphrewrite.rewriting.engine.work_list import WorkList
from graphrewrite.rewriting.facts.observation import Observer, observing_with
from graphrewrite.rewriting.fused import Fused, Record, Surroundings, matched_in
from graphrewrite.rewriting.match import Candidates
from graphrewrite.rewriting.rule.levels import NodeKinds
from graphrewrite.rewriting.rule.outcome import Declined
from graphrewrite.rewriting.rule.template import is_conjunctive
from graphrewrite.rewriting.verification import CHECKS, Checks
from graphrewrite.rewriting.verification.memory import programs_keep_what_is_read
from graphrewrite.rewriting.verification.verifier import Table
from graphrewrite.runtime.interrupts import DeferredInterrupts
from graphrewrite.runtime.progress import counting

__all__ = ["Engine"]

_LARGE, _OFTEN = 256, 63
"""A rewrite of that many nodes shows its progress, once in that many nodes looked at."""


class Engine:
    """One rewrite of one graph, in place.

    Parameters
    ----------
    names : collection
        All names before the rewrite: fresh ones follow from them, also where their nodes are gone by then.
    limit : int
        So many steps are too many.

    Attributes
    ----------
    patience : int
        So many matches of a rule, or searches for one, are worth the time that it takes to generate functions for it.
    """

    patience = 8

    def __init__(
        self,
        graph: Any,
        rules: Sequence[Any],
        passes: Sequence[Any],
        strategy: Strategy,
        *,
        names: Any,
        verify: bool | Checks,
        limit: int,
        watcher: Any,
        journal: Journal | None,
        bodies: BodyRewriting | None = None,
        interrupts: DeferredInterrupts | None = None,
    ) -> None:
        self.graph, self.rules, self.passes, self.strategy = graph, rules, passes, strategy
        self.limit, self.watcher, self.journal, self.interrupts = limit, watcher, journal, interrupts
        self.bodies = bodies
        # The types of a plain digraph name no ops: it is verified only by checks that are named.
        wanted = (CHECKS if isinstance(graph, Graph) else ()) if isinstance(verify, bool) else verify
        if verify and isinstance(graph, Graph) and any(True for _ in programs_keep_what_is_read(graph)):
            wanted = [each for each in wanted if each is not programs_keep_what_is_read]  # it was not sound before
        self.table = Table(wanted) if verify and wanted else None
        # One work list for all rules, or one for each where rules are priorities. Where a node is visited once, a rule
        # of several roots is entered at the first of them only.
        self.groups = [[m] for m in rules] if strategy.first == "rule" else [list(rules)]
        self.roots = 1 if strategy.is_single else None
        self.kinds = root_kinds(rules, self.roots)
        own = [m for m in rules if isinstance(m, PatternRule)]
        is_plain = len(own) == len(rules) and all(is_conjunctive(m.pattern) for m in own)
        self.neighbourhood = Neighbourhood(rules if is_plain else ())
        # Where all patterns are conjunctive, the nodes that an edit affects follow from a few types.
        self.is_conjunctive = is_plain and not self.neighbourhood.is_asked and not self.neighbourhood.is_unbounded
        self.affected = affected_nodes_of(tuple(m.pattern for m in own), is_conjunctive=self.is_conjunctive)
        self.observer = Observer(graph)
        self.looks_around = False
        self.provenance = Provenance(graph)
        self.stores_plainly = stores_plainly(graph)
        self.has_library = isinstance(graph, Graph) and graph.library is not None
        self.is_implemented = self.has_library and any(is_implemented(graph, node) for node in graph._node)
        # A watcher keeps the edits, whose dictionaries must then not become the graph's own.
        self.apply_edit = (
            apply_edit if watcher is not None else apply_directly if self.stores_plainly else apply_publicly
        )
        if isinstance(graph, Graph):
            graph._fresh = GreatestNumbers(names)
        self.holds_bodies = False  # as far as is known; what fused rules bring is asked for at the end
        self.fused_rules: list[Fused] = []
        # Where no node is looked at again, nobody says at which one a term may match by now.
        self.candidates = Candidates(graph, remembers=not strategy.is_single)
        self.steps = 0
        self.node_kinds: NodeKinds | None = None  # as long as passes find nothing to do
        self.idle: dict[str, int] = {}  # passes to the steps after which they found nothing to do
        self.last: deque[str] = deque(maxlen=100)
        self.pairs: list[tuple[Index, WorkList]] = []
        # Of conjunctive rules, generated functions tell nobody which nodes they add.
        waits = strategy.first == "place" and not strategy.is_single and not is_plain
        self.dormant = DormantRules(own if waits else ())
        self.entries: dict[int, list[Entry]] = {}
        self.indices: list[Index] = []
        self.enter(m for m in rules if not (waits and isinstance(m, PatternRule)))

    def enter(self, rules: Iterable[Any]) -> None:
        """Let rules be tried from now on."""
        for rule in rules:
            self.entries[id(rule)] = entries_of(rule)[: self.roots]
            if not self.is_conjunctive:
                self.neighbourhood.enter(rule)
            if isinstance(rule, PatternRule):
                self.affected.enter(rule.pattern, rule.definition.depends_on_values)
                self.looks_around |= rule.definition.looks_around
        self.candidates.remembers &= not self.neighbourhood.is_unbounded
        self.indices = [
            Index([e for m in group for e in self.entries.get(id(m), ())], root_kinds(group, self.roots))
            for group in self.groups
        ]
        self.pairs = [(index, work) for index, (_, work) in zip(self.indices, self.pairs, strict=False)]

    def wake(self, kinds: Iterable[str]) -> None:
        """Let the rules be tried that wait for nodes of some types."""
        if self.dormant.rules and (woken := self.dormant.woken_by(kinds)):
            self.enter(woken)

    def run(self) -> None:
        """Apply rules and passes until nothing changes."""
        self.observer.surprised = self.be_followed
        try:
            with observing_with(self.observer):
                self.rewrite()
        finally:  # the functions that try rules refer to the engine, which would live until the next collection
            self.observer.surprised = None
            for index in self.indices:
                for entry in index.entries:
                    entry.attempt = None

    def rewrite(self) -> None:
        """Apply rules and passes until nothing changes; the functions that try rules are left behind."""
        changed = True
        while changed:
            steps = self.steps
            with (
                counting("rewrite") if len(self.graph) >= _LARGE else nullcontext() as report,
                frozen(self.graph) if isinstance(self.graph, Graph) and self.stores_plainly else nullcontext(),
            ):
                self.sweep(report)
            # A rule that looks anywhere in the graph may match again after any step: sweep until nothing changes.
            changed = self.neighbourhood.is_unbounded and self.steps > steps and not self.strategy.is_single
            for member in self.passes:
                changed |= self.run_pass(member)
            if self.bodies is not None and self.may_hold_bodies() and self.bodies.is_needed(self.graph):
                changed |= self.run_pass(self.bodies)
            changed &= not self.strategy.is_single
        # The graph leaves the engine: write origins, let fresh names follow its nodes, drop networkx's stale caches.
        self.provenance.settle()
        if isinstance(self.graph, Graph):
            self.graph._fresh.names = self.graph._node
        if self.stores_plainly:
            nx._clear_cache(self.graph)

    def may_hold_bodies(self) -> bool:
        """Tell whether there can be graphs among the attributes of nodes, which only a look at all can find."""
        return self.holds_bodies or any(fused.sets_attributes for fused in self.fused_rules)

    def run_pass(self, member: Any) -> bool:
        """Run a pass, unless it has nothing to do since it last ran; tell whether it changed anything."""
        if self.idle.get(member.name) == self.steps:
            return False
        if self.node_kinds is None:
            self.node_kinds = NodeKinds(self.graph)
        kinds = getattr(member, "kinds", None)
        if kinds is not None and kinds.isdisjoint(self.node_kinds.types):
            self.idle[member.name] = self.steps
            return False
        self.provenance.settle()
        if self.watcher is not None:
            self.watcher.passing(self.graph)
        self.candidates.clear()
        removed = member.apply_in_place(self.graph)
        if not removed:
            self.idle[member.name] = self.steps
            return False
        kind = getattr(member, "kind", None)  # of a pass that says so
        if kind is not None and (wrong := self.node_kinds.wrong_after(kind, self.graph)):
            raise RewriteError(f"pass {member.name!r} {wrong}")
        self.node_kinds = None
        self.holds_bodies = True  # a pass may bring some
        self.observer.forget()  # all nodes will be looked at again
        self.last.append(member.name)
        self.steps += 1
        if self.steps > self.limit:
            self.complain(removed[0])
        if self.watcher is not None:
            self.watcher.passed(self.graph, member.name, removed)
        self.verify(member)
        return True

    def sweep(self, report: Callable[[int], None] | None = None) -> None:
        """Look at every node, and again at those that an edit affects, until none is left."""
        nodes, pred, interrupts = self.graph._node, self.graph._pred, self.interrupts
        looked, self.node_kinds = 0, None
        self.wake({data.get("type", ANY) for data in nodes.values()})
        found, held = survey(self.graph, self.kinds)
        self.holds_bodies |= any(issubclass(kind, Graph) for kind in held)
        order = self.strategy.ordered(self.graph, found)
        self.pairs = [(index, WorkList(self.of_index(index, order))) for index in self.indices]
        while True:
            # The next node, of the first list that holds one; `index` stays that of its list.
            for index, work in self.pairs:  # noqa: B007
                node = work.pop()
                if node is not None:
                    break
            else:
                return
            looked += 1
            if not looked & _OFTEN and report is not None:
                report(self.steps)
            if interrupts:
                interrupts.deliver()
            data = nodes.get(node)
            if data is None:  # removed since it was queued
                continue
            # The rules that may match there, in order; the first that applies ends the visit.
            kind = data.get("type", ANY)
            always, by_operand = index.by_kind[kind]
            for entry in index.at(kind, pred[node], nodes) if by_operand else always:
                if (entry.attempt or self.prepare(entry))(node):
                    self.candidates.groups.clear()
                    self.last.append(entry.member.name)
                    self.steps += 1
                    if self.steps > self.limit:
                        self.complain(node)
                    break

    def of_index(self, index: Index, order: list[Any]) -> list[Any]:
        """Return those of the nodes to look at that are of interest to an index."""
        if index.kinds == self.kinds:
            return order
        return [node for node in order if index.kinds is None or self.graph._node[node].get("type") in index.kinds]

    def complain(self, node: Any) -> None:
        """Raise an error that names the rules of the last steps."""
        names = ", ".join(f"{name} ({times})" for name, times in Counter(self.last).most_common())
        raise RewriteError(
            f"the rules do not end: more than {self.limit} steps, of the last {len(self.last)} fired {names}; one "
            "undoes the other, or a rule matches its own result; give a measure that must fall, or once=True",
            node=node,
        )

    # ------------------------------------------------------------------ one rule at one node

    def prepare(self, entry: Entry) -> Callable[[Any], Any]:
        """Return the function that tries a rule at a node: true if it applied it, and queued the affected nodes."""
        if self.neighbourhood.is_unbounded:
            self.observer.forget()  # a step that has just begun to look around may not have been followed
        entry.attempt = self.observed(entry, self.general(entry))
        if isinstance(entry.member, PatternRule):
            definition = entry.member.definition
            is_known = definition.template is not None and not definition.template.has_numbers
            if is_known or definition.has_functions(entry.root):
                self.speed_up(entry)
        return entry.attempt

    def speed_up(self, entry: Entry) -> None:
        """Let a rule take the fast path from now on, if it has one."""
        # The fast path writes into networkx's dictionaries, and knows no measure, no region and no implementations.
        rule = entry.member
        if (
            isinstance(rule, PatternRule)
            and isinstance(self.graph, Graph)
            and self.stores_plainly
            and not self.strategy.judges
            and not self.is_implemented
            and entry.attempt is not None
            and not has_unknown_ops(rule, self.graph)
        ):
            fused = self.fused(entry, entry.attempt)
            entry.attempt = entry.attempt if fused is None else self.observed(entry, fused)

    def leave_implemented(self, edit: Edit) -> None:
        """Take all rules off the fast path once a step has brought a node that a graph computes."""
        if any(is_implemented(self.graph, node) for node, _ in edit.added):
            self.is_implemented = True
            self.prepare_again()

    def prepare_again(self) -> None:
        """Let all rules be prepared anew."""
        for index in self.indices:
            for entry in index.entries:
                entry.attempt = None

    def observed(self, entry: Entry, attempt: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return the function that tries a rule, with a note of the node for which it looks around, if it does."""
        if not (isinstance(entry.member, PatternRule) and entry.member.definition.looks_around):
            return attempt
        observer = self.observer

        def observed(node: Any) -> Any:
            observer.root = node
            try:
                return attempt(node)
            finally:
                observer.root = None

        return observed

    def be_followed(self) -> None:
        """Follow edits from now on: a rule looks around that does not say so, by a function from elsewhere."""
        if not self.neighbourhood.is_unbounded or not self.looks_around:
            self.neighbourhood.is_unbounded = self.looks_around = True  # nobody knows for which node it did
            self.prepare_again()

    def general(self, entry: Entry) -> Callable[[Any], bool]:
        """Return a function that tries a rule on the general path."""
        graph, watcher, strategy, member = self.graph, self.watcher, self.strategy, entry.member
        planned_at: Attempt | None = None  # where functions have been generated, it may never be needed
        interrupts, count = self.interrupts, 0

        def attempt(node: Any) -> bool:
            nonlocal planned_at, count
            if planned_at is None:
                planned_at = attempt_of(entry, graph, self.candidates, self.patience)
            outcomes = planned_at(node)
            if outcomes == ():  # as at most nodes
                if watcher is not None:
                    watcher.tried(member, node, None)
                return False
            # In place, an interrupt waits for the end of a step; while matches are searched it may come at once.
            for match, planned in outcomes if interrupts is None else interrupts.interruptible(outcomes):
                count += 1
                if count == self.patience:
                    self.speed_up(entry)
                if strategy.judges and isinstance(planned, Edit):
                    planned = strategy.judge(graph, planned)
                if watcher is not None:
                    watcher.tried(member, node, planned)
                if isinstance(planned, Declined):
                    continue
                self.apply_edit(graph, planned)
                if self.journal is not None:  # at once: whatever fails from here on, the step can be undone
                    self.journal.append(planned)
                self.candidates.follow(planned)
                if self.has_library and not self.is_implemented:
                    self.leave_implemented(planned)
                if not self.holds_bodies:
                    data = (data for _, data in (*planned.added, *planned.changed))
                    self.holds_bodies = any(isinstance(value, Graph) for each in data for value in each.values())
                self.provenance.note(planned)
                strategy.follow(planned)
                if not strategy.is_single:
                    self.look_again(planned, node)
                self.after(member, Change(match, planned))
                return True
            if watcher is not None:
                watcher.tried(member, node, None)
            return False

        return attempt

    def fused(self, entry: Entry, general: Callable[[Any], bool]) -> Callable[[Any], Any] | None:
        """Return a function that tries a rule on the fast path; None where there is none."""
        rule: PatternRule = entry.member
        fused = rule.definition.fused(entry.root)
        if fused is None:
            return None
        again = not self.strategy.is_single
        inline = again and self.is_conjunctive  # the generated function queues affected nodes itself
        full = self.watcher is not None or self.table is not None or again != inline
        journal, watcher = self.journal, self.watcher
        declined: list[Declined] | None = None if watcher is None else []
        around = Surroundings(
            general=general,
            later=self.provenance.later,
            pending=self.provenance.pending,
            push=self.push,
            roots=(self.kinds or frozenset()) if inline else frozenset(),
            above=self.above if inline else None,
            is_awaited=lambda kind: self.affected.above(kind) is not None,
            released=self.released if inline else None,
            mode="full" if full else "bare" if journal is None and not self.looks_around else "journal",
            note=self.note if self.looks_around else None if journal is None else journal.extend,
            candidates=self.candidates,
            declined=declined,
        )
        step = fused.bind(rule, self.graph, around)
        self.fused_rules.append(fused)
        if not full:
            return step

        def attempt(node: Any) -> bool:
            told = step(node)
            if declined:
                # The general path has told of all matches, where it did the work.
                for refusal in () if type(told) is bool or watcher is None else declined:
                    watcher.tried(rule, node, refusal)
                declined.clear()
            if type(told) is bool:
                return told
            if told is None:
                if watcher is not None:
                    watcher.tried(rule, node, None)
                return False
            if journal is not None:
                journal.extend(told)
            record = Record(told)
            if watcher is not None:
                watcher.tried(rule, node, record)
            if again and not inline:
                self.look_again(record.edit, node)
            self.after(rule, record)
            return True

        return attempt

    def after(self, member: Any, change: Change | Record) -> None:
        """Hand a step to the observer, the watcher and the verifier."""
        if self.looks_around and (isinstance(change, Change) or self.observer.is_concerned(matched_in(change.told))):
            self.follow(change)
        if self.watcher is not None:
            self.watcher.rewritten(self.graph, member, change)
        self.verify(member)

    def note(self, told: Sequence[Any]) -> None:
        """Hand a step of which nobody else hears to the journal and the observer."""
        if self.journal is not None:
            self.journal.extend(told)
        if self.observer.is_concerned(matched_in(told)):
            self.follow(Record(told, self.graph))

    def follow(self, change: Change | Record) -> None:
        """Let the observer follow a step, and look again where a rule has looked at what it changes."""
        for node in self.observer.follow(change.edit):
            if not self.strategy.is_single:
                self.push(node, None)

    def verify(self, member: Any) -> None:
        """Verify the graph after a step, with its views as they are now."""
        if self.table is not None:
            if isinstance(self.watcher, RegionTracking):
                self.watcher.settle()
            self.table.verify(self.graph, after=member.name)

    # ------------------------------------------------------------------ nodes to look at again

    def push(self, node: Any, near: Any) -> None:
        """Queue a node, unless rules may not look at it."""
        if self.candidates.unfit:
            self.candidates.reconsider(node)
        if self.strategy.region is not None and node not in self.strategy.region:
            return
        kind = self.graph._node[node].get("type")
        for index, work in self.pairs:
            if index.kinds is None or kind in index.kinds:
                work.push(node, near)

    def look_again(self, edit: Edit, near: Any) -> None:
        """Queue the nodes at which an edit can have enabled a match."""
        self.wake(data.get("type", ANY) for _, data in (*edit.added, *edit.changed))
        affected = self.affected.after(self.graph, edit, self.kinds)
        if self.neighbourhood.is_asked:
            self.neighbourhood.after(self.graph, edit, affected)
        if near in self.graph._node:
            affected[near] = None
        for node in affected:
            self.push(node, near)

    def above(self, source: Any, readers: dict[Any, Any], near: Any) -> None:
        """Queue the nodes at which new readers of a value can have enabled a match."""
        affected: dict[Any, None] = {}
        self.affected.over(self.graph, source, readers, affected)
        for node in affected:
            self.push(node, near)

    def released(self, name: Any, near: Any) -> None:
        """Queue the nodes at which a value that lost a reader can have enabled a match."""
        node = self.graph._node.get(name)
        if node is None:
            return
        affected: dict[Any, None] = {name: None} if node.get("type", ANY) in (self.kinds or ()) else {}
        self.affected.around(self.graph, name, affected)
        for each in affected:
            self.push(each, near)
