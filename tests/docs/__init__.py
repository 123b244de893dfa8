"""Pages that people read: their links, their length, and that the commands they show run."""
