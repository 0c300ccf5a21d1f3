"""Reading order from geometry alone: words and boxes in, order, lines, columns and blocks out."""

from structpos.readers.order.frame import to_display
from structpos.readers.order.reading import Reading, read_order

__all__ = ["Reading", "read_order", "to_display"]
