"""Facts about Azure, each with its source and date."""
