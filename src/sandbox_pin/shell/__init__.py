"""The half that touches the world: files, locks, processes, the host."""
