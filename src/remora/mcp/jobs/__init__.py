"""Jobs of the project that clients of the MCP server decide."""
