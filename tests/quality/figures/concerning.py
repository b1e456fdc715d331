"""Which tests are about which modules of the lowerings and of the hardware: what is run for a mutant of one of them.

The first are the likeliest to find a fault. A module's own doctests come before all.
"""

from __future__ import annotations

from pathlib import PurePath

__all__ = ["CONCERNING", "concerning"]

_CHANNELWISE = (
    "test_meanings_channelwise.py", "test_meanings.py", "test_resources.py", "test_wrong_use.py", "test_components.py",
)  # fmt: skip
_SPATIAL = (
    "test_meanings_spatial.py", "test_meanings.py", "test_resources.py", "test_wrong_use.py", "test_components.py",
)  # fmt: skip
_TIMING = (
    "test_cycles.py", "test_fifos.py", "test_networks.py", "test_own_components.py", "test_components.py",
    "test_sources.py", "test_nested_graphs.py",
)  # fmt: skip
_EMITTED = (
    "test_emit.py", "test_names.py", "test_vectors.py", "test_form.py", "test_generics.py", "test_generic.py",
    "test_sharing_a_library.py", "test_nested_graphs.py", "test_cosimulate.py", "test_own_components.py",
    "test_display_design.py", "test_sources.py", "test_wrong_use.py",
)  # fmt: skip
_QUANTISED = (
    "test_quantise.py", "test_equalisation.py", "test_weight_rounding.py", "test_agreement.py", "test_guards.py",
    "test_scaled_inputs.py", "test_to_integer.py", "test_functions.py",
)  # fmt: skip
_TRAINED = (
    "test_scaled_layers.py", "test_trained_exports.py", "test_trained_models.py", "test_signs.py", "test_transposes.py",
    "test_counting.py", "test_combined_networks.py", "test_means.py", "exchange/test_quantised_models.py",
)  # fmt: skip
_STREAMS = (
    "test_to_stream.py", "test_hardware_of_ops.py", "test_combined_networks.py", "test_softmax.py", "test_counting.py",
    "test_transposes.py",
)  # fmt: skip
_RULES = "../rules/test_all_rules.py"
"""Of which the tests of a mutated rule are run."""
_READ = (
    "test_from_onnx.py", "exchange/test_functions.py", "exchange/test_control_flow.py", "exchange/test_classical.py",
    "exchange/test_attention.py", "exchange/test_symbolic_sizes.py", "exchange/test_wrong_models.py",
    "exchange/test_external_data.py", "exchange/test_mutated_models.py", "exchange/test_backend_suite.py",
)  # fmt: skip

