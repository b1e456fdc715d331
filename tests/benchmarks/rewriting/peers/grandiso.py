"""grandiso's motif search as an engine, as with VF2."""

from __future__ import annotations

from collections.abc import Iterable

import grandiso
import networkx as nx
from peers import networkx_vf2
from workloads import Workload

DISTRIBUTION = "grandiso"
VARIANTS = {"": ("chain", "blocks")}

build, count = networkx_vf2.build, networkx_vf2.count


def tops(graph: nx.DiGraph, pattern: nx.DiGraph) -> Iterable[int]:
    return [found[0] for found in grandiso.find_motifs(pattern, graph, isomorphisms_only=False)]


def run(model: nx.DiGraph, workload: Workload, variant: str) -> nx.DiGraph:
    return networkx_vf2.to_fixed_point(model, workload.laws, tops)
