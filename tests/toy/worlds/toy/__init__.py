"""A greenhouse: a small stateful world, honest, with every form of contract. Tests only."""
