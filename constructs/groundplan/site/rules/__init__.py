"""Rules about the site as a whole; those of one part stand in its own folder."""
