"""C of a graph: kernels by op, loops over arrays, memory by place."""
