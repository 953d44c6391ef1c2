"""What the subjects share: they run in the guest, as root, with nothing else in it."""
