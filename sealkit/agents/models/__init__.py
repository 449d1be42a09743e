"""Models behind an endpoint: the gateway that calls them, and their recorded replies.

gateway    what may be called, how often, at what cost; what came is asserted against the plan
transport  one HTTP request, within its bounds: the only module that imports httpx
request    a question as the bytes that are sent
reply      the bytes that came as a reply, or the word for what they are instead
budget     what a run may use, reserved before a call and settled after it
endpoint   where each role's model is served, with a key from the environment
secrets    what looks like a key
blobs      bodies by their digest
local      a llama.cpp server on this machine, for a demo
recorded   an episode's replies from recorded bodies, without a network
"""
