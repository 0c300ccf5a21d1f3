"""Words with boxes that other tools found: Parquet, CSV, Tesseract, hOCR, JSON."""

from structpos.readers.boxes.read import read_boxes

__all__ = ["read_boxes"]
