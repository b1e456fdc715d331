"""Support for long work: progress bars, deferred interrupts, pauses of the garbage collector."""
