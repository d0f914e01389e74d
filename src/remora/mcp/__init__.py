"""MCP server: facts of the Hub and records of runs for other agents. Needs the extra `mcp`."""
