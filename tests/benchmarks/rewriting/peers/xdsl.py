"""xDSL: patterns as Python classes under its greedy driver with a work list, or as PDL, which it interprets."""

from __future__ import annotations

from collections import Counter

from workloads import LEAF, RESULT, Law, Term, Workload
from xdsl.context import Context
from xdsl.dialects import pdl
from xdsl.dialects.builtin import Builtin, ModuleOp, f32
from xdsl.interpreters.pdl import PDLRewritePattern
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.traits import Pure
from xdsl.transforms.dead_code_elimination import dce

DISTRIBUTION = "xdsl"
VARIANTS = {"": ("chain", "blocks", "dead"), "PDL": ("chain", "blocks")}
SPARE = True  # PDL keeps what is read outside a match

Kinds = dict[str, type[IRDLOperation]]


def kinds_of(workload: Workload) -> Kinds:
    found: Kinds = {}
    for op in (LEAF, RESULT, *workload.ops):
        body = {"name": f"bench.{op}", "args": var_operand_def(f32), "__module__": __name__}
        if op != RESULT:
            body |= {"res": result_def(f32), "traits": traits_def(Pure())}
        found[op] = irdl_op_definition(type(op, (IRDLOperation,), body))
    return found


def build(workload: Workload, variant: str) -> tuple[ModuleOp, Kinds]:
    kinds = kinds_of(workload)
    made: list[Operation] = []
    for op, operands in workload.nodes:
        sources = [made[operand].results[0] for operand in operands]
        made.append(kinds[op].create(operands=sources, result_types=[] if op == RESULT else [f32]))
    return ModuleOp(made), kinds


class Handwritten(RewritePattern):
    """One law, matched by hand: it has no declarative patterns in Python."""

    def __init__(self, law: Law, kinds: Kinds) -> None:
        self.terms, self.new, self.kinds = list(law.root.orders()), law.new, kinds
        self.root = kinds[law.root.op]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if not isinstance(op, self.root):
            return
        for term in self.terms:
            bound: dict[str, SSAValue] = {}
            inner: list[Operation] = []
            if self.fits(term, op, bound, inner):
                operands = [bound[name] for name in self.new.operands]
                rewriter.replace(op, self.kinds[self.new.op].create(operands=operands, result_types=[f32]))
                for old in inner:
                    rewriter.erase(old)
                return

    def fits(self, term: Term, op: Operation, bound: dict[str, SSAValue], inner: list[Operation]) -> bool:
        if len(op.operands) != len(term.operands):
            return False
        for wanted, value in zip(term.operands, op.operands, strict=True):
            if isinstance(wanted, str):
                if bound.setdefault(wanted, value) is not value:
                    return False
                continue
            owner = value.owner
            if not isinstance(owner, self.kinds[wanted.op]) or not value.has_one_use():
                return False
            inner.append(owner)
            if not self.fits(wanted, owner, bound, inner):
                return False
        return True


def in_pdl(law: Law) -> str:
    """The law as text of the dialect PDL, once for each order of operands."""
    texts = []
    for index, root in enumerate(law.root.orders()):
        lines = ["%type = pdl.type : f32", *(f"%v_{name} = pdl.operand" for name in root.variables)]
        numbers: dict[int, int] = {}

        def write(term: Term, lines: list[str] = lines, numbers: dict[int, int] = numbers) -> str:
            values = [write(x) if isinstance(x, Term) else f"%v_{x}" for x in term.operands]
            at = numbers.setdefault(id(term), len(numbers))
            lines.append(f"%n{at} = {_operation(term.op, values)}")
            lines.append(f"%r{at} = pdl.result 0 of %n{at}")
            return f"%r{at}"

        write(root)
        top = f"%n{numbers[id(root)]}"
        lines.pop()  # the root's result is not used
        new = _operation(law.new.op, [f"%v_{name}" for name in law.new.operands])
        body = "\n".join([*lines, f"pdl.rewrite {top} {{", f"%new = {new}", f"pdl.replace {top} with %new", "}"])
        texts.append(f"pdl.pattern @{law.name}_{index} : benefit(1) {{\n{body}\n}}")
    return "\n".join(texts)


def _operation(op: str, values: list[str]) -> str:
    types = ", ".join("!pdl.value" for _ in values)
    return f'pdl.operation "bench.{op}" ({", ".join(values)} : {types}) -> (%type : !pdl.type)'


def run(model: tuple[ModuleOp, Kinds], workload: Workload, variant: str) -> tuple[ModuleOp, Kinds]:
    module, kinds = model
    if not workload.laws:
        dce(module)
    elif variant == "PDL":
        context = Context()
        for dialect in (Builtin, pdl.PDL, Dialect("bench", list(kinds.values()), [])):
            context.load_dialect(dialect)
        text = "\n".join(map(in_pdl, workload.laws))
        parsed = Parser(context, f"builtin.module {{\n{text}\n}}").parse_module()
        found = [PDLRewritePattern(op, context) for op in parsed.walk() if isinstance(op, pdl.RewriteOp)]
        PatternRewriteWalker(GreedyRewritePatternApplier(found)).rewrite_module(module)
    else:
        rules = [Handwritten(law, kinds) for law in workload.laws]
        # Its own removal of dead code would hide what the rules leave.
        PatternRewriteWalker(GreedyRewritePatternApplier(rules, dce_enabled=False)).rewrite_module(module)
    return model


def count(model: tuple[ModuleOp, Kinds]) -> Counter[str]:
    return Counter(op.name.removeprefix("bench.") for op in model[0].walk())
