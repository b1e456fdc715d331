"""Rules from integer tensors to components on streams, a family a module.

The result of a component is written ``leave(stream)``. Each rule moves one ``leave`` past one op, until only inputs
and outputs are tensors.
"""
