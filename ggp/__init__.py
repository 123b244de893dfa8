"""General game playing for GDL-II: language, machines, beliefs, players."""
