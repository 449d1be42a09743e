"""sealkit: experiments on AI agents whose conclusions a stranger can check."""

__version__ = "0.2.0"
