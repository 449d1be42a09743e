"""From a sealed study's files to the record of its analysis: what holds, what is admitted, what the rules come to."""
