"""Tests for encoders of your own: ``check_encoder`` tries everything that an encoder promises."""

from structpos.testing.check import PROPERTIES as PROPERTIES
from structpos.testing.check import check_encoder as check_encoder
from structpos.testing.report import EncoderFault as EncoderFault
from structpos.testing.report import Outcome as Outcome
from structpos.testing.report import Report as Report
