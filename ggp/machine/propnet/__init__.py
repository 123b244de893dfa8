"""The fast machine: gringo grounds the rules, a circuit of bits plays them, 64 lanes a word."""
