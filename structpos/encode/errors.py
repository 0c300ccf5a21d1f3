"""What keeps a run from starting or going on."""


class RunError(RuntimeError):
    """The run cannot go on; the message is a sentence for the user."""
