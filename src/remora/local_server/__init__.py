"""HTTP on loopback, for the Hub, MCP and the pages. Needs the extra `ui` or `mcp`."""
