"""The referee: plays matches between players, records and replays them."""
