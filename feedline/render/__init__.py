"""Files and pages rendered from typed values."""
