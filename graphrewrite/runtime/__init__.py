"""Support for long work: progress bars, deferred interrupts, temporary folders, pauses of the garbage collector."""
