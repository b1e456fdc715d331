"""From a stream graph to a folder of VHDL: entities, names, test vectors, the description of a design."""
