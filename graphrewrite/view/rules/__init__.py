"""Rules and rule sets: as pictures, cards and galleries, and why one does not match."""
