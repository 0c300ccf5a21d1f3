"""Files to vectors on disk: ``encode`` writes a table of words with their positions for each document."""

from structpos.encode.formats import Encoded as Encoded
from structpos.encode.formats import read_encoded as read_encoded
from structpos.encode.run import encode as encode
from structpos.encode.summary import Summary as Summary

__all__ = ["Encoded", "Summary", "encode", "read_encoded"]
