"""What acts in an episode: scripted agents now; scaffolds over language models stand on the same `Agent`."""
