"""Models: one client for all servers, the embedded one, decoding, parsing, counting.

The words are here; `provider.open_model` and `scripted.ScriptedModel` stay in their modules,
because they load an HTTP client that reading a stream does not need.
"""
