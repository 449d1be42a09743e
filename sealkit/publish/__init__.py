"""What a study tells: its evidence reviewed and analysed, its claims, and its editions as people read them."""
