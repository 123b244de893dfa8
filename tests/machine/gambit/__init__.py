"""Files of Gambit's, read and played."""
