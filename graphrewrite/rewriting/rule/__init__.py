"""Rules over ops: a function with one ``yield``, traced once, whose lower half builds the replacement."""
