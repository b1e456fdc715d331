"""Rules from integer tensors to components on streams, a family a module.

A value that a component gives is written ``leave(stream)``. Each rule moves one ``leave`` below one op, until all
that is left of the tensors are the inputs and outputs.
"""
