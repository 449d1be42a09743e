"""What a seal commits to, the seal itself, and the journal of everything that happens after it."""
