"""Games of chess that lead to positions worth a closer look, found by random play or by hand."""

from __future__ import annotations

POSITIONS = {
    "castling on both sides": """
        e2e4 d7d5 g1f3 g8f6 f1e2 c8g4 d2d4 b8c6 c1f4 d8d7 b1c3 e7e6 d1d3 a7a6""",
    "castling of black": "d2d4 g8f6 c2c4 g7g6 b1c3 f8g7 e2e4",
    "castling out of check": "e2e4 e7e5 g1f3 g8f6 f1c4 f6e4 d2d4 f8b4",
    "castling through check": "g2g3 b7b6 f1g2 c8a6 g1f3 e7e6 e2e3 h7h6",
    "castling into check": "f2f4 e7e6 g1f3 f8c5 g2g3 a7a6 f1g2 b7b6",
    "castling past an enemy": "d2d4 g8f6 c1f4 f6e4 b1a3 e4c3 d1d2 c3b1",
    "castling when the rook has moved": "g1f3 g8f6 g2g3 g7g6 f1g2 f8g7 h1g1 h8g8 g1h1 g8h8",
    "castling when the king has moved": "g1f3 a7a6 g2g3 b7b6 f1g2 c7c6 e1f1 d7d6 f1e1 h7h6",
    "castling when the rook was taken": "g2g4 b7b6 f1h3 c8b7 a2a3 b7h1 g1f3 h7h6",
    "capture in passing": "e2e4 a7a6 e4e5 d7d5",
    "capture in passing by black": "a2a3 d7d5 a3a4 d5d4 e2e4",
    "capture in passing too late": "e2e4 a7a6 e4e5 d7d5 a2a3 a6a5",
    "capture in passing that answers check": """
        c2c3 e7e5 b2b4 g7g5 g1f3 b8c6 b4b5 f8c5 d1c2 c5a3 h1g1 c6b8 c1a3 a7a5 h2h3 f7f5 d2d4 g8h6
        g2g4 e8f7 a3c5 e5d4 b5b6 f7e6 g1g3 d4c3 c2a4 d8e8 a4b5 e8f8 c5e7 c7c5 a2a4 a8a7 g3g2 b8c6
        a1a2 e6d5 b5a6 f5f4 e2e4""",
    "capture in passing as the only move": """
        e2e4 g8f6 a2a4 c7c6 f2f4 f6h5 e1e2 d7d5 c2c4 c8e6 e4e5 e6c8 b1a3 b7b6 e2f3 d8c7 d2d4 c7d8
        g2g4 c8f5 d1d3 f5d3 a3b1 h8g8 c1e3 d5c4 b2b4 d8c7 h2h3 c7d6 g1e2 d6d5 f3f2 d5d8 f2f3 d3e2
        f3e4 e2g4 a1a2 f7f5""",
    "capture in passing that bares the king": """
        a2a4 d7d6 c2c4 e8d7 d1b3 d7c6 b3b6 c6d7 b6c7 d7e6 e2e4 e6e5 e1e2 b8a6 e2f3 d8c7 a1a2 c8g4
        f3g4 b7b5 g4h5 a6c5 f1d3 c7d7 b1a3 d7b7 f2f4 e5d4 b2b4 d4d3 c4b5 a8c8 g1f3 f7f6 h1e1 b7b5
        b4c5 b5b7 a2b2 b7a6 h5g4 a6c6 e1d1 c6c7 g4h5 d6d5 g2g4 a7a6 h2h4 d5e4 f4f5 c7e5 a3b1
        g7g5""",
    "promotion with and without capture": "a2a4 b7b5 a4b5 a7a6 b5a6 c8b7 a6b7 b8c6",
    "promotion of black": """
        d2d3 c7c6 g1h3 a7a5 g2g4 d7d6 c1h6 a8a7 a2a3 b7b5 b2b4 a5b4 h6g5 b4b3 h3g1 b3b2 c2c3""",
    "promotion to a knight that gives check": """
        f2f3 d7d5 b2b4 g8f6 b4b5 c8g4 f3f4 g7g5 f4g5 d5d4 b1a3 b8a6 g5g6 e8d7 a3c4 d8e8 g6g7
        h7h5""",
    "check by a bishop": "e2e4 e7e5 d2d3 f8b4",
    "pin of a knight": "e2e4 e7e5 d2d3 f8b4 b1c3 a7a6",
    "pin of a queen on a diagonal": "a2a3 h7h6 e2e3 d7d5 d1f3 c8g4 e1e2 g7g6",
    "pin of a rook on a file": """
        g1f3 d7d5 h2h4 b8a6 h1h3 h7h6 f3g5 e7e5 h3d3 f8e7 g5h7 d8d7 d3d5 b7b5 d5d6 a6c5 d6b6 e7f6
        b6d6 a8b8 c2c3 c7c6 d1c2 e8d8 d6d3""",
    "check by two pieces": """
        a2a4 e7e5 g2g3 g8f6 f1h3 f8a3 g3g4 f6g8 g1f3 h7h5 e2e3 e8e7 f3g1 a3b2 e3e4 h8h6 c1b2 a7a5
        e1e2 b7b6 e2f1 d8e8 g1f3 e7d6 a1a3 c8b7 a3e3 h6e6 d1e1 e6g6 g4g5 a8a6 c2c3 g6g5 d2d4 b8c6
        e1d2 g5g4 d4e5""",
    "mate in sight": "f2f3 e7e5 g2g4",
}
"""Moves, as python-chess writes them, to positions that are looked at closely."""

STALEMATE = """
    e2e3 a7a5 d1h5 a8a6 h5a5 h7h5 h2h4 a6h6 a5c7 f7f6 c7d7 e8f7 d7b7 d8d3 b7b8 d3h7 b8c8 f7g6
    c8e6"""
