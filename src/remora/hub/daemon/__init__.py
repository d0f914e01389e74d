"""The daemon of one root: follows every change, and answers what is asked over the server."""
