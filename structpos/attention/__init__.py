"""Attention that takes signals: rotations, biases, padding, packing, causality, windows."""

from structpos.attention.scaled_dot_product import attend as attend
from structpos.attention.scaled_dot_product import routes as routes
