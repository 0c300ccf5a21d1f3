"""Attention that takes signals: rotations, biases, padding, packing, causality, windows."""

from structpos.attention.attend import attend as attend
from structpos.attention.attend import routes as routes
