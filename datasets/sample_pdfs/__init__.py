"""A few small PDFs, drawn by our own code, that show what a page can do to its reader."""

from structpos.datasets.sample_pdfs.samples import SAMPLES, write_samples

__all__ = ["SAMPLES", "write_samples"]