_HDL: dict[str, tuple[str, ...]] = {
    "": ("test_own_components.py", "test_wrong_use.py", "test_generics.py", "test_emit.py", "test_components.py"),
    "arithmetic": (
        "test_constant_products.py", "test_resources.py", "test_components.py", "synthesis/test_prediction.py",
    ),
    "arithmetic/adder_layout": ("../lowering/test_shift_add.py", "test_resources.py", "test_components.py"),
    "arithmetic/adder_network": ("../lowering/test_shift_add.py", "test_resources.py", "test_components.py"),
    "arithmetic/adder_results": ("../lowering/test_shift_add.py", "test_resources.py", "test_components.py"),
    "arithmetic/channelwise": _CHANNELWISE,
    "arithmetic/matrix_products": (
        "test_meanings.py", "test_meanings_popcount.py", "test_resources.py", "test_components.py",
        "../lowering/test_parallelism.py",
    ),
    "buffering": ("test_fifos.py", "test_sources.py", "test_wrong_use.py", "test_nested_graphs.py", "test_networks.py"),
    "checking": (
        "test_components.py", "test_faults.py", "test_own_components.py", "test_meanings.py", "test_large_tables.py",
    ),
    "components": (*_CHANNELWISE, "test_meanings_spatial.py", "synthesis/test_prediction.py"),
    "components/accumulate": _SPATIAL,
    "components/adder_graph": ("../lowering/test_shift_add.py", *_CHANNELWISE),
    "components/constant": (*_SPATIAL, "test_sources.py"),
    "components/delay": _SPATIAL,
    "components/fifo": ("test_fifos.py", *_SPATIAL),
    "components/maximum": _SPATIAL,
    "components/pad": _SPATIAL,
    "components/popcount": ("test_meanings_popcount.py", "test_resources.py", "test_components.py"),
    "components/repeat": _SPATIAL,
    "components/reshape": (*_SPATIAL, "test_sources.py"),
    "components/softmax": ("test_meanings_softmax.py", "test_resources.py", "test_components.py", "test_wrong_use.py"),
    "components/total": _SPATIAL,
    "components/window": (*_SPATIAL, "test_fifos.py"),
    "emission": _EMITTED,
    "emission/host_code": ("../lowering/test_host_arithmetic.py", *_EMITTED),
    "emission/manifest": ("test_replacement.py", "test_emit.py"),
    "emission/replacement": ("test_replacement.py",),
    "emission/single_file": ("../formats/test_endings.py",),
    "functions": ("test_functions.py", "test_components.py"),
    "ghdl": ("test_cosimulate.py", "test_generic.py", "test_sharing_a_library.py", "../cli/test_cosimulate.py"),
    "netlist": (*_EMITTED, *_TIMING),
    "placement": ("test_nested_graphs.py", "test_fifos.py", "test_emit.py"),
    "port_encoding": ("../lowering/test_host_arithmetic.py", "../lowering/test_scaled_inputs.py", *_EMITTED),
    "schedule": _TIMING,
    "simulation": (
        "test_display_waveform.py", "test_cycles.py", "test_wrong_use.py", "test_sources.py",
        "../lowering/test_host_arithmetic.py",
    ),
    "synthesis": (
        "synthesis/test_pieces.py", "synthesis/test_prediction.py", "synthesis/test_synthesis.py",
        "../cli/test_synth.py",
    ),
    "timing": _TIMING,
}  # fmt: skip
_LOWERING: dict[str, tuple[str, ...]] = {
    "": (
        "test_to_integer.py", "test_to_stream.py", "test_annotations.py", "test_predicates.py", "test_open_sizes.py",
        "test_nested_graphs.py",
    ),
    "composite": (
        _RULES, "test_composite.py", "test_layouts.py", "test_from_onnx.py", "test_open_sizes.py", *_TRAINED,
        "exchange/test_attention.py",
    ),
    "exchange": _READ,
    "exchange/tables/channels_last": ("exchange/test_channels_last.py", "exchange/test_quantised_models.py"),
    "exchange/metadata": ("test_annotations.py", *_READ),
    "exchange/tables/onnxruntime": ("exchange/test_onnxruntime_ops.py", *_READ),
    "exchange/tables/recurrent": ("test_composite.py", *_READ),
    "exchange/tables/quantised": ("exchange/test_quantised_models.py", *_READ),
    "exchange/tables/texts": ("../op/tensor/test_texts.py", *_READ),
    "exchange/exporter": (*_READ, "exchange/test_topologies.py"),
    "exchange/onnx_export": (*_READ, "exchange/test_topologies.py"),
    "exchange/symbols": ("exchange/test_symbols.py", *_READ),
    "folding": ("test_parallelism.py", "test_to_stream.py", "test_hardware_of_ops.py"),
    "host_arithmetic": ("test_host_arithmetic.py", "test_host.py", "test_scaled_inputs.py", "test_heads.py"),
    "host_chain": ("test_host_arithmetic.py", "test_scaled_inputs.py", "test_host.py", "test_heads.py"),
    "host_cut": ("test_host_cut.py", "test_host.py", "../cli/test_compile.py"),
    "host_partition": ("test_host.py", "test_effects.py", "test_predicates.py", "test_heads.py", "test_host_cut.py"),
    "implementations": ("../hdl/test_own_components.py", "../hierarchy/test_implementations.py", "test_to_integer.py"),
    "integer": (
        _RULES, "test_to_integer.py", "test_quantise.py", "test_heads.py", "test_host.py", "test_softmax.py",
        "test_hardware_of_ops.py", "test_functions.py", "test_trained_exports.py",
    ),
    "matched_operands": _TRAINED,
    "predicates": ("test_predicates.py", "test_effects.py"),
    "preparation": (_RULES, "test_means.py", "test_quantise.py", "test_signs.py", *_STREAMS),
    "prequantised": _TRAINED,
    "prequantised/affine_functions": ("test_functions.py", *_TRAINED),
    "prequantised/operand_order": ("test_operand_order.py", *_TRAINED),
    "prequantised/approximations": ("test_functions.py", *_TRAINED),
    "quantisation": _QUANTISED,
    "quantisation/agreement": (*_QUANTISED, "../cli/test_compile_loss.py"),
    "quantisation/sample_review": ("test_sample_review.py", "test_guards.py", "../cli/test_compile_loss.py"),
    "quantisation/width_search": ("test_width_search.py", *_QUANTISED),
    "shift_add": ("test_shift_add.py", "test_parallelism.py"),
    "streaming": (_RULES, *_STREAMS),
    "streaming/multiplier_free": ("test_counting.py", "test_signs.py", *_STREAMS),
}  # fmt: skip
CONCERNING = {
    f"{package}/{module}".rstrip("/"): tuple(f"tests/{package}/{test}" for test in tests)
    for package, table in (("hdl", _HDL), ("lowering", _LOWERING))
    for module, tests in table.items()
}
"""Modules, or folders of modules, to tests; what is said of the longer path holds."""


def concerning(module: PurePath) -> tuple[str, ...]:
    """Return the tests that concern a module.

    Examples
    --------
    >>> concerning(PurePath("hdl/emission/replacement.py"))
    ('tests/hdl/test_replacement.py',)
    """
    path = module.with_suffix("")
    return next(CONCERNING[place.as_posix()] for place in (path, *path.parents) if place.as_posix() in CONCERNING)
